"""The values of the linter: a rule as data, what it found, and the examples that show what it means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from halflap.lint.server import Seen, Server

__all__ = ["SEVERITIES", "Check", "Example", "Found", "Limits", "Needs", "Rule", "Severity", "counted"]

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""The gravest first."""
Needs = Literal["definitions", "outputs", "results"]
"""What a rule judges by: the definitions alone, what is known of outputs, or results that were recorded."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The thresholds that a configuration can change."""

    name_length: int = 64
    description_bytes: int = 2048


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that a rule found in a tool."""

    tool: str
    """The tool's name in the catalogue."""
    path: str
    """Where: `input.customer_id`, `output.orders[].total`; empty for the tool itself."""
    message: str
    fix: str
    """What to do about this one: the tool, the place, and the text or the schema to put there."""
    patch: Mapping[str, Any] | None = None
    """What to put there, as a JSON merge patch (RFC 7386) of what is at `path`, where that is known."""
    about: str = ""
    """The field that gave rise to it, where that is at another place: what is ignored there is ignored."""


@dataclass(frozen=True, slots=True)
class Example:
    """Tools of one server, as they are defined, and what their results showed."""

    tools: tuple[Mapping[str, Any], ...]
    seen: Mapping[str, Seen] = field(default_factory=dict)
    note: str = ""
    """What was seen, in words, for the page."""


Check = Callable[["Server", Limits], Iterable[Found]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that keeps tools from being composed."""

    id: str
    severity: Severity
    title: str
    """What is wrong, in a sentence."""
    why: str
    fix: str
    """What to do about it, in general."""
    check: Check
    bad: Example
    good: Example
    needs: Needs = "definitions"
    weight: float = 1.0
    """How much it counts in the score, compared with others of its severity."""


def counted(number: int, noun: str) -> str:
    """Write how many of something there are: `1 byte`, `1,200 bytes`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
