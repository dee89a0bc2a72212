"""All terms that the catalogue has, and for which of them a word of a query may stand."""

from __future__ import annotations

from bisect import bisect_left
from math import ceil
from typing import TYPE_CHECKING

from halflap.catalog.near import Near

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Vocabulary"]

_SHORTEST_BEGINNING = 4
_SHORTEST_OTHER_BEGINNING = 3  # not in Latin letters, where much is said with fewer, as in Arabic
_LONGEST_ENDING = 6
_COMPOUND = 6
"""A word of so many letters may begin a word of any length: Wetter, Wettervorhersage."""
_COMMON_SHARE = 0.55
_MOST_KIN = 16
_LAST = "\U0010ffff"

_SHORTEST_FOR_ONE_TYPO = 5
_SHORTEST_FOR_TWO_TYPOS = 8


class Vocabulary:
    """Terms in their order, so that those with the same beginning stand together."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._known = frozenset(terms)
        self._sorted = sorted(self._known)
        self._near = Near(self._sorted)

    def kin(self, term: str) -> list[str]:
        """Give other terms that the word may mean: longer ones that begin with it, and its inflections.

        English words have lost their endings already. Of another language nothing is known but that words
        mostly change at their end: so a word that is not there, or that is not written in Latin letters, also
        finds those with which it shares most of its letters, from the first on.
        """
        shortest = _SHORTEST_BEGINNING if term.isascii() else _SHORTEST_OTHER_BEGINNING
        if len(term) < shortest or not term.isalpha():
            return []
        inflected = not term.isascii() or term not in self._known
        share = ceil(_COMMON_SHARE * len(term)) if inflected else len(term)
        beginning = term[: max(shortest, share)]
        start = bisect_left(self._sorted, beginning)
        end = bisect_left(self._sorted, beginning + _LAST, lo=start)
        kin = {word: _common(term, word) for word in self._sorted[start:end] if word != term}
        near = [word for word, common in kin.items() if _is_kin(term, word, common)]
        return sorted(near, key=lambda word: (-kin[word], len(word), word))[:_MOST_KIN]

    def corrected(self, term: str) -> str:
        """Give the word that was probably meant. For queries that find nothing: names of things are no typos."""
        if len(term) < _SHORTEST_FOR_ONE_TYPO:
            return term
        near = self._near.find(term, 1 + (len(term) >= _SHORTEST_FOR_TWO_TYPOS))
        return near[0][0] if near else term


def _common(one: str, other: str) -> int:
    """Count the letters with which both begin."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _is_kin(term: str, word: str, common: int) -> bool:
    if common == len(term):
        return len(word) - common <= _LONGEST_ENDING or common >= _COMPOUND
    return common >= _COMMON_SHARE * len(word)
