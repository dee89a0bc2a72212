"""A program with text put around some of its expressions for ty, and the way back to the original's places."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EditedText", "Place", "Wrap", "lines_of"]


class Place(NamedTuple):
    """From line and column to line and column, counted from 1 in characters."""

    line: int
    column: int
    end_line: int
    end_column: int


class Wrap(NamedTuple):
    """Text to put before and after an expression."""

    place: Place
    before: str
    after: str


class _Change(NamedTuple):
    """A change of one line; sorted, changes at one column nest as their expressions do."""

    column: int
    order: tuple[int, ...]
    removed: int
    inserted: str
    wrap: int | None = None


def lines_of(code: str) -> list[str]:
    """Split a program as Python counts lines: a form feed or another odd separator ends none."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


class EditedText:
    """A program with wraps, of which the first is the outermost, and without some words. Lines stay the same."""

    def __init__(self, code: str, wraps: Sequence[Wrap], without: Sequence[Place] = ()) -> None:
        self._changes: dict[int, list[_Change]] = {}
        self._after: dict[int, tuple[int, int]] = {}
        for number, (at, before, after) in enumerate(wraps):
            self._change(at.line, _Change(at.column, (1, -at.end_line, -at.end_column, number), 0, before))
            inner_first = (0, -at.line, -at.column, -number)
            self._change(at.end_line, _Change(at.end_column, inner_first, 0, after, number))
        for at in without:
            self._change(at.line, _Change(at.column, (2,), at.end_column - at.column, ""))
        lines = lines_of(code)
        for line, changes in self._changes.items():
            changes.sort(key=lambda one: (one.column, one.order))
            lines[line - 1] = self._edited(line, lines[line - 1], changes)
        self.text = "\n".join(lines) if self._changes else code

    def _change(self, line: int, change: _Change) -> None:
        self._changes.setdefault(line, []).append(change)

    def _edited(self, line: int, text: str, changes: list[_Change]) -> str:
        edited, at = "", 0
        for one in changes:
            edited += text[at : one.column - 1]
            if one.wrap is not None:
                self._after[one.wrap] = (line, len(edited) + 1)
            edited += one.inserted
            at = one.column - 1 + one.removed
        return edited + text[at:]

    def after(self, wrap: int) -> tuple[int, int]:
        """Return the line and column at which the text after the expression of a wrap begins."""
        return self._after[wrap]

    def original_column(self, line: int, column: int) -> int:
        """Return the column in the original; of inserted text, where it was inserted."""
        moved = 0
        for one in self._changes.get(line, ()):
            begin = one.column + moved
            if column < begin:
                break
            if column < begin + len(one.inserted):
                return one.column
            moved += len(one.inserted) - one.removed
        return column - moved
