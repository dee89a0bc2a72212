"""What a tool is about, as far as its name says: `get_member_details` is about members, `orders_list` about orders."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from halflap.graph.naming.vocabulary import (
    ASPECTS,
    CHANGE_VERBS,
    CREATE_VERBS,
    DESTROY_VERBS,
    LINKING,
    READ_VERBS,
)
from halflap.graph.naming.words import Words, pieces_of, words_of

__all__ = ["Subject", "subject_of", "verb_at"]

_PREFIXES = ("un", "re", "de")
_STEM = 4


class Subject(NamedTuple):
    """A tool's verb and the things that it is about."""

    verb: str
    """The first verb that is known, as it is written; empty where there is none."""
    things: tuple[Words, ...]
    """Mostly one; two for `search_issues_and_pull_requests`."""

    @property
    def thing(self) -> Words:
        return self.things[0] if self.things else ()

    @property
    def creates(self) -> bool:
        return self.verb in CREATE_VERBS

    @property
    def destroys(self) -> bool:
        return self.verb in DESTROY_VERBS


def verb_at(pieces: list[str]) -> int | None:
    """Return where the first known verb stands in the pieces of a name."""
    return next((at for at, piece in enumerate(pieces) if _is_verb(piece)), None)


def _is_verb(piece: str) -> bool:
    if piece in READ_VERBS or piece in CHANGE_VERBS:
        return True
    return piece[:2] in _PREFIXES and len(piece) > _STEM and piece[2:] in CHANGE_VERBS


@lru_cache(maxsize=1 << 14)
def subject_of(name: str) -> Subject:
    """Read the name of a tool: what follows its verb, or what comes before it where nothing does."""
    pieces = pieces_of(name)
    at = verb_at(pieces)
    if at is None:
        return Subject("", _things(pieces))
    return Subject(pieces[at], _things(pieces[at + 1 :]) or _things(pieces[:at]))


def _things(pieces: list[str]) -> tuple[Words, ...]:
    """Return the nouns up to the first linking word; `and` and `or` join several."""
    found: list[Words] = []
    nouns: list[str] = []
    for piece in [*pieces, "of"]:
        if piece not in LINKING:
            nouns.append(piece)
            continue
        words = words_of("_".join(nouns))
        while words and words[0] in ASPECTS:
            words = words[1:]
        while words and words[-1] in ASPECTS:
            words = words[:-1]
        if words:
            found.append(words)
        if piece not in {"and", "or"}:
            break
        nouns = []
    return tuple(found)
