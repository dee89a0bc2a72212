"""Search over the catalogue: a name that somebody knows comes first, then what fits the words best.

Words are ranked by BM25F: a word counts more the fewer tools have it, and by the field that it stands in.
Three things are added to that. A tool gains from the best tool of its server, because a task that needs one
of them mostly needs its neighbours too. A word of the query also finds those that are of its kin. And where
words follow each other in the query as they do in a tool's name, that counts a little.

Scores go from 0 to 1, and say something within one answer only:

    1.00          the tool's name, as it is written
    0.99          the name that its server gave it, as it is written
    0.98          one of the two, or "server tool", apart from case, separators, quotes, `mcp__`, arguments
                  behind it and "the … tool" around it; less the more of these differ
    0.97          the query contains the tool's full name, or its name as only names are written: with
                  separators or capitals within, in backticks, with () behind, or in "the … tool"
    0.95, 0.93    a name with one typo, with two (from eight letters on); a little less where separators
                  differ too. A short name of few letters only if the query is no word that is known
    up to 0.90    by words: the best has the share of the query's weight that it covers (or, with
                  `halflap[semantic]`, how near it is in meaning, if that is more), the others less
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nlargest, nsmallest
from typing import TYPE_CHECKING

from halflap.catalog.document import LONGEST_NAME
from halflap.catalog.neighbours import Neighbours
from halflap.catalog.order import steps
from halflap.catalog.postings import Postings, rarity
from halflap.catalog.spelling import Spellings
from halflap.catalog.vocabulary import Vocabulary
from halflap.catalog.words import terms, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.catalog.document import Document
    from halflap.catalog.meaning import Meaning
    from halflap.catalog.order import Step

__all__ = ["Found", "Index"]

MOST_FOUND = 100
_LONGEST_QUERY = 2_000
_MOST_QUERY_TERMS = 64
_MOST_CORRECTED = 4

_KIN = 0.5
_ORDER = 0.1

_LONGEST_GIST = 500
_BY_WORDS = 0.9


@dataclass(frozen=True, slots=True)
class Found:
    """A tool that was found, and how well it fits."""

    name: str
    score: float


class Index:
    """An inverted index over one catalogue. Immutable; building it takes time, so do that in a thread."""

    def __init__(self, documents: Iterable[Document], meaning: Meaning | None = None) -> None:
        # In the order of names, so that no answer depends on the order in which servers came up.
        by_name: dict[str, Document] = {}
        for document in sorted(documents):
            by_name.setdefault(document.name, document)
        self._documents = tuple(by_name.values())
        servers = [document.server for document in self._documents]
        self._of_server: dict[str, list[int]] = {}
        for number, server in enumerate(servers):
            self._of_server.setdefault(server, []).append(number)
        self._neighbours = Neighbours(servers)
        self._postings = Postings(self._documents)
        self._weights = self._postings.weights
        self._unknown_weight = rarity(0, len(self._documents))
        self._vocabulary = Vocabulary(self._weights)
        self._steps: dict[Step, list[int]] = {}
        for number, document in enumerate(self._documents):
            name, title = document.original_name[:LONGEST_NAME], document.title[:LONGEST_NAME]
            for step in steps(name) | steps(title) if title else steps(name):
                self._steps.setdefault(step, []).append(number)
        self._names = Spellings(self._documents, self._weights)
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
        among = None if server is None else self._of_server[server]
        covered = self._covered(query, asked, among)
        nearest = 0.0
        if self._meaning is None:
            fits = self._neighbours.best(covered, limit)
        else:
            words = self._neighbours.all(covered, self._meaning.numpy)
            fits, nearest = self._meaning.mix(words, self._vectors, query, among, limit)
        best = _best(fits, limit)
        if not best:
            return {}
        weight = sum(self._weights.get(term, self._unknown_weight) for term in asked)
        strength = max(nearest, max(covered[number] for number in best) / weight)
        scale = _BY_WORDS * min(1.0, strength) / fits[best[0]]
        return {number: round(scale * fits[number], 4) for number in best}

    def _covered(self, query: str, asked: Iterable[str], among: Sequence[int] | None) -> list[float]:
        """Add up for each tool what the query's terms count there, and its steps."""
        # A list, not a dict of those that have any: there are many, and this is where the time goes.
        covered = [0.0] * len(self._documents)
        for term in asked:
            for number, gain in self._gains(term, among):
                covered[number] += gain
        own = None if among is None else frozenset(among)
        for step in steps(query):
            gain = _ORDER * (self._weights.get(step.first, 0.0) + self._weights.get(step.second, 0.0))
            for number in self._steps.get(step, ()):
                if own is None or number in own:
                    covered[number] += gain
        return covered

    def _asked(self, query: str) -> list[str]:
        """Give the terms of a query, each once; of very many the rarest, which say most."""
        asked = list(dict.fromkeys(terms(query)))
        if not any(term in self._weights or self._vocabulary.kin(term) for term in asked):
            asked = [self._vocabulary.corrected(term) for term in asked[:_MOST_CORRECTED]]
        if len(asked) > _MOST_QUERY_TERMS:
            asked.sort(key=lambda term: -self._weights.get(term, 0.0))
        return asked[:_MOST_QUERY_TERMS]

    def _gains(self, term: str, among: Sequence[int] | None) -> Iterable[tuple[int, float]]:
        """Give the tools that have a term or, for less, a word of its kin."""
        exact = self._postings.of(term, among)
        kin = self._vocabulary.kin(term)
        if not kin:
            return exact
        gains = dict(exact)
        for word in kin:
            for number, gain in self._postings.of(word, among):
                less = _KIN * gain
                if less > gains.get(number, 0.0):
                    gains[number] = less
        return gains.items()


def _best(fits: Mapping[int, float], limit: int) -> list[int]:
    """Give the numbers of those that fit best, best first."""
    least = min(nlargest(limit, fits.values()), default=0.0)
    return sorted((one for one in fits if fits[one] >= least), key=lambda one: (-fits[one], one))[:limit]


def _gist(document: Document) -> str:
    """Give the text whose meaning stands for the tool."""
    name = " ".join(words(f"{document.server} {document.original_name}"[:LONGEST_NAME], wholes=False))
    return f"{name}. {document.title} {document.description[:_LONGEST_GIST]}"
