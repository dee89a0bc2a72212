"""What the name of a place or of a slot may mean: texts that are compared, each with how sure that reading is.

A reading is a name with what it is of: `customer.id`, `customers[].id` and `customer_id` all read `customer id`. A bare
value in `reservations[]` reads `reservation`, and less surely `reservation id`.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.edge import EACH
from halflap.graph.vocabulary import (
    ADDRESSED,
    BECOMING,
    CHANGING,
    CONTAINERS,
    CONTENT,
    ELIDED,
    EXPRESSED,
    IDENTIFYING,
    KINDS,
    PERSONS,
    PREPOSITIONS,
    ROLES,
    SHOWN,
    THINGS,
    telling,
)
from halflap.graph.words import Words, phrase, words_in, words_of, words_of_text

if TYPE_CHECKING:
    from halflap.graph.edge import Path
    from halflap.graph.subject import Subject

__all__ = ["ASKED", "Reading", "Where", "own_words", "place_readings", "slot_readings", "where"]

_WEAK = 0.7
"""A name that tells less than this needs something beside it."""
_HEAD = 0.9
_PART = 0.75
_ROLE = 0.95
_CONTAINED = 0.9
_INSIDE = 0.6
_PERSON = 0.7
_OF_TOOL = 0.9
_BESIDE_TOOL = 0.85
_VALUE = 0.6
_NUMBERED = 0.75
_SAID = 0.8
_SAME = 0.85
_ADDRESS = 0.65
_NAMED_AS_THING = 0.85
_NAMING = (*IDENTIFYING.items(), ("email", _ADDRESS))
_FORMATS = {"uri": "url", "url": "url", "email": "email", "uuid": "id"}
ASKED = "!"
"""Before the key of a bare result that a tool is for."""
_LENGTH_OF_COLLECTION = 2
_THING = 0.45
_LONGEST_SAID = 300


class Reading(NamedTuple):
    """One thing that a name may mean."""

    key: str
    weight: float
    own: bool = False
    """Whether it is the name itself, with nothing added and nothing left out."""


class Where(NamedTuple):
    """What a path says by itself."""

    name: str
    """The last name on it."""
    own: Words
    """The words of that."""
    parents: tuple[Words, ...]
    """Those of the names before."""
    into_list: int
    """How many steps lead into the first list or map on it; 0 for none."""
    is_named: bool
    """Whether it ends in a name."""


@lru_cache(maxsize=1 << 16)
def where(path: Path) -> Where:
    """Read a path."""
    keys = [step.key for step in path if step.kind == "key"]
    names = [words_of(key) for key in keys]
    return Where(
        keys[-1] if keys else "",
        names[-1] if names else (),
        tuple(names[:-1]),
        next((at + 1 for at, step in enumerate(path) if step.kind != "key"), 0),
        bool(path) and path[-1].kind == "key",
    )


@lru_cache(maxsize=1 << 16)
def own_words(path: Path) -> Words:
    """Give the words of the last name on a path."""
    return next((words_of(step.key) for step in reversed(path) if step.kind == "key"), ())


@lru_cache(maxsize=1 << 17)
def place_readings(
    path: Path, subject: Subject, kind: str, form: str | None, is_only: bool
) -> tuple[Reading, ...]:
    """Read what a place of a result is.

    `kind` is `object`, `integer`, … and `form` the format, if any. `is_only` says that the place is in the only list
    that the result has.
    """
    found: dict[str, Reading] = {}
    if path and path[-1].kind == "key":
        _named(found, path, subject, kind, is_only=is_only)
        if kind == "object":
            found = {key: one for key, one in found.items() if one.own or one.weight == 1}
    elif kind != "object":
        _bare(found, path, subject, kind, form, is_only=is_only)
    elif path:
        _add(found, own_words(path), 1.0, own=True)
    _of_own_thing(found, subject, ends_here=subject.deletes)
    return tuple(found.values())


_OWN_NAMES = ("id", "code", "key", "slug", "uuid")
"""What one of a kind of things is told from the others by."""


@lru_cache(maxsize=1 << 17)
def slot_readings(path: Path, subject: Subject, kind: str, description: str) -> tuple[Reading, ...]:
    """Read what a slot takes."""
    names = [step.key for step in path if step.kind == "key"]
    own = words_of(names[-1])
    found: dict[str, Reading] = {}
    if not own:
        return ()
    _add(found, own, 1.0, own=True)
    if kind == "object":
        return tuple(found.values())
    if len(own) == 1 and own[0] in KINDS:
        found[ASKED + own[0]] = Reading(ASKED + own[0], 1.0)
    _said(found, own, description, creates=subject.creates)
    shortened = [] if _is_to_become(own) else _shortened(own)
    if telling(own) < _WEAK or len(own) == 1:
        for words, weight in _things_around(names[:-1], own, subject):
            _add(found, _of(words, own), weight)
    if own[-2:] == ("user", "name"):
        _add(found, ("user", "login"), _SAME)
    for words, weight in [(own, 1.0), *shortened]:
        _add(found, words, weight, own=words is own)
        if _is_thing(words, kind):
            for attribute, sure in _NAMING:
                _add(found, (*words, attribute), weight * sure)
    _of_own_thing(found, subject, ends_here=subject.creates)
    return tuple(found.values())


def _of_own_thing(found: dict[str, Reading], subject: Subject, *, ends_here: bool) -> None:
    """Note what names the very thing that a tool is about: between two that are, it says enough, whatever the word is.

    `ends_here`: what is made anew has no name from others, and what is gone has none for them.
    """
    for attribute in _OWN_NAMES if subject.thing and not ends_here else ():
        known = found.get(phrase((*subject.thing, attribute)))
        if known is not None and known.weight == 1:
            found[ASKED + known.key] = Reading(ASKED + known.key, 1.0)


def _things_around(parents: list[str], own: Words, subject: Subject) -> list[tuple[Words, float]]:
    """Give what a slot may be of: what it is inside of, else what its tool is about."""
    inside = [words for words in map(words_of, parents) if words and not set(words) <= CONTAINERS]
    if inside:
        return [(inside[-1], 1.0)]
    if own[-1] not in IDENTIFYING and own[-1] not in KINDS:
        # What state a ticket is in says nothing of which: as a parameter it is a filter, or what it is to become.
        return []
    if subject.creates:
        # The name or the path of what is made anew is nobody else's.
        return [(subject.owner, _BESIDE_TOOL)] if subject.owner else []
    found = [(subject.owner, _OF_TOOL)] if subject.owner else []
    if subject.thing and not (subject.owner and subject.is_many):
        found += [(words, weight * _OF_TOOL) for words, weight in _variants(subject.thing, elide=True)]
        if subject.thing[-1] in SHOWN and len(subject.thing) > 1:
            found.append((subject.thing[:-1], _OF_TOOL))
    return found


def _said(found: dict[str, Reading], own: Words, description: str, *, creates: bool) -> None:
    """Read of what kind a value is, or of what, where the description says it and the name does not."""
    if len(own) == 1 and own[0] in IDENTIFYING and not creates:
        _said_of(found, own[0], description)
    if not description or (telling(own) >= _WEAK and own[-1] not in ADDRESSED):
        return
    said = words_in(description[:_LONGEST_SAID])
    for kind in ("email", "url"):
        if kind in said and kind not in own and (own[-1] in ROLES or own[-1] in ADDRESSED):
            _add(found, (kind,), _SAID)


def _said_of(found: dict[str, Reading], own: str, description: str) -> None:
    """Read of what thing a value is: `An array of entity names`."""
    text = description[:_LONGEST_SAID]
    for thing, attribute in pairwise(words_of_text(text)) if own in text.casefold() else ():
        if attribute == own and thing not in PREPOSITIONS and _is_thing((thing,), "string"):
            _add(found, (thing, attribute), _SAID)


def _named(found: dict[str, Reading], path: Path, subject: Subject, kind: str, *, is_only: bool) -> None:
    names = [step.key for step in path if step.kind == "key"]
    own = words_of(names[-1])
    if not own:
        return
    _add(found, own, 1.0, own=True)
    for words, weight in _shortened(own):
        _add(found, words, weight)
    if own == ("login",):
        _add(found, ("user", "login"), _SAME)
    if len(own) > 1 and own[-2] in PERSONS and own[-1] in IDENTIFYING:
        _add(found, ("user", own[-1]), _PERSON)
    if kind in {"string", "integer"} and len(own) == 1 and _is_thing(own, kind):
        # `customer` is as often the customer's id, or its name.
        for attribute in ("id", "name"):
            _add(found, (*own, attribute), _NAMED_AS_THING * IDENTIFYING[attribute])
    if telling(own) < _WEAK or len(own) == 1:
        _around(found, own, path, subject, is_only=is_only)


def _around(found: dict[str, Reading], own: Words, path: Path, subject: Subject, *, is_only: bool) -> None:
    """Read a name together with what it is of: what it is inside of, or what its tool is about."""
    parents = where(path).parents
    weight = 1.0
    for around in reversed(parents):
        for words, sure in _variants(around, elide=True):
            _add(found, _of(words, own), weight * sure)
        if around and around[-1] in PERSONS and own[-1] in IDENTIFYING:
            _add(found, ("user", *own), weight * _PERSON)
        if not around or not CONTAINERS.issuperset(around):
            break
        # The items of an order are other things than orders.
        weight *= _CONTAINED if subject.is_many or EACH not in path else _INSIDE
    else:
        _of_tool(found, own, subject, weight)
        return
    is_collection = len(parents) == 1 and path[1].kind == "each"
    if is_collection and is_only and subject.is_many:
        # `members[].id` of `list_users`.
        _of_tool(found, own, subject, _BESIDE_TOOL)


def _of_tool(found: dict[str, Reading], own: Words, subject: Subject, weight: float) -> None:
    for words, sure in _variants(subject.thing, elide=True):
        _add(found, _of(words, own), weight * sure * _OF_TOOL)


def _bare(
    found: dict[str, Reading], path: Path, subject: Subject, kind: str, form: str | None, *, is_only: bool
) -> None:
    """Read a value that has no name of its own: an item of a list, a key or a value of a map, a whole result."""
    seen = where(path)
    name, sure = seen.own, 1.0
    if name and all(CONTAINERS.issuperset(words) for words in (name, *seen.parents)):
        name, sure = (), _CONTAINED
    if not path:
        _whole(found, subject, kind, form)
    elif path[-1].kind == "value":
        _add(found, name or subject.thing, _VALUE)
    elif name and (name[-1] in IDENTIFYING or name[-1] in KINDS):
        # `objectIDs[]` says itself what its items are.
        for words, weight in [(name, 1.0), *_shortened(name)]:
            _add(found, words, weight, own=words is name)
    elif name:
        _one_of(found, name, 1.0, form)
        _add(found, name, 1.0, own=True)
    if path and subject.thing and kind != "integer":
        beside = is_only and subject.is_many and len(path) == _LENGTH_OF_COLLECTION
        if path[-1].kind != "value" and (not name or beside):
            _one_of(found, subject.thing, sure * _OF_TOOL, form)


def _one_of(found: dict[str, Reading], thing: Words, weight: float, form: str | None) -> None:
    """Read a bare value as what one of some things is known by."""
    for words, part in _variants(thing, elide=True):
        _add(found, words, weight * part)
        for attribute, likely in IDENTIFYING.items():
            _add(found, (*words, attribute), weight * part * likely)
    if form in _FORMATS:
        for words, part in _variants(thing, elide=False):
            _add(found, (*words, _FORMATS[form]), weight * part)
        _add(found, (_FORMATS[form],), weight * _SAID)


def _whole(found: dict[str, Reading], subject: Subject, kind: str, form: str | None) -> None:
    """Read a bare result: it is what the tool's name ends in, or what its format and the tool's thing make of it.

    The text that a tool answers with may as well be a sentence: of `create_invoice` it is no identifier.
    """
    said = subject.phrase
    if subject.is_many:
        # The locations of a trial, as one text, are no location.
        return
    if said and (said[-1] in IDENTIFYING or said[-1] in KINDS):
        _add(found, said, 1.0, own=True)
        for start in range(1, len(said)):
            _add(found, said[start:], _HEAD)
        # To tell this is all that the tool is for, so that even a name that says little says enough.
        found[ASKED + said[-1]] = Reading(ASKED + said[-1], 1.0)
    if form in _FORMATS:
        for words, weight in _variants(subject.thing, elide=False):
            _add(found, (*words, _FORMATS[form]), weight)
        _add(found, (_FORMATS[form],), _SAID)
    elif kind == "integer" and subject.creates and subject.thing:
        _add(found, (*subject.thing, "id"), _NUMBERED)


def _shortened(own: Words) -> list[tuple[Words, float]]:
    """Give the name without what says which one it is: `billing_address`, `from_account_id`."""
    found: list[tuple[Words, float]] = []
    weight = 1.0
    for start in range(1, len(own)):
        if own[start - 1] in CHANGING:
            break
        weight *= _ROLE if own[start - 1] in ROLES else _PART
        rest = own[start:]
        if telling(rest) >= _WEAK or (rest[-1] in KINDS and telling(rest) > 1 - _WEAK):
            found.append((rest, weight))
    return found


def _is_to_become(own: Words) -> bool:
    """Say whether a slot takes what something is to be expressed in: that is not what it is expressed in now."""
    kind = own[-2:-1] if own[-1] in IDENTIFYING else own[-1:]
    return not EXPRESSED.isdisjoint(kind) and not BECOMING.isdisjoint(own[: -len(kind)])


def _variants(thing: Words, *, elide: bool) -> list[tuple[Words, float]]:
    """Give a thing, the kind of thing that it is, and what it is called where the last word is left out."""
    if not thing:
        return []
    found = [(thing, 1.0)]
    if len(thing) > 1:
        found.append((thing[-1:], _HEAD))
        if elide and thing[-1] in ELIDED:
            found.append((thing[:-1], _PART))
    return found


def _is_thing(words: Words, kind: str) -> bool:
    """Say whether a name is that of a thing, so that its value may be whatever names the thing."""
    last = words[-1]
    if last in CONTENT or last in IDENTIFYING or last in KINDS:
        return False
    return telling((last,)) >= _THING or (kind == "string" and last in THINGS)


def _of(thing: Words, own: Words) -> Words:
    """Put a name behind what it is of, without saying a word twice: `parcels[].parcel_number`."""
    for length in range(min(len(thing), len(own)), 0, -1):
        if thing[-length:] == own[:length]:
            return (*thing, *own[length:])
    return (*thing, *own)


def _add(found: dict[str, Reading], words: Words, weight: float, *, own: bool = False) -> None:
    key = phrase(words)
    known = found.get(key)
    if key and (known is None or known.weight < weight or (own and not known.own and known.weight == weight)):
        found[key] = Reading(key, weight, own)
