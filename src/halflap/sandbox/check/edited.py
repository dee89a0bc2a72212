"""A program with questions and types put into it for ty: no line becomes another, and what is told is told of the original.

ty says of a value that it has no such key, but not always what else the value may be; and it does not work out what
an async function returns. Both are to be had by a text that asks, or says it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.sandbox.check.seen import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.sandbox.check.reading import Diagnostic
    from halflap.sandbox.check.seen import Place

__all__ = ["Edited"]

# Two brackets: what is asked for may be several values, `return one, two`.
_ASK, _END = "reveal_type((", "))"
_RULE, _OWN = "revealed-type", frozenset({"revealed-type", "undefined-reveal"})
_SAID = re.compile(r"`(.*)`", re.DOTALL)


class Edited:
    """A program in which values at some places are asked for, and texts put in at others."""

    def __init__(
        self, code: str, *, asked: Iterable[Place] = (), put: Mapping[Place, str] | None = None
    ) -> None:
        self._asked = frozenset(asked)
        self._inserted: dict[int, list[tuple[int, str]]] = {}
        for place in self._asked:
            self._insert(place.line, place.column, _ASK)
            self._insert(place.end_line, place.end_column, _END)
        for place, text in (put or {}).items():
            self._insert(place.line, place.column, text)
        lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for line, parts in self._inserted.items():
            parts.sort(key=lambda one: one[0])
            text = lines[line - 1]
            for column, part in reversed(parts):
                text = text[: column - 1] + part + text[column - 1 :]
            lines[line - 1] = text
        self.text = "\n".join(lines)

    def _insert(self, line: int, column: int, text: str) -> None:
        self._inserted.setdefault(line, []).append((column, text))

    def original(self, diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Give what is said of the program itself, where it stands there."""
        return tuple(
            self._back(one)
            for one in diagnostics
            if one.rule not in _OWN and not self._is_ours(one.line, one.column)
        )

    def _is_ours(self, line: int, column: int) -> bool:
        """Say whether something stands in what was put in."""
        moved = 0
        for at, part in self._inserted.get(line, ()):
            if at + moved <= column < at + moved + len(part):
                return part != _END
            moved += len(part)
        return False

    def revealed(self, diagnostics: Iterable[Diagnostic]) -> dict[Place, str]:
        """Give what was said of each place that was asked for."""
        found = {}
        for one in diagnostics:
            said = _SAID.search(one.message)
            if one.rule == _RULE and said is not None:
                place = place_of(self._back(one))
                if place in self._asked:
                    found[place] = said.group(1)
        return found

    def _back(self, one: Diagnostic) -> Diagnostic:
        return replace(
            one,
            column=self._column(one.line, one.column),
            end_column=self._column(one.end_line, one.end_column),
        )

    def _column(self, line: int, column: int) -> int:
        moved = 0
        for at, part in self._inserted.get(line, ()):
            begin = at + moved
            if column < begin + len(part):
                # Before what was put in; or within it, and so at it.
                return column - moved if column < begin else at
            moved += len(part)
        return column - moved
