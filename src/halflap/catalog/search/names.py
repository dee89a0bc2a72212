"""Recognise tool names in queries, however they are written: search lists the tool that was named first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from rapidfuzz import process
from rapidfuzz.distance import OSA

from halflap.catalog.search.document import MAX_NAME, Document
from halflap.catalog.search.words import letters, words

# The scores that `index` explains.
_EXACT = 1.0
_ORIGINAL = 0.99
_SAME_LETTERS = 0.98
_MENTIONED = 0.97
_TYPO = 0.95

_ARGUMENTS = re.compile(r"\([^()]*\)\W*$")
_TOKEN = re.compile(r"[\w@.:/-]+")
_SEPARATOR = re.compile(r"[^\W_][_@.:/-]+[^\W_]")


class Names:
    """The names of all tools."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._exact = {document.name: number for number, document in enumerate(documents)}
        self._originals: dict[str, set[int]] = defaultdict(set)
        self._letters: dict[str, set[int]] = defaultdict(set)
        self._single_words: set[str] = set()
        for number, document in enumerate(documents):
            server, original = document.server[:MAX_NAME], document.original_name[:MAX_NAME]
            self._originals[document.original_name].add(number)
            # The namespaced name is not always made of server and tool: a name that is taken gets a suffix.
            for name in (original, f"{server} {original}", document.name[:MAX_NAME]):
                self._letters[letters(name)].add(number)
            if len(words(original, wholes=False)) == 1:
                self._single_words.add(letters(original))
        self._letters.pop("", None)
        self._keys = list(self._letters)

    def match(self, query: str) -> dict[int, float]:
        """Score the tools whose name the query is, contains, or nearly is."""
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
        """Find tools named by words that can hardly be anything but a name: this_one, server.this-one."""
        for token in _TOKEN.findall(sentence):
            name = token.rstrip(".:/-")[:MAX_NAME]
            # An e-mail is no mention of the tool `email`.
            if _SEPARATOR.search(name) and letters(name) not in self._single_words:
                yield from self._letters.get(letters(name), ())

    def _mistyped(self, name: str) -> Iterator[int]:
        """Find tools named by several words, one typo away; of separate words, the first has to be right."""
        written = words(name, wholes=False)
        if len(written) > 1:
            verb = written[0] if len(name.split()) > 1 else ""  # `get user` is not `set_user`
            for near, _, _ in process.extract(letters(name), self._keys, scorer=OSA.distance, score_cutoff=1):
                yield from self._letters[near] if near.startswith(verb) else ()
