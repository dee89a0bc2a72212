"""What a tool is about, as far as its name says: `get_member_details` is about members, `customer_search` about customers."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from halflap.graph.vocabulary import (
    ABOUT,
    ALSO_NOUNS,
    AT_THE_END,
    CREATING,
    DELETING,
    IDENTIFYING,
    KINDS,
    LISTING,
    PREPOSITIONS,
    UPDATING,
    VERBS,
)
from halflap.graph.words import Words, is_plural, pieces_of, words_of

__all__ = ["Subject", "subject_of"]

_OWNERS = frozenset({"by", "for", "from", "in", "of", "on", "to"})


class Subject(NamedTuple):
    """What a tool is about."""

    thing: Words = ()
    """What it gives, finds or makes."""
    phrase: Words = ()
    """All that the name says of it, with the attribute that a bare result is: `user id`."""
    owner: Words = ()
    """Of what it is, where there is something that it is of: `get_comments_for_post`, `get_user_orders`."""
    is_many: bool = False
    """Whether it gives several."""
    is_vague: bool = False
    """Whether the name hardly says it: `presign`, or `search_acme` of a server of that name."""
    creates: bool = False
    """Whether it makes a new one."""
    updates: bool = False
    """Whether it changes one."""
    deletes: bool = False
    """Whether there is none any more, afterwards."""


@lru_cache(maxsize=1 << 16)
def subject_of(name: str, server: str) -> Subject:
    """Read a tool's name."""
    pieces = [piece for piece in pieces_of(name) if not piece.isdigit()]
    words = [words_of(piece) for piece in pieces]
    ours = {*words_of(server), "mcp"}
    verb, at = _verb(words)
    before, after = pieces[: max(at, 0)], pieces[at + 1 :]
    nouns, rest = _cut(after)
    if not nouns:
        nouns, _ = _cut(before)
    kept = [piece for piece in nouns if words_of(piece)[0] not in ABOUT] or nouns
    named = [piece for piece in kept if words_of(piece)[0] not in ours] or kept
    phrase = _joined(named)
    many = bool(named) and is_plural(named[-1])
    thing = phrase[:-1] if len(phrase) > 1 and (phrase[-1] in IDENTIFYING or phrase[-1] in KINDS) else phrase
    owner = _owner(rest)
    if not owner and many and len(named) > 1:
        owner = _joined(named[:-1])
    return Subject(
        thing=thing,
        phrase=_joined([piece for piece in nouns if words_of(piece)[0] not in ours]),
        owner=owner,
        is_many=many or verb in LISTING,
        is_vague=len(pieces) == 1 or not thing or ours.issuperset(thing),
        creates=verb in CREATING,
        updates=verb in UPDATING,
        deletes=verb in DELETING,
    )


def _verb(words: list[Words]) -> tuple[str, int]:
    """Give the verb and where it stands; -1 where there is none."""
    if len(words) == 1 and words[0] and words[0][0] in VERBS:
        return words[0][0], 0
    if len(words) > 1 and words[0] and words[0][0] in VERBS:
        last = words[-1][-1]
        if words[0][0] in ALSO_NOUNS and last in AT_THE_END and last not in ALSO_NOUNS:
            return last, len(words) - 1
        return words[0][0], 0
    for at, word in enumerate(words):
        if len(word) == 1 and word[0] in VERBS and word[0] not in ALSO_NOUNS:
            return word[0], at
    if words and words[-1] and words[-1][0] in AT_THE_END and len(words) > 1:
        return words[-1][0], len(words) - 1
    return "", -1


def _cut(pieces: list[str]) -> tuple[list[str], list[str]]:
    """Part nouns from what follows a preposition."""
    for at, piece in enumerate(pieces):
        if piece in PREPOSITIONS and (at or piece in _OWNERS):
            return pieces[:at], pieces[at:]
    return pieces, []


def _owner(rest: list[str]) -> Words:
    if len(rest) < 2 or rest[0] not in _OWNERS:  # noqa: PLR2004 -- a preposition and a noun
        return ()
    nouns, _ = _cut(rest[1:])
    words = _joined([piece for piece in nouns if words_of(piece)[0] not in ABOUT])
    if words and (words[-1] in IDENTIFYING or words[-1] in KINDS):
        # `get_shelf_by_id`: what it is looked up by, not what it is of.
        return words[:-1]
    return words


def _joined(pieces: list[str]) -> Words:
    return tuple(word for piece in pieces for word in words_of(piece))
