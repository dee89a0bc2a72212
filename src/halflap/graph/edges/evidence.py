"""How certain it is that a field of a result is what a parameter asks for, from names and types alone.

The weights are the whole model. `bench/bench_links.py` fits and cross-validates them on real APIs.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.graph.edges.model import Evidence
from halflap.graph.naming import (
    is_abbreviation,
    is_secret,
    phrase,
    place_identity,
    slot_identity,
    words_of,
    words_of_text,
)
from halflap.graph.naming.vocabulary import DISPLAY, IDENTIFIERS, SELF_NAMING, VAGUE
from halflap.graph.paths import keys_of
from halflap.graph.types import Form, conflict, form_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halflap.graph.naming import Identity, Words
    from halflap.graph.paths import Path
    from halflap.graph.ports import Place, Ports, Slot
    from halflap.schema import Type

__all__ = [
    "COMPANION",
    "LEAST",
    "Features",
    "Given",
    "Taken",
    "given_of",
    "name_weight",
    "relation_keys",
    "score",
    "taken_of",
]

LEAST = 0.5
"""Links below this are not shown or used. Lowering it finds more ways, and more wrong ones."""
COMPANION = 0.35
"""A weaker link counts beside one that makes an edge."""

_SAME_THING = 0.95
"""The same attribute of the same thing: `issues[].number` for `issue_number`."""
_KEY_OF_THING = 0.92
"""Any identifier of the thing that the parameter is named after: `owner.login` for `owner`."""
_NAMED_AFTER = 0.85
"""A value named after the thing itself: `reservations[]` for `reservation_id`."""
_SAME_NAME = 0.8
"""The same name of several words that identifies nothing: `departure_date`."""
_SAME_WORD = 0.59
"""The same name of one word: `city`."""
_DESCRIBED = 0.72
"""The parameter's description names thing and attribute: `a commit SHA`."""
_SELF_NAMED = 0.7
"""A value that means the same for other things: a member's login as a user's."""
_FORMAT = 0.6
"""The same rare format: an email address."""

_QUALIFIED = 0.9
"""One thing is a kind of the other: `source account` and `account`."""
_SHORT_FORM = 0.97
"""One is a short form of the other: `org`."""
_DISPLAY_NAME = 0.93
"""A display name where an identifier is asked for: names are not always unique."""
_LOOSE_KEY = 0.85
"""A key that may be of something else (a SHA), or for more than the thing (`max_open_issues`)."""
_OPTIONAL = 0.95
"""The field may be missing or null."""
_DEEPER = 0.99
"""Per key further inside."""
_ECHO = 0.9
"""The source was itself called with this value, so other values in its result are more likely meant."""
_OTHER_SERVER_KEY = 0.6
"""Servers number their things themselves."""
_OTHER_SERVER = 0.9
_LEARNED = 0.54
"""A field that was seen too seldom to be certain."""
_OPEN_VALUE = 0.7
"""Any text where only some values are allowed."""

_RARE_FORMATS = frozenset({"email", "ipv4", "ipv6"})
_NO_VALUES = frozenset({"boolean"})


class Features(NamedTuple):
    """What the score of a place depends on; places of many tools have the same."""

    server: str
    identities: tuple[Identity, ...]
    form: Form
    depth: int
    """Keys on the way to it."""
    is_item: bool
    """Whether it is an item of an array of plain values."""
    echoes: bool
    """Whether its tool was called with this value."""
    is_optional: bool
    learned: float | None
    """How certain it is, where it is not declared."""


class Given(NamedTuple):
    """A place as a candidate for parameters."""

    tool: str
    place: Place
    features: Features
    at: int
    """Its number among the tool's places: of equals, the first is meant."""


class Taken(NamedTuple):
    """What a slot asks for. Slots of many tools ask for the same, so it can be looked up once for all of them."""

    server: str
    identity: Identity
    form: Form
    described: frozenset[tuple[str, str]]
    """Pairs of a thing and an identifier that follow each other in the description."""
    relations: tuple[str, ...]
    """What the server declares that it takes."""
    is_secret: bool = False
    """Whether only lineage may fill it."""


def given_of(ports: Ports) -> Iterator[Given]:
    """Yield the places of a tool that can fill parameters: everything but yes or no."""
    things = ports.subject.things
    asked = {taken_of(ports, slot).identity[:2] for slot in ports.slots if ports.needs(slot)}
    for at, place in enumerate(ports.places):
        form = place.form
        if form.kinds == _NO_VALUES:
            continue
        keys = keys_of(place.path)
        identities = place_identity(keys, things)
        echoes = any(one.attribute and one[:2] in asked for one in identities) and not _is_listed(place.path)
        is_item = bool(place.path) and place.path[-1].kind == "each"
        learned = None if place.declared else place.confidence
        features = Features(
            ports.server, identities, form, len(keys), is_item, echoes, place.is_optional, learned
        )
        yield Given(ports.tool, place, features, at)


def _is_listed(path: Path) -> bool:
    return any(step.kind == "each" for step in path)


