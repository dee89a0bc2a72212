"""Search over the catalogue: a name that somebody knows comes first, then what fits the words best.

Words are ranked by BM25F: a word counts more the fewer tools have it, and by the field that it stands in.
Two things are added to that. A tool gains from the best tool of its server, because a task that needs one
of them mostly needs its neighbours too. And a word of the query also finds longer words that begin with it.

Scores go from 0 to 1, and say something within one answer only:

    1.00          the tool's name, as it is written
    0.99          the name that its server gave it, as it is written
    0.98          one of the two, or "server tool", apart from case, separators and `mcp__`
    0.97          the query contains the tool's full name
    0.95, 0.93    a name with one typo (from five letters on), with two (from eight letters on)
    up to 0.90    by words: the best has the share of the query's weight that it covers (or, with
                  `halflap[semantic]`, how near it is in meaning, if that is more), the others less
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from heapq import nlargest, nsmallest
from itertools import islice
from math import log
from typing import TYPE_CHECKING

from rapidfuzz import process
from rapidfuzz.distance import OSA

from halflap.catalog.words import letters, terms, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.catalog.meaning import Meaning
    from halflap.values import Tool

__all__ = ["Document", "Found", "Index", "document_of"]

MOST_FOUND = 100
_LONGEST_QUERY = 2_000
_MOST_QUERY_TERMS = 64
_MOST_CORRECTED = 4

# How much of a definition is read. Real ones are far below; nobody shall be able to slow search down.
_LONGEST_NAME = 300
_LONGEST_TEXT = 4_000
_LONGEST_PARAMETER = 100
_LONGEST_PARAMETER_TEXT = 400
_MOST_PARAMETERS = 100

# What a word counts in each field. Halving or doubling any of these hardly changes how much is found.
_FIELDS = {
    "server": 2.0,
    "server text": 0.5,
    "name": 2.0,
    "description": 1.0,
    "parameters": 0.5,
    "parameter texts": 0.25,
}
_OF_SERVER = 2
"""So many of the fields say the same of all tools of a server."""
_LENGTH_PENALTY = 0.4
_SATURATION = 1.2
_MOST_POSTINGS = 1_000

_NEIGHBOUR = 0.5

_PREFIX = 0.5
_SHORTEST_PREFIX = 4
_LONGEST_ENDING = 6
_MOST_LONGER = 16

_LONGEST_GIST = 500

# The scores that the module's first lines explain.
_BY_NAME = 1.0
_BY_ORIGINAL_NAME = 0.99
_BY_LETTERS = 0.98
_BY_MENTION = 0.97
_BY_ONE_TYPO = 0.95
_BY_TWO_TYPOS = 0.93
_BY_WORDS = 0.9
_SHORTEST_FOR_ONE_TYPO = 5
_SHORTEST_FOR_TWO_TYPOS = 8

_FULL_NAME = re.compile(r"(?:mcp|script)__[0-9a-z_]+")
_PREFIXED = re.compile(r"\s*mcp[\W_]+", re.IGNORECASE)

_Posting = tuple[tuple[int, ...], tuple[float, ...]]
"""The tools that have a term, and what it adds to the score of each."""
_NOWHERE: _Posting = ((), ())


@dataclass(frozen=True, slots=True, order=True)
class Document:
    """What search knows of a tool."""

    name: str
    server: str
    original_name: str
    title: str
    description: str
    parameters: tuple[str, ...] = ()
    parameter_texts: tuple[str, ...] = ()
    server_text: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A tool that was found, and how well it fits."""

    name: str
    score: float


def document_of(tool: Tool, server_text: str) -> Document:
    """Read of a tool what search needs, whatever its schema says."""
    properties = tool.input_schema.get("properties")
    listed = dict(islice(properties.items(), _MOST_PARAMETERS)) if isinstance(properties, dict) else {}
    texts = [schema.get("description") for schema in listed.values() if isinstance(schema, dict)]
    return Document(
        name=tool.name,
        server=tool.server,
        original_name=tool.original_name,
        title=tool.title or tool.annotations.title or "",
        description=tool.description[:_LONGEST_TEXT],
        parameters=tuple(str(name)[:_LONGEST_PARAMETER] for name in listed),
        parameter_texts=tuple(text[:_LONGEST_PARAMETER_TEXT] for text in texts if isinstance(text, str)),
        server_text=server_text[:_LONGEST_TEXT],
    )


