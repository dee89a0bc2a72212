"""The texts of the tools and the terms in them: what each adds to the score of each tool (BM25F), and related terms."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from heapq import nsmallest
from math import ceil, log
from typing import TYPE_CHECKING, Any

from rapidfuzz.distance import Prefix

from halflap.catalog.search.words import Spellings, terms

if TYPE_CHECKING:
    from halflap.core.values import Tool

MAX_NAME = 300
"""Characters of a name. Doubling it doubles the time for a hostile one."""
MAX_TEXT = 4_000
"""Characters of a description, or of all parameters. Doubling it doubles the time to index hostile tools."""

_WEIGHTS = (2.0, 0.5, 2.0, 1.0, 0.5, 0.25)
"""Weights of the fields of `_fields`. Halving or doubling any of them hardly changes what is found."""
_LENGTH_PENALTY = 0.4
_SATURATION = 1.2
_MIN_BEGINNING = 4
_MIN_BEGINNING_ELSEWHERE = 3
"""For scripts other than Latin, where fewer letters say more."""
_COMMON_SHARE = 0.55
"""Words that share this much of their beginning count as inflections of each other."""
_MAX_RELATED = 16
_LAST_CHARACTER = "\U0010ffff"
_MIN_FOR_TYPOS = 4


@dataclass(frozen=True, slots=True)
class Document:
    """The texts of one tool, by field."""

    name: str
    server: str
    original_name: str
    title: str = ""
    description: str = ""
    parameters: str = ""
    parameter_texts: str = ""
    server_text: str = ""


def document_of(tool: Tool, server_text: str) -> Document:
    names, texts = _parameters(tool.input_schema)
    return Document(
        name=tool.name,
        server=tool.server,
        original_name=tool.original_name,
        title=(tool.title or tool.annotations.title or "")[:MAX_NAME],
        description=tool.description[:MAX_TEXT],
        parameters=" ".join(names)[:MAX_TEXT],
        parameter_texts=" ".join(texts)[:MAX_TEXT],
        server_text=server_text[:MAX_TEXT],
    )


def _parameters(schema: Any) -> tuple[list[str], list[str]]:
    """Return the names of the parameters, and their descriptions and enum values."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return [], []
    texts: list[Any] = []
    for part in properties.values():
        if isinstance(part, dict):
            # Enum values often name what the tool can do: `action` is one of create, move, delete.
            values = part.get("enum")
            texts += [part.get("description"), *(values if isinstance(values, list) else ())]
    return [*properties], [text for text in texts if isinstance(text, str)]


class Terms:
    """The tools that have each term, by number, and what it adds to their scores."""

    def __init__(self, documents: Sequence[Document]) -> None:
        counted = cache(lambda text: Counter(terms(text)))
        lengths = cache(lambda text: counted(text).total())
        table = [_fields(document) for document in documents]
        averages = [sum(map(lengths, column)) / len(table) or 1.0 for column in zip(*table, strict=True)]
        postings: dict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        for number, row in enumerate(table):
            amounts: dict[str, float] = defaultdict(float)
            for text, weight, average in zip(row, _WEIGHTS, averages, strict=True):
                share = weight / (1 - _LENGTH_PENALTY + _LENGTH_PENALTY * lengths(text) / average)
                for term, count in counted(text).items():
                    amounts[term] += share * count
            for term, amount in amounts.items():
                numbers, gains = postings[term]
                numbers.append(number)
                gains.append(amount / (_SATURATION + amount))
        self._unknown_weight = _rarity(len(table), 0)
        self._weights = {term: _rarity(len(table), len(numbers)) for term, (numbers, _) in postings.items()}
        self._postings = {
            term: (numbers, [self._weights[term] * gain for gain in gains])
            for term, (numbers, gains) in postings.items()
        }
        self._sorted = sorted(self._postings)
        self._spellings = Spellings(self._sorted)

    def __contains__(self, term: object) -> bool:
        return term in self._postings

    def weight(self, term: str) -> float:
        """Return the most that a term can add to a score, by its rarity."""
        return self._weights.get(term, self._unknown_weight)

    def gains(self, term: str, among: range) -> Iterator[tuple[int, float]]:
        """Return the tools in a range that have the term, with what it adds to their scores."""
        numbers, gains = self._postings.get(term, ([], []))
        first, last = bisect_left(numbers, among.start), bisect_left(numbers, among.stop)
        return zip(numbers[first:last], gains[first:last], strict=True)

    def related(self, term: str) -> list[str]:
        """Return related terms: longer words that begin with this one, and its inflections.

        English endings are already removed. Words of other languages mostly change at their end, so a word that is
        unknown, or not in Latin letters, also matches those that share most of its beginning.
        """
        shortest = _MIN_BEGINNING if term.isascii() else _MIN_BEGINNING_ELSEWHERE
        if len(term) < shortest or not term.isalpha():
            return []
        inflects = not term.isascii() or term not in self
        beginning = term[: max(shortest, ceil(_COMMON_SHARE * len(term)))] if inflects else term
        shared = {word: Prefix.similarity(term, word) for word in self._beginning(beginning) if word != term}
        found = [
            word
            for word, length in shared.items()
            if length == len(term) or length >= _COMMON_SHARE * len(word)
        ]
        return sorted(found, key=lambda word: (-shared[word], len(word), word))[:_MAX_RELATED]

    def completions(self, beginning: str) -> list[str]:
        """Return the most frequent terms that begin with an unfinished word, however short."""
        return nsmallest(
            _MAX_RELATED, self._beginning(beginning), key=lambda word: (self._weights[word], word)
        )

    def corrected(self, term: str) -> str:
        """Return the known word that was probably meant, for queries that find nothing otherwise."""
        if len(term) < _MIN_FOR_TYPOS:
            return term
        return min(self._spellings.near(term), default=term)

    def _beginning(self, beginning: str) -> list[str]:
        start = bisect_left(self._sorted, beginning)
        return self._sorted[start : bisect_left(self._sorted, beginning + _LAST_CHARACTER, lo=start)]


def _rarity(count: int, having: int) -> float:
    return log(1 + (count - having + 0.5) / (having + 0.5))


def _fields(document: Document) -> tuple[str, ...]:
    return (
        document.server[:MAX_NAME],
        document.server_text,
        f"{document.original_name[:MAX_NAME]} {document.title}",
        document.description,
        document.parameters,
        document.parameter_texts,
    )
