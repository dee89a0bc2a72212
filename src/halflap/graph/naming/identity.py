"""What a value identifies: an attribute of a thing, read from the name of a field or parameter and from what it is in."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from halflap.graph.naming.vocabulary import CONTAINERS, DISPLAY, IDENTIFIERS, SECRET_KEYS, SECRETS
from halflap.graph.naming.words import Words, words_of

__all__ = ["Identity", "is_abbreviation", "is_secret", "place_identity", "slot_identity"]

_SAME_ATTRIBUTE = {"uuid": "id", "uid": "id", "handle": "login", "ref": "reference"}
_SHORTEST_ABBREVIATION = 3
_LONGER, _MUCH_LONGER = 1.8, 2.5
"""How many times longer a word is than its short form, at least; of three letters only the second says enough."""


class Identity(NamedTuple):
    """`customer.id` and `customer_id` are both the `id` of a `customer`; `city` is a plain value."""

    thing: Words
    """What it belongs to; empty where no name says it."""
    attribute: str
    """The identifying attribute (`id`, `login`, `name`), or empty for any other value."""
    words: Words
    """The words of its own name."""
    is_direct: bool = True
    """Whether the thing is what the value stands in, rather than named by the value: `id`, not `customer_id`."""


def place_identity(keys: tuple[str, ...], subject: tuple[Words, ...]) -> tuple[Identity, ...]:
    """Return what a field of a result identifies, given the keys that lead to it and what its tool is about.

    A bare value is named by its tool. Keys such as `items` name no thing, so the ones around them do, or the tool.
    """
    if not keys:
        return tuple(_identity(words, (), is_direct=False) for words in subject)
    own = words_of(keys[-1])
    inside = _inside(keys[:-1])
    return tuple(_identity(own, thing) for thing in ((inside,) if inside else subject or ((),)))


def slot_identity(keys: tuple[str, ...], subject: tuple[Words, ...]) -> Identity:
    """Return what a parameter takes, or a key inside one; a bare `id` is that of the thing its tool is about."""
    own = words_of(keys[-1]) if keys else ()
    return _identity(own, _inside(keys[:-1]) or (subject[0] if subject else ()))


@lru_cache(maxsize=1 << 14)
def _inside(keys: tuple[str, ...]) -> Words:
    for name in reversed(keys):
        words = words_of(name)
        if words and not CONTAINERS.issuperset(words):
            return words
    return ()


@lru_cache(maxsize=1 << 16)
def _identity(own: Words, thing: Words, *, is_direct: bool = True) -> Identity:
    last = own[-1] if own else ""
    if last not in IDENTIFIERS and last not in DISPLAY:
        return Identity(thing, "", own, is_direct)
    attribute = _SAME_ATTRIBUTE.get(last, last)
    if len(own) == 1 or own[:-1] == thing:
        return Identity(thing, attribute, own, is_direct)
    return Identity(own[:-1], attribute, own, is_direct=False)


def is_secret(words: Words) -> bool:
    """Return whether a name is that of a password, token or key, which no other result supplies."""
    return not SECRETS.isdisjoint(words) or (words[-1:] == ("key",) and not SECRET_KEYS.isdisjoint(words))


@lru_cache(maxsize=1 << 16)
def is_abbreviation(short: str, long: str) -> bool:
    """Return whether a word is a short form of another: `org` of `organization`, but not `repo` of `report`."""
    least = _LONGER if len(short) > _SHORTEST_ABBREVIATION else _MUCH_LONGER
    return len(short) >= _SHORTEST_ABBREVIATION and len(long) >= least * len(short) and long.startswith(short)