class Index:
    """An inverted index over one catalogue. Immutable; building it takes time, so do that in a thread."""

    def __init__(self, documents: Iterable[Document], meaning: Meaning | None = None) -> None:
        # In the order of names, so that no answer depends on the order in which servers came up.
        by_name: dict[str, Document] = {}
        for document in sorted(documents):
            by_name.setdefault(document.name, document)
        self._documents = tuple(by_name.values())
        self._names = _Names(self._documents)
        self._of_server: dict[str, list[int]] = {}
        for number, document in enumerate(self._documents):
            self._of_server.setdefault(document.server, []).append(number)
        self._postings, self._weights = _postings(self._documents)
        self._unknown_weight = _rarity(0, len(self._documents))
        self._vocabulary = sorted(self._postings)
        self._meaning = meaning
        self._vectors = None if meaning is None else meaning.encode([_gist(one) for one in self._documents])

    def search(self, query: str, limit: int = 10, server: str | None = None) -> list[Found]:
        """Give at most `limit` tools, best first, equally good ones by name; nothing if nothing is asked."""
        if not self._documents or (server is not None and server not in self._of_server):
            return []
        limit = max(1, min(limit, MOST_FOUND))
        scores = self._by_words(query[:_LONGEST_QUERY], limit, server)
        for number, score in self._names.match(query).items():
            if server is None or self._documents[number].server == server:
                scores[number] = score
        # Documents are numbered in the order of their names.
        best = nsmallest(limit, scores, key=lambda number: (-scores[number], number))
        return [Found(self._documents[number].name, scores[number]) for number in best]

    def _by_words(self, query: str, limit: int, server: str | None) -> dict[int, float]:
        asked = self._asked(query)
        if not asked:
            return {}
        covered = [0.0] * len(self._documents)
        for term in asked:
            for number, gain in self._gains(term):
                covered[number] += gain
        among = range(len(covered)) if server is None else self._of_server[server]
        by_words = self._with_neighbours(covered)
        fits: Mapping[int, float] | Sequence[float] = by_words
        nearest = 0.0
        if self._meaning is not None:
            fits, nearest = self._meaning.mix(by_words, self._vectors, query, among, limit)
            among = list(fits)
        best = _best(fits, among, limit)
        if not best:
            return {}
        weight = sum(self._weights.get(term, self._unknown_weight) for term in asked)
        strength = max(nearest, max(covered[number] for number in best) / weight)
        scale = _BY_WORDS * min(1.0, strength) / fits[best[0]]
        return {number: round(scale * fits[number], 4) for number in best}

    def _asked(self, query: str) -> list[str]:
        """Give the terms of a query, each once; of very many the rarest, which say most."""
        asked = list(dict.fromkeys(terms(query)))
        if not any(term in self._postings or self._longer(term) for term in asked):
            asked = [self._corrected(term) for term in asked[:_MOST_CORRECTED]]
        if len(asked) > _MOST_QUERY_TERMS:
            asked.sort(key=lambda term: -self._weights.get(term, 0.0))
        return asked[:_MOST_QUERY_TERMS]

    def _corrected(self, term: str) -> str:
        """Give the word that was probably meant. For queries that find nothing: names of things are no typos."""
        typos = _typos_allowed(term)
        if not typos:
            return term
        near = process.extractOne(term, self._vocabulary, scorer=OSA.distance, score_cutoff=typos)
        return term if near is None else near[0]

    def _gains(self, term: str) -> Iterable[tuple[int, float]]:
        """Give the tools that have a term or, for less, a longer word that begins with it."""
        numbers, exact = self._postings.get(term, _NOWHERE)
        longer = self._longer(term)
        if not longer:
            return zip(numbers, exact, strict=True)
        gains: dict[int, float] = {}
        for word in longer:
            for number, gain in zip(*self._postings[word], strict=True):
                gains[number] = max(_PREFIX * gain, gains.get(number, 0.0))
        for number, gain in zip(numbers, exact, strict=True):
            gains[number] = max(gain, gains.get(number, 0.0))
        return gains.items()

    def _longer(self, term: str) -> list[str]:
        if len(term) < _SHORTEST_PREFIX or not term.isalpha():
            return []
        start = bisect_left(self._vocabulary, term)
        end = bisect_left(self._vocabulary, term + "\U0010ffff", lo=start)
        near = [word for word in self._vocabulary[start:end] if 0 < len(word) - len(term) <= _LONGEST_ENDING]
        return sorted(near, key=len)[:_MOST_LONGER]

    def _with_neighbours(self, covered: list[float]) -> list[float]:
        """Add to each tool that fits at all a part of what the best tool of its server has."""
        fits = covered[:]
        for numbers in self._of_server.values():
            own = [covered[number] for number in numbers]
            extra = _NEIGHBOUR * max(own)
            if extra:
                for number, fit in zip(numbers, own, strict=True):
                    if fit:
                        fits[number] = fit + extra
        return fits


