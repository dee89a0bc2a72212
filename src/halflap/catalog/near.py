"""Which of many texts are a typo or two away from another."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import OSA

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Near", "apart"]

_MOST_NEAR = 100


class Near:
    """Texts by their length: only those of about the same length can be near, and so many fewer are compared."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._of_length: dict[int, list[str]] = defaultdict(list)
        for text in texts:
            self._of_length[len(text)].append(text)

    def find(self, text: str, typos: int) -> list[tuple[str, int]]:
        """Give the texts that are at most so many typos away, each with how many, the nearest first."""
        found: list[tuple[str, int]] = []
        for length in range(len(text) - typos, len(text) + typos + 1):
            # One list after the other: joining them would take longer than comparing.
            candidates = self._of_length.get(length)
            if candidates:
                near = process.extract(
                    text, candidates, scorer=OSA.distance, score_cutoff=typos, limit=_MOST_NEAR
                )
                found += [(one, int(distance)) for one, distance, _ in near]
        return sorted(found, key=lambda one: (one[1], one[0]))[:_MOST_NEAR]


def apart(one: str, other: str) -> int:
    """Count the typos between two texts: letters left out, added, replaced, or exchanged with the next."""
    return int(OSA.distance(one, other))
