"""What a tool is about, as far as its name says: `get_member_details` is about members, `orders_list` about orders."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise, takewhile
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
_SEPARATORS = frozenset("_.-:/")
_STEM = 4
_ID = frozenset({"id", "ids"})
_METHODS = frozenset({"get", "post", "put", "patch", "delete"})
"""Some frameworks name a tool after a function, its path and its method."""


class Subject(NamedTuple):
    """A tool's verb and the things it is about."""

    verb: str
    """The first known verb as it is written; empty if there is none."""
    things: tuple[Words, ...]
    """Mostly one; two for `search_notes_and_folders`."""
    other_things: tuple[Words, ...] = ()
    """Second readings: `get_task_list` is mostly about several tasks, but may be about a task list."""
    owner: Words = ()
    """The thing that a bare `id` identifies: the album in `get_album_tracks` and in `GetAlbumsIdTracks`."""
    returns: tuple[Words, ...] = ()
    """What a bare result is, with words that are no part of a thing: `account id`."""
    is_many: bool = False
    """Whether the name says that it is about several: the tracks in `get_album_tracks`."""

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
    pieces = _without_version(pieces_of(name))
    at = verb_at(pieces)
    # Where nothing else is named, what says how much is the thing: `get_lists`.
    after = [] if at is None else pieces[at + 1 :]
    verb = "" if at is None else pieces[at]
    before = _nouns(pieces[:at])
    nouns = _nouns(after) or before or ([after] if after else [])
    returns = tuple(words_of("_".join(one)) for one in nouns)
    things = tuple(words_of("_".join(_thing(one))) for one in nouns)
    owner = _owner(nouns[0]) if nouns else ()
    return Subject(verb, things, _other_things(after, things), owner, returns, _is_many(nouns, before))


def _without_version(pieces: list[str]) -> list[str]:
    """Leave out the version of `ListObjectsV2` and `getV3Projects`, and the path of `list_items_api_v1_items_get`."""
    at = next((at for at, (one, two) in enumerate(pairwise(pieces)) if one == "v" and two.isdigit()), None)
    if at is None:
        return pieces
    before = pieces[:at]
    if verb_at(before) == 0 and before[1:] and pieces[-1] in _METHODS:
        return before[:-1] if before[-1] == "api" else before
    return before + pieces[at + 2 :]


def _other_things(pieces: list[str], things: tuple[Words, ...]) -> tuple[Words, ...]:
    """Return the nouns with the words that say how much is meant, and without the last of them."""
    whole = words_of("_".join(takewhile(lambda one: one not in LINKING, pieces)))
    shorter = whole[:-1] if whole[-1:] and whole[-1] in _LISTING | ASPECTS else ()
    return tuple(one for one in (whole, shorter) if one and one not in things)


def without_prefix(name: str, server: str) -> str:
    """Return a tool's name without the server's at its beginning: `drive.files.list` of `drive`."""
    rest = name[len(server) :]
    is_prefixed = name[: len(server)].casefold() == server.casefold() and rest[:1] in _SEPARATORS
    return rest[1:] if is_prefixed and rest[1:] else name


def _thing(nouns: list[str]) -> list[str]:
    """Return the nouns of a thing, without what comes from a path: `GetTransfersIdReversals`, `GetCustomersSearch`."""
    found = [one for one in nouns if one not in _ID] or nouns
    return found[:-1] if found[-1] in _LISTING and found[1:] and is_plural(found[-2]) else found


def _owner(nouns: list[str]) -> Words:
    at = next((at for at, one in enumerate(nouns) if at and one in _ID), len(nouns))
    if at == len(nouns):
        nouns = _thing(nouns)
        at = len(nouns) - 1 if len(nouns) > 1 and is_plural(nouns[-1]) else len(nouns)
    return words_of("_".join(nouns[:at]))


def _is_many(nouns: list[list[str]], before: list[list[str]]) -> bool:
    # Names that begin with a noun have a group there: `tickets_get`.
    return nouns is not before and any(is_plural(one[-1]) for one in nouns)


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
        # In `get_list_of_users`, only what comes after `of` is a thing.
        if piece not in {"and", "or"} and (found or piece != "of"):
            break
        nouns = []
    return found


def _is_aspect(piece: str) -> bool:
    return ASPECTS.issuperset(words_of(piece))
