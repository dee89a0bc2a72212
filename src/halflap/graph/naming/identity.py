"""What a value identifies: an attribute of a thing, read from the name of a field or parameter and from what it is in."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.naming.vocabulary import (
    CONTAINERS,
    DISPLAY,
    IDENTIFIERS,
    PERSONS,
    ROLES,
    SECRET_KEYS,
    SECRETS,
)
from halflap.graph.naming.words import Words, words_of

if TYPE_CHECKING:
    from halflap.graph.naming.subject import Subject

__all__ = ["Identity", "is_secret", "place_identities", "related", "slot_identities"]

_SAME_ATTRIBUTE = dict.fromkeys(("uuid", "uid", "gid", "sid"), "id") | {"handle": "login", "ref": "reference"}
_LISTED = 0.9
"""The items of the list that a tool is asked for are what the tool is about, whatever the list is called."""
_LEADING = 0.6
"""A bare `name` of `read_pod_log` may be the name of a pod."""
_QUALIFIED = 0.9
"""One thing is a kind of the other: `source account` and `account`."""
_SHORT_FORM = 0.97
"""One is a short form of the other: `org`."""
_ROLE, _PERSON = 0.88, 0.75
"""An assignee is a user; a user may be an owner."""
_SHORTEST_ABBREVIATION = 3
_LONGER, _MUCH_LONGER = 1.8, 2.5
"""How many times longer a word is than its short form, at least; for three letters the second."""


class Identity(NamedTuple):
    """`customer.id` and `customer_id` are both the `id` of a `customer`; `city` is a plain value."""

    thing: Words
    """What it belongs to; empty if no name tells."""
    attribute: str
    """The identifying attribute (`id`, `login`, `name`), or empty for any other value."""
    words: Words
    """Its own name."""
    certainty: float = 1.0
    """How likely this reading of the name is."""

    @property
    def is_direct(self) -> bool:
        """Whether the thing is the object around the value, rather than part of its name: `id`, not `customer_id`."""
        return len(self.words) == 1


def place_identities(
    keys: tuple[str, ...], subject: Subject, *, is_listed: bool = False
) -> tuple[Identity, ...]:
    """Return what a field of a result may identify, given the keys that lead to it and what its tool is about.

    A bare value is named by its tool. Keys such as `items` name nothing, so the ones around them do, or the tool.
    `is_listed` says that the field belongs to the items of the list that the tool is asked for.
    """
    if not keys:
        return tuple(_identity(words, ()) for words in subject.things)
    own = words_of(keys[-1])
    inside = _inside(keys[:-1])
    if not inside:
        return tuple(_identity(own, thing) for thing in subject.things or ((),))
    found = _identity(own, inside)
    if is_listed and found.attribute and len(own) == 1 and inside not in subject.things:
        others = (_identity(own, thing)._replace(certainty=_LISTED) for thing in subject.things)
        return (found, *others)
    return (found,)


def slot_identities(keys: tuple[str, ...], subject: Subject) -> tuple[Identity, ...]:
    """Return what a parameter, or a key inside one, may take; a bare `id` is that of the thing its tool is about."""
    own = words_of(keys[-1]) if keys else ()
    inside = _inside(keys[:-1]) or subject.owner
    names = [own]
    if "or" in own:
        # `issueIdOrKey`
        first, last = own[: own.index("or")], own[own.index("or") + 1 :]
        names = [first, last if len(last) > 1 else (*first[:-1], *last)]
    found = [_identity(one, inside) for one in names]
    if len(keys) == 1 and found[0].attribute and len(own) == 1 and inside == subject.thing and inside[1:]:
        found.append(_identity(own, inside[:-1])._replace(certainty=_LEADING))
    return tuple(found)


@lru_cache(maxsize=1 << 14)
def _inside(keys: tuple[str, ...]) -> Words:
    for name in reversed(keys):
        words = words_of(name)
        if words and not CONTAINERS.issuperset(words):
            return words
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
    return not SECRETS.isdisjoint(words) or (words[-1:] == ("key",) and not SECRET_KEYS.isdisjoint(words))


@lru_cache(maxsize=1 << 16)
def related(given: Words, asked: Words) -> float:
    """Return how far two names of things mean the same: 1 if they are equal, 0 if they are unrelated."""
    if not given or not asked:
        return 0.0
    if given == asked:
        return 1.0
    short, long = sorted((given, asked), key=len)
    if long[-len(short) :] == short:
        return _QUALIFIED
    last, end = given[-1], asked[-1]
    if _is_abbreviation(last, end) or _is_abbreviation(end, last):
        return _SHORT_FORM if given[:-1] == asked[:-1] else _QUALIFIED * _SHORT_FORM
    if end in PERSONS and (last in ROLES or last in PERSONS):
        return _ROLE
    return _PERSON if last in PERSONS and end in ROLES else 0.0


def _is_abbreviation(short: str, long: str) -> bool:
    """Return whether a word is a short form of another: `org` of `organization`, but not `repo` of `report`."""
    least = _LONGER if len(short) > _SHORTEST_ABBREVIATION else _MUCH_LONGER
    return len(short) >= _SHORTEST_ABBREVIATION and len(long) >= least * len(short) and long.startswith(short)
