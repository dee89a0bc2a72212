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
from halflap.graph.naming.words import Words, is_plural, pieces_of, words_of

_PREFIXES = ("un", "re", "de")
_LISTING = frozenset({"list", "search", "find", "query"})
_STEM = 4


class Subject(NamedTuple):
    """A tool's verb and the things it is about."""

    verb: str
    """The first known verb as it is written; empty if there is none."""
    things: tuple[Words, ...]
    """Mostly one; two for `search_notes_and_folders`."""
    owner: Words = ()
    """The thing that a bare `id` identifies: the album in `get_album_tracks`."""

    @property
    def thing(self) -> Words:
        return self.things[0] if self.things else ()

    @property
    def creates(self) -> bool:
        return self.verb in CREATE_VERBS

    @property
    def destroys(self) -> bool:
        return self.verb in DESTROY_VERBS

    @property
    def lists(self) -> bool:
        return self.verb in _LISTING


NO_SUBJECT = Subject("", ())


def verb_at(pieces: list[str]) -> int | None:
    """Return the position of the first known verb in the pieces of a name."""
    return next((at for at, piece in enumerate(pieces) if _is_verb(piece)), None)


def _is_verb(piece: str) -> bool:
    if piece in READ_VERBS or piece in CHANGE_VERBS:
        return True
    return piece[:2] in _PREFIXES and len(piece) > _STEM and piece[2:] in CHANGE_VERBS


@lru_cache(maxsize=1 << 14)
def subject_of(name: str) -> Subject:
    """Read a tool's name: the nouns after its verb, or before it if none follow."""
    pieces = pieces_of(name)
    if len(pieces) > 1 and pieces[-2] == "v" and pieces[-1].isdigit():
        # `ListObjectsV2`
        pieces = pieces[:-2]
    at = verb_at(pieces)
    if at is None:
        verb, nouns = "", _nouns(pieces)
    else:
        # Where nothing else is named, what says how much is the thing: `get_lists`.
        after = pieces[at + 1 :]
        verb, nouns = pieces[at], _nouns(after) or _nouns(pieces[:at]) or ([after] if after else [])
    things = tuple(words_of("_".join(one)) for one in nouns)
    has_owner = bool(nouns) and len(nouns[0]) > 1 and is_plural(nouns[0][-1])
    return Subject(verb, things, things[0][:-1] if has_owner else things[0] if things else ())


def _nouns(pieces: list[str]) -> list[list[str]]:
    """Return the nouns up to the first linking word; `and` and `or` join several."""
    found: list[list[str]] = []
    nouns: list[str] = []
    for piece in [*pieces, "of"]:
        if piece not in LINKING:
            nouns.append(piece)
            continue
        while nouns and _is_aspect(nouns[0]):
            nouns = nouns[1:]
        while nouns and _is_aspect(nouns[-1]):
            nouns = nouns[:-1]
        if nouns:
            found.append(nouns)
        if piece not in {"and", "or"}:
            break
        nouns = []
    return found


def _is_aspect(piece: str) -> bool:
    return ASPECTS.issuperset(words_of(piece))
