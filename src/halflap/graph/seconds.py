"""A second one that a goal names beside one that is at hand: half of a command is not what was told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.graph.speech import CONDITIONS, DETERMINERS, FILLERS, LOOKS, PRONOUNS, QUESTIONS, TELLING
from halflap.graph.verbs import CHANGING, READING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.clauses import Clause, Said, Word
    from halflap.graph.hearing import Hearing

__all__ = ["SECOND", "second_of"]

SECOND = "it is named beside what is at hand, and would be left out: say all of them in `have`, as a list"
_VERBS = CHANGING | READING | LOOKS | TELLING | QUESTIONS | CONDITIONS
_SMALL = DETERMINERS | PRONOUNS
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]+")
_JOINED = ("and", "&")


def second_of(said: Said, hearing: Hearing) -> str:
    """Give what a goal names beside a value at hand that a tool takes, or that is written like one, and is not at hand."""
    taken: Word | None = None
    shapes: set[str] = set()
    for clause in said.clauses:
        if taken is not None and clause.joined and not _is_verb(clause):
            found = _another(clause, taken, hearing)
            if found:
                return found
        for word in _words(clause):
            if hearing.goes_into(word):
                taken = word
                shapes.add(_shape(word))
    unheld = (word for clause in said.clauses for word in _words(clause) if _is_open(word))
    # `update cows COW-1 to COW-3`; a number may be anything.
    return next((one.text for one in unheld if _is_code(one) and _shape(one) in shapes), "")


def _another(clause: Clause, taken: Word, hearing: Hearing) -> str:
    """Give the word by which what stands behind `and` or a comma, and is no command, names another one."""
    first = clause.first
    if first.names or first.said in _SMALL or first.said in FILLERS:
        return ""
    is_value = first.is_identifier or first.is_name
    if not is_value and hearing.hear(first).kind in {"told", "taken"}:
        return ""
    if is_value and (clause.joined in _JOINED or _shape(first) == _shape(taken)):
        return first.text
    if not clause.phrase:
        return first.text if _shape(first) == _shape(taken) else ""
    # `and cow COW-2`
    return next((one.text for one in clause.phrase if _is_open(one)), "")


def _is_verb(clause: Clause) -> bool:
    """Say whether a clause does something, by a verb that is known or by what comes behind it: `and wash her`."""
    first = clause.first
    if first.is_identifier or first.names:
        return False
    begins = clause.phrase[0] if clause.phrase else None
    return first.said in _VERBS or (begins is not None and (begins.said in _SMALL or bool(begins.names)))


def _words(clause: Clause) -> Iterator[Word]:
    yield clause.first
    yield from clause.phrase
    for tail in clause.tails:
        yield from tail.words


def _is_open(word: Word) -> bool:
    return not word.names and word.is_identifier and not word.is_mark


def _is_code(word: Word) -> bool:
    return bool(_DIGITS.search(word.text) and _LETTERS.search(word.text)) and not word.is_quoted


def _shape(word: Word) -> str:
    """Give how a word is written: `cow-9` for `COW-001`; one name is written like any other."""
    if word.is_plain:
        return "Name" if word.text[:1].isupper() else "word"
    return _DIGITS.sub("9", word.text).casefold()
