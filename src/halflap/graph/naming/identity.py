"""What a value identifies: an attribute of an entity, read from the names of a field or parameter and its parents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.naming.vocabulary import (
    CONTAINERS,
    DISPLAY,
    IDENTIFIERS,
    LINKING,
    PERSONS,
    ROLES,
    SECRET_KEYS,
    SECRETS,
)
from halflap.graph.naming.words import Words, words_in_text, words_of

if TYPE_CHECKING:
    from halflap.graph.naming.subject import Subject

_SAME_ATTRIBUTE = dict.fromkeys(("uuid", "uid", "gid", "sid"), "id") | {"handle": "login", "ref": "reference"}
_LEADING = 0.6
"""How likely a bare `name` of `read_pod_log` is the name of a pod."""
_UNQUALIFIED = 0.9
"""How likely the `backup` of `get_mongo_backup` may be a backup of another kind."""
_ARTICLES = frozenset({"a", "an", "the", "this", "your"})
_NO_NOUNS = LINKING | _ARTICLES | {"that", "unique", "where", "which", "whose"}
_SHORTEST_ABBREVIATION = 3
_LONGER, _MUCH_LONGER = 1.8, 2.5
"""How many times longer a word is than its short form, at least; for three letters the second."""


class Identity(NamedTuple):
    """`customer.id` and `customer_id` are both the `id` of a `customer`; `city` is a plain value."""

    thing: Words
    """The entity that it belongs to; empty if unknown."""
    attribute: str
    """The identifying attribute (`id`, `login`, `name`), or empty for any other value."""
    words: Words
    """Its own name."""
    certainty: float = 1.0
    """How likely this reading of the name is."""

    @property
    def named(self) -> Words:
        """The entity that it identifies, or its own name."""
        return self.thing if self.attribute else self.words

    @property
    def is_direct(self) -> bool:
        """Whether the thing is the object around the value, rather than part of its name: `id`, not `customer_id`."""
        return len(self.words) == 1


def place_identities(
    keys: tuple[str, ...], subject: Subject, *, is_own: bool = False
) -> tuple[Identity, ...]:
    """Return what a field of a result may identify, given the keys that lead to it and what its tool is about.

    A bare value is named by its tool. Keys such as `items` name nothing, so the ones around them do, or the tool. If
    `is_own`, the field belongs to the tool's own thing: the `actions[].id` of `list_image_actions` are of image actions.
    """
    if not keys:
        return tuple(_identity(words, ()) for words in subject.returns)
    own = words_of(keys[-1])
    found = tuple(_identity(own, thing) for thing in things_around(keys[:-1], subject))
    if not is_own or len(own) > 1 or not found[0].attribute:
        return found
    short = found[0].thing
    return _qualified(found, [one for one in subject.things if short and one[-len(short) :] == short])


def _qualified(found: tuple[Identity, ...], things: Sequence[Words]) -> tuple[Identity, ...]:
    """Add readings with a longer name of the thing; the thing of the short name may be of another kind."""
    longer = [found[0]._replace(thing=one) for one in things if one != found[0].thing]
    return (*(one._replace(certainty=_UNQUALIFIED) for one in found), *longer) if longer else found


def things_around(keys: tuple[str, ...], subject: Subject) -> tuple[Words, ...]:
    """Return what the object at the end of these keys may be; one empty name if that is unknown."""
    inside = _inside(keys)
    if inside:
        return (inside,)
    return (*subject.things, *subject.other_things) or ((),)


@lru_cache(maxsize=1 << 14)
def slot_identities(keys: tuple[str, ...], subject: Subject) -> tuple[Identity, ...]:
    """Return what a parameter, or a key inside one, may take; a bare `id` is that of the thing its tool is about."""
    own = words_of(keys[-1]) if keys else ()
    # `name` is that of the thing itself: of the environment in `postProjectsIdEnvironments`, where `id` is the project's.
    inside = _inside(keys[:-1]) or (subject.thing if own[-1:] and own[-1] in DISPLAY else subject.owner)
    names = [own]
    if "or" in own:
        # `issueIdOrKey`
        first, last = own[: own.index("or")], own[own.index("or") + 1 :]
        names = [first, last if len(last) > 1 else (*first[:-1], *last)]
    found = tuple(_identity(one, inside) for one in names)
    if len(keys) > 1 or not found[0].attribute:
        return found
    if len(own) > 1:
        # The `backup_id` of `get_mongo_backup` is that of a mongo backup.
        return _qualified(found, [_with_words_before(found[0].thing, subject.thing)])
    if inside == subject.thing and inside[1:]:
        return (*found, _identity(own, inside[:-1])._replace(certainty=_LEADING))
    return found


def _with_words_before(thing: Words, whole: Words) -> Words:
    """Return a thing with the words that come before it in a longer name."""
    starts = range(len(whole) - len(thing) + 1) if thing else ()
    at = next((at for at in starts if whole[at : at + len(thing)] == thing), 0)
    return whole[:at] + thing


@lru_cache(maxsize=1 << 13)
def described_identities(description: str) -> tuple[Identity, ...]:
    """Return the identifiers that a description names: `a commit SHA`, `ID of the workflow state to update`."""
    words = words_in_text(description)
    found: list[Identity] = []
    for at, word in enumerate(words):
        if word not in IDENTIFIERS and word not in DISPLAY:
            continue
        if words[at + 1 : at + 2] in (["of"], ["for"]):
            start = at + 3 if words[at + 2 : at + 3] and words[at + 2] in _ARTICLES else at + 2
            end = next((end for end in range(start, len(words)) if words[end] in _NO_NOUNS), len(words))
            found += [_identity((word,), tuple(words[start:end]))] if start < end else []
        elif at and words[at - 1] not in _NO_NOUNS:
            found.append(_identity((word,), (words[at - 1],)))
    return tuple(found)


@lru_cache(maxsize=1 << 14)
def _inside(keys: tuple[str, ...]) -> Words:
    for name in reversed(keys):
        words = words_of(name)
        if words and not CONTAINERS.issuperset(words):
            # `playback_ids[].id` is that of a playback.
            return words[:-1] if words[-1] == "id" and words[1:] else words
    return ()


@lru_cache(maxsize=1 << 16)
def _identity(own: Words, thing: Words) -> Identity:
    last = own[-1] if own else ""
    if last not in IDENTIFIERS and last not in DISPLAY:
        return Identity(thing, "", own)
    attribute = _SAME_ATTRIBUTE.get(last, last)
    return Identity(own[:-1] if len(own) > 1 else thing, attribute, own)


def is_secret(words: Words) -> bool:
    """Return whether a name is that of a password, token or key, which no other result supplies."""
    if words[-1:] and words[-1] in IDENTIFIERS - {"key", "code"}:
        return False
    return not SECRETS.isdisjoint(words) or (words[-1:] == ("key",) and not SECRET_KEYS.isdisjoint(words))


@lru_cache(maxsize=1 << 16)
def doubts(given: Words, asked: Words) -> int | None:
    """Return how doubtful it is that two names of things mean the same: 0 if they are equal, None if they do not.

    They may if one is a kind of the other (`source account`), a short form (`org`), or the role of a person; that a
    person has a certain role is doubly doubtful.
    """
    # The properties for an organization are none.
    given = given[: next((at for at, word in enumerate(given[:-1]) if at and word in LINKING), len(given))]
    if not given or not asked:
        return None
    if given == asked or "".join(given) == "".join(asked):
        return 0
    short, long = sorted((given, asked), key=len)
    last, end = given[-1], asked[-1]
    is_short_form = given[:-1] == asked[:-1] and (_is_abbreviation(last, end) or _is_abbreviation(end, last))
    if long[-len(short) :] == short or is_short_form:
        return 1
    if end in PERSONS and (last in PERSONS or last in ROLES):
        return 1
    return 2 if last in PERSONS and end in ROLES else None


def _is_abbreviation(short: str, long: str) -> bool:
    """Return whether a word is a short form of another: `org` of `organization`, but not `repo` of `report`."""
    least = _LONGER if len(short) > _SHORTEST_ABBREVIATION else _MUCH_LONGER
    return len(short) >= _SHORTEST_ABBREVIATION and len(long) >= least * len(short) and long.startswith(short)
