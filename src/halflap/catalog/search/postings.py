"""BM25F: how much each term adds to the score of each tool, by its rarity and the field it stands in."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from functools import cache
from math import log
from typing import TYPE_CHECKING

from halflap.catalog.search.document import MAX_NAME
from halflap.catalog.search.words import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.catalog.search.document import Document

# How much a word counts in each field; halving or doubling any of these hardly changes what is found.
_WEIGHTS = {
    "server": 2.0,
    "server_text": 0.5,
    "name": 2.0,
    "description": 1.0,
    "parameters": 0.5,
    "parameter_texts": 0.25,
}
_LENGTH_PENALTY = 0.4
_SATURATION = 1.2


class Postings:
    """For every term, the tools that have it and what it adds to each. Tools are numbered in order."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._count = len(documents)
        counted = cache(lambda text: Counter(terms(text)))
        lengths = cache(lambda text: counted(text).total())
        table = [_texts(document) for document in documents]
        averages = [sum(map(lengths, column)) / len(table) or 1.0 for column in zip(*table, strict=True)]
        numbers: dict[str, list[int]] = defaultdict(list)
        gains: dict[str, list[float]] = defaultdict(list)
        for number, row in enumerate(table):
            amounts: dict[str, float] = defaultdict(float)
            for text, weight, average in zip(row, _WEIGHTS.values(), averages, strict=True):
                share = weight / (1 - _LENGTH_PENALTY + _LENGTH_PENALTY * lengths(text) / average)
                for term, count in counted(text).items():
                    amounts[term] += share * count
            for term, amount in amounts.items():
                numbers[term].append(number)
                gains[term].append(amount / (_SATURATION + amount))
        self._postings: dict[str, tuple[list[int], list[float]]] = {}
        for term, having in numbers.items():
            rarity = self._rarity(len(having))
            self._postings[term] = having, [rarity * gain for gain in gains[term]]
        self.weights = {term: self._rarity(len(having)) for term, having in numbers.items()}
        """The most that a term can add."""
        self.unknown_weight = self._rarity(0)

    def _rarity(self, having: int) -> float:
        return log(1 + (self._count - having + 0.5) / (having + 0.5))

    def gains(self, term: str, among: range) -> Iterator[tuple[int, float]]:
        """Return the tools in a range that have the term, with what it adds to each."""
        numbers, gains = self._postings.get(term, ([], []))
        first, last = bisect_left(numbers, among.start), bisect_left(numbers, among.stop)
        return zip(numbers[first:last], gains[first:last], strict=True)


def _texts(document: Document) -> tuple[str, ...]:
    """Return the text of each weighted field."""
    return (
        document.server[:MAX_NAME],
        document.server_text,
        f"{document.original_name[:MAX_NAME]} {document.title}",
        document.description,
        document.parameters,
        document.parameter_texts,
    )
