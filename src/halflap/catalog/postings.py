"""What each word of the catalogue adds to which tools: BM25F, a word counts by how rare it is and where it stands."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from math import log
from typing import TYPE_CHECKING

from halflap.catalog.words import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.catalog.document import Document

__all__ = ["Postings", "rarity"]

Posting = tuple[tuple[int, ...], tuple[float, ...]]
"""The tools that have a term, and what it adds to the score of each."""

# What a word counts in each field. Halving or doubling any of these hardly changes how much is found.
_OF_SERVER = (
    2.0,  # its name
    0.5,  # its own text
)
_OF_TOOL = (
    2.0,  # its name and title
    1.0,  # its description
    0.5,  # the names of its parameters
    0.25,  # their descriptions
)
_LENGTH_PENALTY = 0.4
_SATURATION = 1.2
_MOST_POSTINGS = 1_000
_NOWHERE: Posting = ((), ())


def rarity(having: int, of: int) -> float:
    """Say what a word can add at most, by how many tools have it."""
    return log(1 + (of - having + 0.5) / (having + 0.5))


def _postings(documents: Sequence[Document]) -> tuple[dict[str, Posting], dict[str, float]]:
    """Give for each term what it adds to which tools, and what it could add at most."""
    table = [document.fields() for document in documents]
    read = _Read(table)
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for common, numbers in _servers(table):
        # What a server's tools have in common is added up once, and put right where a tool says it too.
        shared = read.amounts(common, {}, 0)
        for term, amount in shared.items():
            found[term].update(dict.fromkeys(numbers, amount / (_SATURATION + amount)))
        for number in numbers:
            own = read.amounts(table[number][len(_OF_SERVER) :], shared, len(_OF_SERVER))
            for term, amount in own.items():
                found[term][number] = amount / (_SATURATION + amount)
    weights = {term: rarity(len(parts), len(table)) for term, parts in found.items()}
    return {term: _posting(parts, weights[term]) for term, parts in found.items()}, weights


def _servers(table: Sequence[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], list[int]]]:
    """Give the tools of each server, by what is said of the server."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(table):
        found[row[: len(_OF_SERVER)]].append(number)
    yield from found.items()


class _Read:
    """The terms of all texts, each text read once, and how much each term counts in a field."""

    def __init__(self, table: Sequence[tuple[str, ...]]) -> None:
        self._counts = {text: Counter(terms(text)) for text in {text for row in table for text in row}}
        self._lengths = {text: counts.total() for text, counts in self._counts.items()}
        self._fields = [
            (weight, sum(self._lengths[text] for text in column) / len(table) or 1.0)
            for weight, column in zip((*_OF_SERVER, *_OF_TOOL), zip(*table, strict=True), strict=False)
        ]

    def amounts(self, texts: Sequence[str], before: dict[str, float], first: int) -> dict[str, float]:
        """Add up what the terms of some fields count, the first of which is given, to what was there before."""
        found: dict[str, float] = {}
        for text, (weight, average) in zip(texts, self._fields[first:], strict=False):
            share = weight / (1 - _LENGTH_PENALTY + _LENGTH_PENALTY * self._lengths[text] / average)
            for term, count in self._counts[text].items():
                if term in found:
                    found[term] += share * count
                else:
                    found[term] = before.get(term, 0.0) + share * count
        return found


def _posting(parts: dict[int, float], weight: float) -> Posting:
    numbers = sorted(parts)
    return tuple(numbers), tuple([weight * parts[number] for number in numbers])


def _shortened(posting: Posting) -> Posting:
    """Of a word that very many tools have, keep those that have it most, and of equals the first by name."""
    numbers, gains = posting
    least = sorted(gains)[-_MOST_POSTINGS]
    room = _MOST_POSTINGS - sum(1 for gain in gains if gain > least)
    kept: list[int] = []
    for at, gain in enumerate(gains):
        if gain > least:
            kept.append(at)
        elif gain == least and room:
            kept.append(at)
            room -= 1
    return tuple([numbers[at] for at in kept]), tuple([gains[at] for at in kept])


class Postings:
    """All terms, and what each adds to which tools: to all that have it or, of a word that most have, to those first."""

    def __init__(self, documents: Sequence[Document]) -> None:
        whole, self.weights = _postings(documents)
        self.terms: dict[str, Posting] = {}
        self._whole: dict[str, tuple[array[int], array[float]]] = {}
        for term, posting in whole.items():
            if len(posting[0]) > _MOST_POSTINGS:
                self._whole[term] = (array("I", posting[0]), array("d", posting[1]))
                posting = _shortened(posting)  # noqa: PLW2901 -- what is asked for mostly
            self.terms[term] = posting

    def of(self, term: str, among: Sequence[int] | None) -> Iterator[tuple[int, float]]:
        """Give tools and what a term adds to each; `among` these, which are in order, all that have it."""
        if among is None:
            return zip(*self.terms.get(term, _NOWHERE), strict=True)
        numbers, gains = self._whole.get(term) or self.terms.get(term, _NOWHERE)
        first, last = bisect_left(numbers, among[0]), bisect_right(numbers, among[-1])
        found = zip(numbers[first:last], gains[first:last], strict=True)
        if among[-1] - among[0] + 1 == len(among):
            return found
        own = frozenset(among)
        return (one for one in found if one[0] in own)