def taken_of(ports: Ports, slot: Slot) -> Taken:
    keys = keys_of(slot.path)
    own = slot_identity(keys, ports.subject.things)
    # Only what matters for the score, so that more slots share it.
    identity = own._replace(words=()) if own.attribute else own._replace(thing=())
    described = _pairs(slot.description) if slot.description and ports.needs(slot) else frozenset()
    relations = tuple(relation_keys(ports.server, slot.type, "consumes"))
    return Taken(
        ports.server, identity, form_of(slot.type), described, relations, is_secret(words_of(keys[-1]))
    )


def relation_keys(server: str, kind: Type, way: Literal["produces", "consumes"]) -> Iterator[str]:
    """Yield keys for what the schema of the contract kit says that a value identifies."""
    for part in (kind, *kind.members):
        for direction, thing in part.relations:
            if direction == way:
                yield f"{server}\0{phrase(words_of(thing)) or thing}"


@lru_cache(maxsize=1 << 13)
def _pairs(description: str) -> frozenset[tuple[str, str]]:
    words = words_of_text(description)
    return frozenset(pair for pair in pairwise(words) if pair[1] in IDENTIFIERS or pair[1] in DISPLAY)


def score(given: Features, taken: Taken, rarity: Callable[[Words], float]) -> Evidence | None:
    """Return the strongest reason why a place can fill a slot, if there is one and the types allow it."""
    found = [one for own in given.identities if (one := _reason(own, given, taken, rarity)) is not None]
    if not found or conflict(given.form, taken.form):
        return None
    reason = max(found, key=lambda one: one.weight)
    weight = reason.weight * _DEEPER**given.depth
    if given.is_optional:
        weight *= _OPTIONAL
    if given.echoes:
        weight *= _ECHO
    if taken.form.values is not None and given.form.values is None:
        weight *= _OPEN_VALUE
    if given.server != taken.server:
        weight *= _OTHER_SERVER_KEY if reason.kind == "entity" else _OTHER_SERVER
    if given.learned is not None:
        weight *= _LEARNED + (1 - _LEARNED) * given.learned
    return Evidence(reason.kind, weight, reason.detail)


def _reason(
    own: Identity, given: Features, taken: Taken, rarity: Callable[[Words], float]
) -> Evidence | None:
    asked = taken.identity
    found = _of_thing(own, given, asked) if own.attribute or asked.attribute else None
    if found is not None:
        return found
    if not asked.attribute and not own.attribute and own.words == asked.words:
        return Evidence("name", name_weight(own.words) * rarity(own.words), phrase(own.words))
    if own.attribute and own.thing and (own.thing[-1], own.attribute) in taken.described:
        return Evidence("text", _DESCRIBED, f"{own.thing[-1]} {own.attribute}")
    if taken.form.format in _RARE_FORMATS and given.form.format == taken.form.format:
        return Evidence("format", _FORMAT, taken.form.format or "")
    return None


def _of_thing(own: Identity, given: Features, asked: Identity) -> Evidence | None:
    """Return why a place identifies the thing that a slot asks for."""
    if not asked.attribute:
        weight = _KEY_OF_THING * (_DISPLAY_NAME if own.attribute in DISPLAY else 1.0)
        if own.attribute in SELF_NAMING - {"login"} or len(asked.words) > len(own.thing):
            weight *= _LOOSE_KEY
        relation = (
            _relation(own.thing, asked.words) if own.is_direct and not VAGUE.issuperset(asked.words) else 0.0
        )
        detail = f"{own.attribute} of {phrase(asked.words)}"
    elif own.attribute:
        weight = _SAME_THING
        relation = _relation(own.thing, asked.thing) if own.attribute == asked.attribute else 0.0
        detail = f"{asked.attribute} of {phrase(asked.thing)}"
        if not relation and own.attribute == asked.attribute and own.attribute in SELF_NAMING:
            weight, relation, detail = _SELF_NAMED, 1.0, own.attribute
    else:
        weight = _NAMED_AFTER
        relation = _relation(own.words, asked.thing) if given.is_item or not own.is_direct else 0.0
        detail = f"{asked.attribute} of {phrase(asked.thing)}"
    return Evidence("entity", weight * relation, detail) if relation else None


def name_weight(words: Words) -> float:
    return _SAME_NAME if len(words) > 1 else 0.0 if VAGUE.issuperset(words) else _SAME_WORD


@lru_cache(maxsize=1 << 16)
def _relation(one: Words, other: Words) -> float:
    """Return how far two names of things mean the same: 1 where they are equal, 0 where they are unrelated."""
    if not one or not other:
        return 0.0
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if long[-len(short) :] == short:
        return _QUALIFIED
    last, end = short[-1], long[-1]
    if is_abbreviation(last, end) or is_abbreviation(end, last):
        return (
            _SHORT_FORM if len(short) == len(long) and short[:-1] == long[:-1] else _QUALIFIED * _SHORT_FORM
        )
    return 0.0
