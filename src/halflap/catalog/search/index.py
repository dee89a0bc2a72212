"""The search index: named tools first, then the tools that fit the words of the query best.

Words are ranked by BM25F. A word also finds its kin: longer words that begin with it, and its inflections. The last word may
be unfinished, so that search works while a user types. Words that follow each other as in the tool's name count a little
more, which tells `pdf_to_text` from `text_to_pdf`. And a tool gains from the best tool of its server, because a task that
needs one of them mostly needs the others too.

Scores go from 0 to 1 and are comparable within one answer only:

    1.00          the tool's name as it is written
    0.99          the name that its server gave it
    0.98          one of the two, or "server tool", apart from case, separators, quotes and arguments
    0.97          the query mentions the name with separators, as only names are written
    0.95          a name of several words with one typo
    up to 0.90    by words: the best tool has the share of the query's weight that it covers (or, with
                  `halflap[semantic]`, its similarity in meaning if that is more), the others less
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise

from halflap.catalog.search.document import MAX_NAME, Document
from halflap.catalog.search.names import Names
from halflap.catalog.search.semantic import Embedding, SemanticIndex
from halflap.catalog.search.terms import Terms
from halflap.catalog.search.words import terms, words

MAX_FOUND = 100
_MAX_QUERY = 2_000
_MAX_QUERY_TERMS = 64
_MAX_CORRECTED = 4
_MAX_SEMANTIC_TEXT = 500
_BY_WORDS = 0.9
_KIN_SHARE = 0.5
_PAIR_SHARE = 0.1
_NEIGHBOUR_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Found:
    """A tool that fits the query, and how well."""

    name: str
    score: float


class Index:
    """An inverted index over one catalogue. Immutable; build it in a thread, since that takes time."""

    def __init__(self, documents: Iterable[Document], embedding: Embedding | None = None) -> None:
        # The tools of a server are numbered consecutively, so that a server is a range.
        self._documents = sorted(documents, key=lambda document: (document.server, document.name))
        self._servers: dict[str, range] = {}
        self._pairs: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, document in enumerate(self._documents):
            first = self._servers.get(document.server, range(number, number)).start
            self._servers[document.server] = range(first, number + 1)
            for pair in pairwise(terms(document.original_name[:MAX_NAME])):
                self._pairs[pair].append(number)
        self._terms = Terms(self._documents)
        self._names = Names(self._documents)
        texts = [] if embedding is None else [_summary(document) for document in self._documents]
        self._semantic = None if embedding is None else SemanticIndex(embedding, texts)

    def search(self, query: str, limit: int = 10, server: str | None = None) -> list[Found]:
        """Return at most `limit` tools, best first, equally good ones by name."""
        among = range(len(self._documents)) if server is None else self._servers.get(server, range(0))
        if not among:
            return []
        query = query[:_MAX_QUERY]
        limit = max(1, min(limit, MAX_FOUND))
        scores = self._by_words(query, limit, among)
        scores |= {number: score for number, score in self._names.match(query).items() if number in among}
        found = [Found(self._documents[number].name, score) for number, score in scores.items()]
        return sorted(found, key=lambda one: (-one.score, one.name))[:limit]

    def _by_words(self, query: str, limit: int, among: range) -> dict[int, float]:
        """Score the tools that fit best by words: `limit` of them, and those equal to the last."""
        asked = self._asked(query)
        if not asked:
            return {}
        covered = [0.0] * len(self._documents)
        unfinished = words(query)[-1]
        for term in asked:
            kin = self._terms.kin(term)
            if not kin and term not in self._terms and unfinished.startswith(term):
                kin = self._terms.completions(term)
            for number, gain in self._gains(term, kin, among):
                covered[number] += gain
        for pair in set(pairwise(asked)):
            for number in self._pairs.get(pair, ()):
                if number in among:
                    covered[number] += _PAIR_SHARE * sum(map(self._terms.weight, pair))
        fits = self._with_neighbours(covered)
        if self._semantic is None:
            least = nlargest(limit, fits)[-1]
            best, nearest = {number: fit for number, fit in enumerate(fits) if fit and fit >= least}, 0.0
        else:
            best, nearest = self._semantic.best(fits, query, among, limit)
        if not best:
            return {}
        strength = max(covered[number] for number in best) / sum(map(self._terms.weight, asked))
        scale = _BY_WORDS * min(1.0, max(nearest, strength)) / max(best.values())
        return {number: round(scale * fit, 4) for number, fit in best.items()}

    def _gains(self, term: str, kin: list[str], among: range) -> Iterable[tuple[int, float]]:
        """Return the tools that have a term or, for a share of its gain, one of its kin."""
        exact = self._terms.gains(term, among)
        if not kin:
            return exact
        gains = dict(exact)
        for word in kin:
            for number, gain in self._terms.gains(word, among):
                gains[number] = max(gains.get(number, 0.0), _KIN_SHARE * gain)
        return gains.items()

    def _asked(self, query: str) -> list[str]:
        """Return the terms of a query, each once; those that nothing has with a typo corrected."""
        written = words(query)
        # A single small word may be the first letters of another: "is" of "issue".
        asked = list(dict.fromkeys(terms(query) or (written if len(written) == 1 else ())))[:_MAX_QUERY_TERMS]
        if any(term in self._terms or self._terms.kin(term) for term in asked):
            return asked
        return [self._terms.corrected(term) for term in asked[:_MAX_CORRECTED]]

    def _with_neighbours(self, covered: list[float]) -> list[float]:
        """Add to every tool that fits a share of the best tool of its server."""
        fits = covered[:]
        for tools in self._servers.values():
            own = covered[tools.start : tools.stop]
            share = _NEIGHBOUR_SHARE * max(own)
            if share:
                fits[tools.start : tools.stop] = [fit and fit + share for fit in own]
        return fits


def _summary(document: Document) -> str:
    """Return the text that is embedded for a tool."""
    name = " ".join(words(f"{document.server} {document.original_name}"[:MAX_NAME], wholes=False))
    return f"{name}. {document.title} {document.description[:_MAX_SEMANTIC_TEXT]}"