def _best(fits: Mapping[int, float] | Sequence[float], among: Sequence[int], limit: int) -> list[int]:
    """Give the numbers of those that fit best, best first."""
    fitting = [one for one in among if fits[one]]
    least = min(nlargest(limit, [fits[one] for one in fitting]), default=0.0)
    return sorted((one for one in fitting if fits[one] >= least), key=lambda one: (-fits[one], one))[:limit]


def _gist(document: Document) -> str:
    """Give the text whose meaning stands for the tool."""
    name = " ".join(words(f"{document.server} {document.original_name}"[:_LONGEST_NAME], wholes=False))
    return f"{name}. {document.title} {document.description[:_LONGEST_GIST]}"


def _rarity(having: int, of: int) -> float:
    return log(1 + (of - having + 0.5) / (having + 0.5))


def _fields(document: Document) -> tuple[str, ...]:
    """Give as much of each field as is read, in the order of `_FIELDS`."""
    return (
        document.server[:_LONGEST_NAME],
        document.server_text[:_LONGEST_TEXT],
        f"{document.original_name[:_LONGEST_NAME]} {document.title[:_LONGEST_NAME]}",
        document.description[:_LONGEST_TEXT],
        " ".join(document.parameters[:_MOST_PARAMETERS])[:_LONGEST_TEXT],
        " ".join(document.parameter_texts[:_MOST_PARAMETERS])[:_LONGEST_TEXT],
    )


def _postings(documents: Sequence[Document]) -> tuple[dict[str, _Posting], dict[str, float]]:
    """Give for each term what it adds to which tools, and what it could add at most."""
    table = [_fields(document) for document in documents]
    read = {text: Counter(terms(text)) for text in {text for row in table for text in row}}
    lengths = {text: counts.total() for text, counts in read.items()}
    fields = [
        (weight, sum(lengths[text] for text in column) / len(table) or 1.0)
        for weight, column in zip(_FIELDS.values(), zip(*table, strict=True), strict=False)
    ]

    def add(amounts: dict[str, float], texts: Sequence[str], fields: Sequence[tuple[float, float]]) -> None:
        for text, (weight, average) in zip(texts, fields, strict=True):
            share = weight / (1 - _LENGTH_PENALTY + _LENGTH_PENALTY * lengths[text] / average)
            for term, count in read[text].items():
                amounts[term] = amounts.get(term, 0.0) + share * count

    servers: dict[tuple[str, ...], dict[str, float]] = {}
    tools: dict[str, list[int]] = defaultdict(list)
    parts: dict[str, list[float]] = defaultdict(list)
    for number, row in enumerate(table):
        # What a server's tools have in common is added up once.
        common, own = row[:_OF_SERVER], row[_OF_SERVER:]
        if common not in servers:
            servers[common] = {}
            add(servers[common], common, fields[:_OF_SERVER])
        amounts = servers[common].copy()
        add(amounts, own, fields[_OF_SERVER:])
        for term, amount in amounts.items():
            tools[term].append(number)
            parts[term].append(amount / (_SATURATION + amount))
    weights = {term: _rarity(len(having), len(table)) for term, having in tools.items()}
    return {term: _posting(having, parts[term], weights[term]) for term, having in tools.items()}, weights


