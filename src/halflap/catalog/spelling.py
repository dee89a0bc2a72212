"""The names of all tools, in every way that somebody may write them: search puts the one that was meant first."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from halflap.catalog.document import LONGEST_NAME
from halflap.catalog.near import Near, apart
from halflap.catalog.words import is_dense, letters, terms, words

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from halflap.catalog.document import Document

__all__ = ["Spellings"]

# The scores that the first lines of `search.py` explain.
_BY_NAME = 1.0
_BY_ORIGINAL_NAME = 0.99
_BY_LETTERS = 0.98
_BY_MENTION = 0.97
_BY_TYPOS = (0.95, 0.95, 0.93)
_FOR_EACH_OTHER_SIGN = 0.001
_MOST_OTHER_SIGNS = 9
_FOR_A_LETTER_TOO_MANY = 0.0005

_LONGEST_SENTENCE = 2_000
_SHORTEST_FOR_ONE_TYPO = 2
_SHORTEST_FOR_TWO_TYPOS = 8
_SHORTEST_TO_HAVE_TYPOS = 3
_SHORT = 5
"""Below so many letters, most words are near to some other word."""

_PREFIX = "mcp"
_PREFIXED = re.compile(r"^\s*mcp[\W_]+", re.IGNORECASE)
_NEAR_PREFIX = re.compile(r"\s*([^\W_]{2,4})_", re.IGNORECASE)
_ARGUMENTS = re.compile(r"\([^()]*\)\W*$")
_AROUND = re.compile(r"^\W*(?:(?:the|tools?)\b[^\w-]+)+|(?<=[\w-])[^\w-]+tools?\W*$", re.IGNORECASE)
_TOKEN = re.compile(r"[\w@.:/-]+")
_SEPARATOR = re.compile(r"[^\W_][_@.:/-]+[^\W_]")
# Whatever stands like this in a sentence is meant as a name, even if it is a word.
_MARKED = re.compile(
    r"`([^`\s]+)`|(?<![\w.:/-])([\w.:/-]++)\(\)|\bthe[^\w-]+([\w.:/-]+)[^\w-]+tool\b",
    re.IGNORECASE,
)


class Spellings:
    """The names of all tools. `vocabulary` is every term that their texts have."""

    def __init__(self, documents: Sequence[Document], vocabulary: Container[str]) -> None:
        self._documents = documents
        self._vocabulary = vocabulary
        self._names: dict[str, int] = {}
        self._originals: dict[str, list[int]] = defaultdict(list)
        self._lower: dict[str, list[int]] = defaultdict(list)
        self._letters: dict[str, list[int]] = defaultdict(list)
        self._full_letters: dict[str, set[int]] = defaultdict(set)
        self._words: set[str] = set()
        servers: dict[str, str] = {}
        for number, document in enumerate(documents):
            self._names[document.name] = number
            original = document.original_name[:LONGEST_NAME]
            self._originals[document.original_name].append(number)
            self._lower[original.lower()].append(number)
            own = letters(original)
            if own:
                self._letters[own].append(number)
            if document.server not in servers:
                servers[document.server] = letters(document.server[:LONGEST_NAME])
                self._words.update(words(document.server[:LONGEST_NAME], wholes=False))
            self._full_letters[servers[document.server] + own].add(number)
            # Not always the same as server and tool: names that would be taken get a suffix.
            self._full_letters[_without_prefix(document.name[:LONGEST_NAME])].add(number)
            self._words.update(words(original, wholes=False))
        self._near = Near(self._letters)
        self._near_full = Near(self._full_letters)

    def match(self, query: str) -> dict[int, float]:
        """Score the tools whose name the query is, or contains, or nearly is."""
        asked = query.strip()
        scores = dict.fromkeys(self._mentioned(asked[:_LONGEST_SENTENCE]), _BY_MENTION)
        if len(asked) <= 2 * LONGEST_NAME:
            for form in _forms(asked):
                for number in self._same_letters(form):
                    score = _BY_LETTERS - _FOR_EACH_OTHER_SIGN * self._other_signs(form, number)
                    scores[number] = max(score, scores.get(number, 0.0))
        for name in (query, asked):
            scores.update(dict.fromkeys(self._originals.get(name, ()), _BY_ORIGINAL_NAME))
        exact = self._names.get(query, self._names.get(asked))
        if exact is not None:
            scores[exact] = _BY_NAME
        if not scores and len(asked) <= 2 * LONGEST_NAME:
            for form in _forms(asked):
                scores = scores or self._with_typos(form)
        return scores

    def _mentioned(self, sentence: str) -> Iterator[int]:
        """Give the tools that a sentence names with a word that can hardly be anything but a name."""
        for marked in _MARKED.findall(sentence):
            yield from self._lower.get("".join(marked).lower(), ())
        for token in _TOKEN.findall(sentence):
            name = token.rstrip(".:/-")
            if len(words(name[:LONGEST_NAME], wholes=False)) < 2:  # noqa: PLR2004  # one word is a word
                continue
            # A capital makes a name of a word: GitHub is no mention of a tool called github.
            separated = _SEPARATOR.search(name) is not None
            yield from self._lower.get(name.lower(), ()) if separated else self._originals.get(name, ())
            yield from self._full_letters.get(_without_prefix(name), ()) if separated else ()

    def _same_letters(self, form: str) -> set[int]:
        whole = letters(form)
        found = {*self._letters.get(whole, ()), *self._full_letters.get(whole, ())} if whole else set()
        short = _without_prefix(form)
        return found | {*self._letters.get(short, ()), *self._full_letters.get(short, ())} if short else found

    def _with_typos(self, form: str) -> dict[int, float]:
        key = letters(form)
        written = words(_PREFIXED.sub("", form, count=1), wholes=False)
        if not written or len(key) < _SHORTEST_FOR_ONE_TYPO:
            return {}
        typos = 1 + (len(key) >= _SHORTEST_FOR_TWO_TYPOS)
        wrong = {word for word in written if word not in self._words and terms(word)}
        if len(wrong) > 2 * typos:  # a slipped separator spoils two words
            return {}
        if len(key) < _SHORT and (is_dense(form) or any(term in self._vocabulary for term in terms(form))):
            return {}
        # Written as names are, it is one: then a single typo is one even if it makes another word.
        as_name = len(key) >= _SHORT and len(written) > 1 and not re.search(r"\s", form)
        scores: dict[int, float] = {}
        for number, distance, length in self._nearest(form, key, typos):
            if wrong or (as_name and distance == 1) or self._means_the_same(written, number):
                other = max(0, self._other_signs(form, number) - distance)
                score = _BY_TYPOS[distance] - _FOR_EACH_OTHER_SIGN * other
                # Of two that are equally near, the longer: letters are forgotten more often than made up.
                score -= _FOR_A_LETTER_TOO_MANY if length < len(key) else 0
                scores[number] = max(score, scores.get(number, 0.0))
        return scores

    def _nearest(self, form: str, key: str, typos: int) -> Iterator[tuple[int, int, int]]:
        """Give tools with how many typos they are away, and how long what was compared is."""
        for name, distance in self._near.find(key, typos):
            if len(name) >= _SHORTEST_TO_HAVE_TYPOS:
                yield from ((number, distance, len(name)) for number in self._letters[name])
        head = _NEAR_PREFIX.match(form)
        heads = {key: 0, _without_prefix(form): 0}
        if head and apart(head[1].lower(), _PREFIX) == 1:
            heads[letters(form[head.end() :])] = 1
        for rest, spent in heads.items():
            for name, distance in self._near_full.find(rest, typos - spent):
                for number in self._full_letters[name]:
                    yield number, max(1, distance + spent), len(name) + len(key) - len(rest)

    def _other_signs(self, form: str, number: int) -> int:
        """Count in how many signs, separators included, what was written differs from the name."""
        document = self._documents[number]
        original, server = document.original_name[:LONGEST_NAME], document.server[:LONGEST_NAME]
        ways = (document.name[:LONGEST_NAME], original, f"{server} {original}")
        return min(_MOST_OTHER_SIGNS, *(apart(form.casefold(), way.casefold()) for way in ways))

    def _means_the_same(self, written: Sequence[str], number: int) -> bool:
        """Say whether a name of known words is a slip: `get user` is none of `set_user`."""
        document = self._documents[number]
        name = words(document.original_name[:LONGEST_NAME], wholes=False)
        beginnings = {*name[:1], *words(document.server[:LONGEST_NAME], wholes=False)[:1]}
        return written[0] in beginnings or terms(" ".join(written)) == terms(" ".join(name))


def _forms(asked: str) -> list[str]:
    """Give what may be the name: all of it, and without arguments behind it and `the … tool` around it."""
    bare = _AROUND.sub("", _ARGUMENTS.sub("", asked)).strip()
    return [asked, bare] if bare and bare != asked else [asked]


def _without_prefix(name: str) -> str:
    """Give a name's letters without those of `mcp__`."""
    return letters(_PREFIXED.sub("", name, count=1))
