"""The findings of the check, as data and as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from halflap.core.codes import CheckCode

_MOST_MISTAKES = 10
_MOST_DOUBTS = 5
_LONGEST_SOURCE = 200
_CODES: dict[str, CheckCode] = {code.removeprefix("check-"): code for code in get_args(CheckCode)}
_LINE = re.compile(r'File "program\.py", line (\d{1,9})\b')


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake or a doubt: where, what is wrong, and what is right as far as that is known."""

    rule: str
    """`unknown-tool`, `unknown-key`, `not-awaited`…; of a doubt, ty's name for its rule."""
    line: int
    column: int
    end_column: int
    source: str
    """The line of the program."""
    wrong: str
    right: str = ""

    @property
    def code(self) -> CheckCode:
        """The error code; all doubts share one."""
        return _CODES.get(self.rule, "check-doubt")

    def __str__(self) -> str:
        lines = [f"line {self.line}, column {self.column}: {self.wrong} [{self.code}]"]
        if self.source.strip():
            lines += _shown(self.source, self.column, self.end_column)
        if self.right:
            lines.append(f"  {self.right}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: certain mistakes and doubts, or why there was no check."""

    mistakes: Sequence[Finding] = ()
    doubts: Sequence[Finding] = ()
    skipped: str | None = None

    @property
    def ok(self) -> bool:
        """Whether the program may run."""
        return not self.mistakes


def mistakes_text(mistakes: Sequence[Finding]) -> str:
    """Return the mistakes as text, and how to override the check."""
    found, where = (
        ("a mistake", "that line") if len(mistakes) == 1 else (f"{len(mistakes)} mistakes", "those lines")
    )
    lines = [f"The program was not run: the check found {found} in it.", *_listed(mistakes, _MOST_MISTAKES)]
    if any(finding.rule != "syntax" for finding in mistakes):
        lines.append(f"If the check is wrong, put `# type: ignore` at the end of {where}.")
    return "\n".join(lines)


def doubts_text(doubts: Sequence[Finding], traceback: str) -> str:
    """Return the doubts about the lines in a traceback as text."""
    lines_failed = {int(number) for number in _LINE.findall(traceback)}
    doubts = [one for one in doubts if one.line in lines_failed]
    heading = "The check before the run had doubts about this, which may explain the failure:"
    return "\n".join([heading, *_listed(doubts, _MOST_DOUBTS)]) if doubts else ""


def _listed(findings: Sequence[Finding], most: int) -> list[str]:
    more = [f"… and {len(findings) - most} more."] if len(findings) > most else []
    return [*map(str, findings[:most]), *more]


def _shown(line: str, column: int, end: int) -> list[str]:
    """Return a line of the program, and marks below the part that a finding is about."""
    start = len(line) - len(line.lstrip())
    text = line.strip().replace("\t", " ")[:_LONGEST_SOURCE]
    begin = max(0, column - 1 - start)
    width = max(1, min(end - column, len(text) - begin))
    return [f"    {text}", f"    {' ' * begin}{'^' * width}"] if begin < len(text) else [f"    {text}"]