def _posting(tools: list[int], parts: list[float], weight: float) -> _Posting:
    if len(tools) > _MOST_POSTINGS:
        # Of a word that very many tools have, those count that have it most.
        most = sorted(zip([-part for part in parts], tools, strict=True))[:_MOST_POSTINGS]
        tools, parts = [tool for _, tool in most], [-part for part, _ in most]
    return tuple(tools), tuple([weight * part for part in parts])


def _typos_allowed(text: str) -> int:
    return (len(text) >= _SHORTEST_FOR_ONE_TYPO) + (len(text) >= _SHORTEST_FOR_TWO_TYPOS)


class _Names:
    """The names of all tools, in every way that somebody may write them."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._exact: dict[str, int] = {}
        self._original: dict[str, list[int]] = defaultdict(list)
        self._full: dict[str, list[int]] = defaultdict(list)
        self._letters: dict[str, set[int]] = defaultdict(set)
        self._words: set[str] = set()
        for number, document in enumerate(documents):
            self._exact[document.name] = number
            self._original[document.original_name].append(number)
            self._full[document.name.lower()].append(number)
            original, server = document.original_name[:_LONGEST_NAME], document.server[:_LONGEST_NAME]
            for name in (document.name[:_LONGEST_NAME], original, f"{server} {original}"):
                for key in _keys(name):
                    self._letters[key].add(number)
            self._words.update(words(f"{server} {original}", wholes=False))
        self._of_length: dict[int, list[str]] = defaultdict(list)
        for key in self._letters:
            self._of_length[len(key)].append(key)

    def match(self, query: str) -> dict[int, float]:
        """Score the tools whose name the query is, or contains, or nearly is."""
        scores: dict[int, float] = {}
        asked = query.strip()
        short = asked[:_LONGEST_QUERY]
        for mention in _FULL_NAME.findall(short.lower()):
            scores.update(dict.fromkeys(self._full.get(mention, ()), _BY_MENTION))
        keys = _keys(asked) if len(asked) <= 2 * _LONGEST_NAME else set()
        for key in keys:
            scores.update(dict.fromkeys(self._letters.get(key, ()), _BY_LETTERS))
        for name in (query, asked):
            scores.update(dict.fromkeys(self._original.get(name, ()), _BY_ORIGINAL_NAME))
        exact = self._exact.get(query, self._exact.get(asked))
        if exact is not None:
            scores[exact] = _BY_NAME
        if not scores:
            for key in keys:
                if _typos_allowed(key):
                    self._match_typos(key, asked, scores)
        return scores

    def _match_typos(self, key: str, asked: str, scores: dict[int, float]) -> None:
        typos = _typos_allowed(key)
        plain = _PREFIXED.sub("", asked, count=1)
        written = words(plain, wholes=False)
        wrong = {word for word in written if word not in self._words and terms(word)}
        if not written or len(wrong) > 2 * typos:  # a slipped separator spoils two words
            return
        lengths = range(len(key) - typos, len(key) + typos + 1)
        keys = [one for length in lengths for one in self._of_length.get(length, ())]
        for name, distance, _ in process.extract(
            key, keys, scorer=OSA.distance, score_cutoff=typos, limit=MOST_FOUND
        ):
            score = _BY_ONE_TYPO if distance <= 1 else _BY_TWO_TYPOS
            for number in self._letters[name]:
                if wrong or self._means_the_same(written, number):
                    scores[number] = max(score, scores.get(number, 0.0))

    def _means_the_same(self, written: Sequence[str], number: int) -> bool:
        """Say whether a name of known words is a slip: `get_user` is none of `set_user`."""
        document = self._documents[number]
        name = words(document.original_name[:_LONGEST_NAME], wholes=False)
        beginnings = {*name[:1], *words(document.server[:_LONGEST_NAME], wholes=False)[:1]}
        return written[0] in beginnings or terms(" ".join(written)) == terms(" ".join(name))


def _keys(name: str) -> set[str]:
    """Give a name's letters, with and without `mcp__`."""
    return {key for key in (letters(name), letters(_PREFIXED.sub("", name, count=1))) if key}
