"""One thing that is wrong, where there may be several: with a configuration file, the arguments of a call, a workflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from halflap.codes import ConfigCode

__all__ = ["ArgumentProblem", "ConfigProblem", "WorkflowProblem", "listed"]

_MOST_IN_TEXT = 100


@dataclass(frozen=True, slots=True)
class ArgumentProblem:
    """One argument that does not fit the tool's input schema: where, what was expected, what came."""

    path: str
    expected: str
    received: str
    what: Literal["wrong", "missing", "unknown", "more"] = "wrong"
    """`more` is no argument, but comes last where there are, or may be, more problems than are told."""

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        if self.what == "missing":
            return f"{where}missing; expected {self.expected}"
        if self.what in {"unknown", "more"}:
            return f"{where}{self.expected}"
        return f"{where}expected {self.expected}, received {self.received}"


@dataclass(frozen=True, slots=True, order=True)
class ConfigProblem:
    """One thing that is wrong with a configuration file."""

    file: Path | None
    line: int | None
    message: str
    suggestion: str | None = None
    code: ConfigCode = "config-wrong-value"

    def __str__(self) -> str:
        line = "" if self.line is None else f":{self.line}"
        where = "" if self.file is None else f"{self.file}{line}: "
        then = "" if self.suggestion is None else f" {self.suggestion}"
        return f"{where}{self.message}{then}"


class WorkflowProblem(NamedTuple):
    """One thing that is wrong with a workflow: where, and what it is and what to do."""

    path: str
    """As `flows[3].to`; nothing for the whole."""
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def listed(problems: Sequence[WorkflowProblem]) -> list[str]:
    """Write problems one to a line; of very many, the first."""
    more = len(problems) - _MOST_IN_TEXT
    lines = [f"- {problem}" for problem in problems[:_MOST_IN_TEXT]]
    return [*lines, f"- and {more} more."] if more > 0 else lines
