"""Rules and what they find. The texts and examples of all rules are in `rules.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import yaml

if TYPE_CHECKING:
    from halflap.lint.server import LintServer, LintTool

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Most severe first."""


class Limits(NamedTuple):
    """The thresholds that the configuration can change."""

    name_length: int = 64
    description_bytes: int = 2048


class Problem(NamedTuple):
    """One problem that a rule found."""

    tool: LintTool
    path: str
    """Where: `input.customer_id`, `output.orders[].total`; empty for the tool itself."""
    message: str
    fix: str


Check = Callable[["LintServer", Limits], Iterable[Problem]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of problem that makes tools hard to compose."""

    id: str
    severity: Severity
    check: Check
    weight: float = 1.0
    """How much it counts in the score, compared with other rules of its severity."""
    needs: Literal["definitions", "outputs", "results"] = "definitions"
    """Whether it can judge a tool by its definition, needs to know its result fields, or needs recorded results."""

    @property
    def title(self) -> str:
        return str(rule_texts()[self.id]["title"])


@cache
def rule_texts() -> dict[str, dict[str, Any]]:
    """Return the title, explanation, fix and examples of each rule by its id."""
    texts: dict[str, dict[str, Any]] = yaml.safe_load(
        files("halflap.lint").joinpath("rules.yaml").read_text("utf-8")
    )
    return texts
