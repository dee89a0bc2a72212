"""The search index: named tools first, then the tools that fit the words of the query best.

Words are ranked by BM25F. A word also matches longer words that begin with it, and its inflections. The last word may be
unfinished, so that search works while a user types. A tool gains from the best tool of its server, because a task that
needs one of them mostly needs others.

Scores go from 0 to 1 and are comparable within one answer only:

    1.00          the tool's name as it is written
    0.99          the name that its server gave it
    0.98          one of the two, or "server tool", apart from case, separators, quotes and arguments
    0.97          the query mentions the name with separators, as only names are written
    0.95          a name of several words with one typo
    up to 0.90    by words: the best tool has the share of the query's weight that it covers, others have less
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappushpop

from halflap.catalog.search.terms import MAX_NAME, Document, Terms
from halflap.catalog.search.words import Spellings, letters, terms, words

MAX_FOUND = 100
_MAX_QUERY = 2_000
_MAX_QUERY_TERMS = 64
_MAX_CORRECTED = 4
_RELATED_SHARE = 0.5
_NEIGHBOUR_SHARE = 0.5

# The scores that are explained above.
_EXACT = 1.0
_ORIGINAL = 0.99
_SAME_LETTERS = 0.98
_MENTIONED = 0.97
_TYPO = 0.95
_BY_WORDS = 0.9

_ARGUMENTS = re.compile(r"\([^()]*\)\W*$")
_TOKEN = re.compile(r"[\w@.:/-]+")
_SEPARATOR = re.compile(r"[^\W_][_@.:/-]+[^\W_]")


@dataclass(frozen=True, slots=True)
class Found:
    """A matching tool and its score."""

    name: str
    score: float


class Index:
    """An immutable inverted index over one catalogue. Build it in a thread, since that takes time."""

    def __init__(self, documents: Iterable[Document]) -> None:
        # The tools of a server are numbered consecutively, so that a server is a range.
        self._documents = sorted(documents, key=lambda document: (document.server, document.name))
        self._servers: dict[str, range] = {}
        for number, document in enumerate(self._documents):
            first = self._servers.get(document.server, range(number, number)).start
            self._servers[document.server] = range(first, number + 1)
        self._terms = Terms(self._documents)
        self._names = Names(self._documents)

    def search(self, query: str, limit: int = 10, server: str | None = None) -> list[Found]:
        """Return at most `limit` tools, best first; equally good ones by name."""
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
        """Score the best matches by words: `limit` of them, and those with the score of the last."""
        asked = self._asked(query)
        if not asked:
            return {}
        covered = [0.0] * len(self._documents)
        unfinished = words(query)[-1]
        for term in asked:
            related = self._terms.related(term)
            if not related and term not in self._terms and unfinished.startswith(term):
                related = self._terms.completions(term)
            for number, gain in self._gains(term, related, among):
                covered[number] += gain
        best = self._best(covered, limit)
        if not best:
            return {}
        strength = max(covered[number] for number in best) / sum(map(self._terms.weight, asked))
        scale = _BY_WORDS * min(1.0, strength) / max(best.values())
        return {number: round(scale * fit, 4) for number, fit in best.items()}

    def _gains(self, term: str, related: list[str], among: range) -> Iterable[tuple[int, float]]:
        """Return the tools that have a term or, for a share of its gain, a related one."""
        exact = self._terms.gains(term, among)
        if not related:
            return exact
        gains = dict(exact)
        for word in related:
            for number, gain in self._terms.gains(word, among):
                gains[number] = max(gains.get(number, 0.0), _RELATED_SHARE * gain)
        return gains.items()

    def _asked(self, query: str) -> list[str]:
        """Return the distinct terms of a query; if no tool has any of them, with typos corrected."""
        written = words(query)
        # A single stop word may be the beginning of another word: "is" of "issue".
        asked = list(dict.fromkeys(terms(query) or (written if len(written) == 1 else ())))[:_MAX_QUERY_TERMS]
        if any(term in self._terms or self._terms.related(term) for term in asked):
            return asked
        return [self._terms.corrected(term) for term in asked[:_MAX_CORRECTED]]

    def _best(self, covered: Sequence[float], limit: int) -> dict[int, float]:
        """Add to the score of every match a share of the best one of its server, and return the best matches."""
        tops = [(max(covered[one.start : one.stop]), one) for one in self._servers.values()]
        found: dict[int, float] = {}
        scores = [0.0] * limit
        for top, tools in sorted(tops, key=lambda one: one[0], reverse=True):
            share = _NEIGHBOUR_SHARE * top
            # No tool of this server, or of those after it, can be among the best.
            if not top or top + share < scores[0]:
                break
            for number in tools:
                if covered[number]:
                    found[number] = covered[number] + share
                    heappushpop(scores, found[number])
        return {number: score for number, score in found.items() if score >= scores[0]}


class Names:
    """Recognises tool names in queries, however they are written."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._exact = {document.name: number for number, document in enumerate(documents)}
        self._originals: dict[str, set[int]] = defaultdict(set)
        self._letters: dict[str, set[int]] = defaultdict(set)
        self._single_words: set[str] = set()
        for number, document in enumerate(documents):
            server, original = document.server[:MAX_NAME], document.original_name[:MAX_NAME]
            self._originals[document.original_name].add(number)
            # A namespaced name may have a suffix, if its plain form was taken.
            for name in (original, f"{server} {original}", document.name[:MAX_NAME]):
                self._letters[letters(name)].add(number)
            if len(words(original, wholes=False)) == 1:
                self._single_words.add(letters(original))
        self._letters.pop("", None)
        self._spellings = Spellings(self._letters)

    def match(self, query: str) -> dict[int, float]:
        """Score the tools whose name the query is, contains, or misspells."""
        asked = query.strip()
        scores = dict.fromkeys(self._mentioned(asked), _MENTIONED)
        whole = _ARGUMENTS.sub("", asked) if len(asked) <= 2 * MAX_NAME else ""
        scores |= dict.fromkeys(self._letters.get(letters(whole), ()), _SAME_LETTERS)
        for name in (query, asked):
            scores |= dict.fromkeys(self._originals.get(name, ()), _ORIGINAL)
        exact = self._exact.get(query, self._exact.get(asked))
        if exact is not None:
            scores[exact] = _EXACT
        return scores or dict.fromkeys(self._mistyped(whole), _TYPO)

    def _mentioned(self, sentence: str) -> Iterator[int]:
        """Find tools mentioned by words that look like names only: this_one, server.this-one."""
        for token in _TOKEN.findall(sentence):
            name = token.rstrip(".:/-")[:MAX_NAME]
            # "an e-mail" does not mention the tool `email`.
            if _SEPARATOR.search(name) and letters(name) not in self._single_words:
                yield from self._letters.get(letters(name), ())

    def _mistyped(self, name: str) -> Iterator[int]:
        """Find names of several words that are one typo away. If written as separate words, the first must be right."""
        written = words(name, wholes=False)
        if len(written) > 1:
            verb = written[0] if len(name.split()) > 1 else ""  # `get user` is not `set_user`
            for near in self._spellings.near(letters(name)):
                yield from self._letters[near] if near.startswith(verb) else ()
