"""Words that mean the same as another, or are a typo away from it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from heapq import nsmallest
from math import ceil
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import OSA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_MIN_BEGINNING = 4
_MIN_BEGINNING_ELSEWHERE = 3
"""In other than Latin letters, where fewer say more."""
_COMMON_SHARE = 0.55
"""Words that share this much of their beginning are taken for inflections of each other."""
_MAX_KIN = 16
_LAST_CHARACTER = "\U0010ffff"
_MIN_FOR_ONE_TYPO = 5
_MIN_FOR_TWO_TYPOS = 8
_MAX_SIMILAR = 100


class TypoIndex:
    """Texts by length, since only texts of about the same length can be a typo or two apart."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._by_length: dict[int, list[str]] = defaultdict(list)
        for text in texts:
            self._by_length[len(text)].append(text)

    def find(self, text: str, typos: int) -> list[tuple[str, int]]:
        """Return the texts at most this many typos away, each with its distance, nearest first."""
        found: list[tuple[str, int]] = []
        for length in range(len(text) - typos, len(text) + typos + 1):
            candidates = self._by_length.get(length, ())
            near = process.extract(
                text, candidates, scorer=OSA.distance, score_cutoff=typos, limit=_MAX_SIMILAR
            )
            found += [(candidate, int(distance)) for candidate, distance, _ in near]
        return sorted(found, key=lambda one: (one[1], one[0]))[:_MAX_SIMILAR]


class Vocabulary:
    """All terms of the catalogue."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._known = weights
        """The rarity of each term."""
        self._sorted = sorted(weights)
        self._typos = TypoIndex(self._sorted)

    def __contains__(self, term: object) -> bool:
        return term in self._known

    def kin(self, term: str) -> list[str]:
        """Return other terms that a word may stand for: longer words that begin with it, and its inflections.

        English endings are gone already. Words of other languages mostly change at their end, so a word that is
        unknown, or not in Latin letters, also finds those that share most of its beginning.
        """
        shortest = _MIN_BEGINNING if term.isascii() else _MIN_BEGINNING_ELSEWHERE
        if len(term) < shortest or not term.isalpha():
            return []
        inflects = not term.isascii() or term not in self._known
        beginning = term[: max(shortest, ceil(_COMMON_SHARE * len(term)))] if inflects else term
        shared = {word: _shared(term, word) for word in self._beginning(beginning) if word != term}
        kin = [
            word
            for word, length in shared.items()
            if length == len(term) or length >= _COMMON_SHARE * len(word)
        ]
        return sorted(kin, key=lambda word: (-shared[word], len(word), word))[:_MAX_KIN]

    def completions(self, beginning: str) -> list[str]:
        """Return the most frequent terms that begin with an unfinished word, however short."""
        return nsmallest(_MAX_KIN, self._beginning(beginning), key=lambda word: (self._known[word], word))

    def _beginning(self, beginning: str) -> list[str]:
        start = bisect_left(self._sorted, beginning)
        return self._sorted[start : bisect_left(self._sorted, beginning + _LAST_CHARACTER, lo=start)]

    def corrected(self, term: str) -> str:
        """Return the known word that was probably meant. Only for queries that find nothing otherwise."""
        if len(term) < _MIN_FOR_ONE_TYPO:
            return term
        near = self._typos.find(term, 2 if len(term) >= _MIN_FOR_TWO_TYPOS else 1)
        return near[0][0] if near else term


def _shared(one: str, other: str) -> int:
    """Count the letters with which both begin."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
