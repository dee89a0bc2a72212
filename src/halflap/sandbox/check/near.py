"""Whether a key is another one misspelt, or a part of its name."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["nearest"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_MOST_COMPARED = 300
_SHORTEST = 4
_SHORTEST_PART = 5
_ALIKE = 84.0
_COMMON = frozenset(
    {
        "value", "values", "items", "count", "total", "status", "title", "label", "index", "level", "first",
        "start", "number", "result", "results", "email", "state", "object", "content", "created", "updated",
    }
)  # fmt: skip
"""Words that are a name of their own in so many objects that one of them is no sign of a mistake."""


def nearest(key: str, known: Iterable[str]) -> Sequence[str]:
    """Give the known keys that somebody who wrote this one has probably meant, best first."""
    scores = {one: _alike(key, one) for one in islice(known, _MOST_COMPARED)}
    return sorted((one for one in scores if scores[one] >= _ALIKE), key=lambda one: -scores[one])[:3]


def _alike(key: str, known: str) -> float:
    mine, its = _words(key), _words(known)
    if mine and mine == its:
        return 100.0
    # A part of a declared name is that one cut short; a declared name and more is rather another field.
    if _is_part(mine, its):
        return 90.0
    short, long = sorted((len(key), len(known)))
    lower = key.casefold(), known.casefold()
    if long >= _SHORTEST and OSA.distance(*lower, score_cutoff=1) <= 1:
        return 95.0
    if short < _SHORTEST:
        return 0.0
    return fuzz.ratio(*lower) if long - short <= short // 2 else 0.0


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _WORD.findall(text[:200]))


def _is_part(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    """Say whether one name is the end or the beginning of the other, and says more than a common word."""
    if not short or len(short) >= len(long):
        return False
    if short not in {long[-len(short) :], long[: len(short)]}:
        return False
    return any(len(word) >= _SHORTEST_PART and word not in _COMMON for word in short)
