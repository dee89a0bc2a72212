"""What the check finds in a program, as data and as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from halflap.core.codes import CheckCode

__all__ = ["Checked", "Finding", "doubts_text", "mistakes_text"]

_MOST_MISTAKES = 10
_MOST_DOUBTS = 5
_LONGEST_SOURCE = 200
_CODES: dict[str, CheckCode] = {code.removeprefix("check-"): code for code in get_args(CheckCode)}
_LINE = re.compile(r'File "program\.py", line (\d{1,9})\b')


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake or a doubt: where, what is wrong, and what is right as far as that is known."""

    rule: str
    """Its kind: `unknown-tool`, `unknown-key`, `not-awaited`; of a doubt, the name of ty's rule."""
    line: int
    column: int
    end_column: int
    source: str
    """The line of the program."""
    wrong: str
    right: str = ""

    @property
    def code(self) -> CheckCode:
        """The error code of a mistake; doubts, which ty names in many ways, have one together."""
        return _CODES.get(self.rule, "check-doubt")

    def __str__(self) -> str:
        lines = [f"line {self.line}, column {self.column}: {self.wrong} [{self.code}]"]
        if self.source.strip():
            source, begin = _around(self.source, self.column)
            width = max(1, min(self.end_column - self.column, len(source) - begin))
            lines += [f"    {source}", f"    {' ' * begin}{'^' * width}"]
        if self.right:
            lines.append(f"  {self.right}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check found: what is certainly a mistake, what may be one, or why nothing could be found."""

    mistakes: Sequence[Finding] = ()
    doubts: Sequence[Finding] = ()
    skipped: str | None = None
    """Why there was no check."""

    @property
    def ok(self) -> bool:
        """Whether the program may run."""
        return not self.mistakes


def mistakes_text(mistakes: Sequence[Finding]) -> str:
    """Return the mistakes as text, and how to override the check."""
    one = len(mistakes) == 1
    lines = [
        f"The program was not run: the check found {'a mistake' if one else f'{len(mistakes)} mistakes'} in it."
    ]
    lines += [str(finding) for finding in mistakes[:_MOST_MISTAKES]]
    if len(mistakes) > _MOST_MISTAKES:
        lines.append(f"… and {len(mistakes) - _MOST_MISTAKES} more.")
    if any(finding.rule != "syntax" for finding in mistakes):
        lines.append(
            f"If the check is wrong, put `# type: ignore` at the end of {'that line' if one else 'those lines'}."
        )
    return "\n".join(lines)


def doubts_text(doubts: Sequence[Finding], traceback: str) -> str:
    """Return the doubts about the lines in a traceback as text; if there are none, all doubts."""
    lines_failed = {int(number) for number in _LINE.findall(traceback)}
    doubts = [one for one in doubts if one.line in lines_failed] or doubts
    if not doubts:
        return ""
    lines = ["The check before the run had doubts; they may have to do with it:"]
    lines += [str(finding) for finding in doubts[:_MOST_DOUBTS]]
    if len(doubts) > _MOST_DOUBTS:
        lines.append(f"… and {len(doubts) - _MOST_DOUBTS} more.")
    return "\n".join(lines)


def _around(source: str, column: int) -> tuple[str, int]:
    """Return the part of a line around a column, and where the column is in it; tabs become blanks."""
    source = source.replace("\t", " ")
    cut = max(0, column - _LONGEST_SOURCE // 2) if len(source) > _LONGEST_SOURCE else 0
    text = source[cut : cut + _LONGEST_SOURCE]
    left = len(text) - len(text.lstrip())
    if column - 1 - cut < left:
        left = 0
    return text[left:].rstrip(), max(0, column - 1 - cut - left)
