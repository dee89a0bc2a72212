"""Have ty say what a value is, where it is asked for a key: a mistake is certain only if all that it may be fails."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.execution.check.reading import Diagnostic
    from halflap.execution.check.seen import Place

__all__ = ["asking", "revealed"]

_ASK, _END = "reveal_type(", ")"
_RULE = "revealed-type"
_SAID = re.compile(r"`(.*)`", re.DOTALL)


def asking(code: str, places: Iterable[Place]) -> tuple[str, Mapping[tuple[int, int], Place]]:
    """Put the question around what stands at these places; give where the answers will be, and of what.

    No line becomes another, and what is asked stays what it was.
    """
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    asked = set(places)
    inserted: dict[int, list[tuple[int, str]]] = {}
    for place in asked:
        inserted.setdefault(place.line, []).append((place.column, _ASK))
        inserted.setdefault(place.end_line, []).append((place.end_column, _END))
    for line, parts in inserted.items():
        text = lines[line - 1]
        for column, part in sorted(parts, reverse=True):
            text = text[: column - 1] + part + text[column - 1 :]
        lines[line - 1] = text
    return "\n".join(lines), {
        (place.end_line, _moved(inserted, place.end_line, place.end_column)): place for place in asked
    }


def _moved(inserted: Mapping[int, list[tuple[int, str]]], line: int, column: int) -> int:
    """Say where the end of a value stands now: behind everything before it, and before the brackets that close."""
    return column + sum(
        len(part) for at, part in inserted[line] if at < column or (at == column and part == _ASK)
    )


def revealed(
    diagnostics: Iterable[Diagnostic], expected: Mapping[tuple[int, int], Place]
) -> dict[Place, str]:
    """Give what ty said of each place."""
    found = {}
    for one in diagnostics:
        place = expected.get((one.end_line, one.end_column))
        said = _SAID.search(one.message)
        if one.rule == _RULE and place is not None and said is not None:
            found[place] = said.group(1)
    return found
