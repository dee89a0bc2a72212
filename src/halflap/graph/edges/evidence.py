"""How certain it is that a field of a result is what a parameter asks for, from names and types alone.

The weights are the whole model: each is the share of such links that are right. `bench/bench_links.py` measures them on a
large API and cross-validates them by its areas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.graph.edges.model import Evidence
from halflap.graph.naming import (
    Identity,
    is_secret,
    phrase,
    place_identities,
    related,
    slot_identities,
    words_in_text,
    words_of,
)
from halflap.graph.naming.vocabulary import DISPLAY, IDENTIFIERS, SELF_NAMING, VAGUE
from halflap.graph.paging import main_list
from halflap.graph.paths import EACH, keys_of
from halflap.graph.types import Form, conflict, form_of

if TYPE_CHECKING:
    from halflap.graph.naming import Words
    from halflap.graph.ports import Place, Ports, Slot
    from halflap.schema import Type

__all__ = [
    "COMPANION",
    "LEAST",
    "Asked",
    "Catalogue",
    "Meaning",
    "Returned",
    "asked_of",
    "name_weight",
    "relation_keys",
    "returned_by",
    "score",
]

LEAST = 0.5
"""Links below this are not shown or used. Lowering it finds more ways, and more wrong ones."""
COMPANION = 0.35
"""A weaker link counts beside one that makes an edge."""

_SAME_THING = 0.95
"""The same attribute of the same thing: `issues[].number` for `issue_number`."""
_KEY_OF_THING = 0.92
"""Any identifier of the thing that the parameter is named after: `owner.login` for `owner`."""
_REFERENCE = 0.85
"""A plain value named after a thing: `reservations[]` for `reservation_id`, `invoice` for `invoice`."""
_SAME_NAME = 0.8
"""The same name of several words that identifies nothing: `departure_date`."""
_SAME_WORD = 0.59
"""The same name of one word: `city`."""
_DESCRIBED = 0.72
"""The parameter's description names thing and attribute: `a commit SHA`."""
_SELF_NAMED = 0.7
"""A value that means the same for other things: a member's login as a user's."""
_SAME_KEY = 0.4
"""The same kind of key of another thing; right only beside other parts of the same key."""
_FORMAT = 0.7
"""The same rare format: an email address."""

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

_LOOSE = (SELF_NAMING - {"login"}) | {"uid", "uuid"}
_RARE_FORMATS = frozenset({"email", "ipv4", "ipv6"})


class Meaning(NamedTuple):
    """What matters of a field for links: the same for fields of many tools, so they are scored together."""

    server: str
    identities: tuple[Identity, ...]
    is_item: bool
    """Whether it is an item of an array of plain values, or the whole result."""
    form: Form
    factor: float
    """What makes it less certain whatever asks for it: how deep it is, whether it may be missing, was learned or echoed."""


class Returned(NamedTuple):
    """A field of a tool's result, as a candidate for parameters."""

    tool: str
    place: Place
    meaning: Meaning
    at: int
    """Its number among the tool's places: of equals, the first is meant."""

    @property
    def identities(self) -> tuple[Identity, ...]:
        return self.meaning.identities


class Asked(NamedTuple):
    """What a slot asks for. Slots of many tools ask for the same, so candidates are looked up once for all of them."""

    server: str
    identities: tuple[Identity, ...]
    form: Form
    described: frozenset[tuple[str, str]]
    """Pairs of a thing and an identifier that follow each other in the description."""
    relations: tuple[str, ...]
    """What the server declares that it takes."""
    is_secret: bool = False
    """Whether only lineage may fill it."""


class Catalogue(NamedTuple):
    """What the weight of a name depends on beyond the two tools."""

    is_thing: Callable[[str, Words], bool]
    """Whether some tool of a server is about things of this name."""
    name_weight: Callable[[Words], float]
    """How certain the same name makes alone."""


def returned_by(ports: Ports) -> Iterator[Returned]:
    """Yield the fields of a tool that can fill parameters: everything but yes or no."""
    subject = ports.subject
    needed = {
        one[:2]
        for slot in ports.slots
        if ports.needs(slot)
        for one in slot_identities(keys_of(slot.path), subject)
    }
    main = main_list(ports) if subject.lists else None
    for at, place in enumerate(ports.places):
        if place.form.is_boolean:
            continue
        path, keys = place.path, keys_of(place.path)
        is_listed = main is not None and len(path) <= len(main) + 2 and path[: len(main) + 1] == (*main, EACH)
        identities = place_identities(keys, subject, is_listed=is_listed)
        factor = _DEEPER ** len(keys)
        if place.is_optional:
            factor *= _OPTIONAL
        if not place.declared:
            factor *= _LEARNED + (1 - _LEARNED) * place.confidence
        if EACH not in path and any(one.attribute and one[:2] in needed for one in identities):
            factor *= _ECHO
        meaning = _meaning(ports.server, identities, path[-1:] in ((), (EACH,)), place.form, factor)
        yield Returned(ports.tool, place, meaning, at)


_meaning = lru_cache(maxsize=1 << 16)(Meaning)


def asked_of(ports: Ports, slot: Slot) -> Asked:
    keys = keys_of(slot.path)
    # Only what matters for the score, so that more slots share it.
    identities = tuple(
        one._replace(words=() if one.words[1:] else one.words) if one.attribute else one._replace(thing=())
        for one in slot_identities(keys, ports.subject)
    )
    described = _pairs(slot.description) if slot.description and ports.needs(slot) else frozenset()
    relations = relation_keys(slot.type, "consumes")
    return Asked(
        ports.server, identities, form_of(slot.type), described, relations, is_secret(words_of(keys[-1]))
    )


def relation_keys(kind: Type, way: Literal["produces", "consumes"]) -> tuple[str, ...]:
    """Return what the schema of the contract kit says that a value identifies."""
    if not kind.relations and not kind.members:
        return ()
    relations = [one for part in (kind, *kind.members) for one in part.relations]
    return tuple(phrase(words_of(thing)) or thing for direction, thing in relations if direction == way)


@lru_cache(maxsize=1 << 13)
def _pairs(description: str) -> frozenset[tuple[str, str]]:
    words = words_in_text(description)
    return frozenset(pair for pair in pairwise(words) if pair[1] in IDENTIFIERS or pair[1] in DISPLAY)


def score(given: Meaning, asked: Asked, catalogue: Catalogue) -> Evidence | None:
    """Return the strongest reason why such a field can fill a slot, if there is one and the types allow it."""
    reasons = [one for own in given.identities for one in _reasons(own, given, asked, catalogue)]
    reason = max(reasons, key=lambda one: one.weight, default=None)
    if reason is None or conflict(given.form, asked.form):
        return None
    weight = reason.weight * given.factor
    if asked.form.values is not None and given.form.values is None:
        weight *= _OPEN_VALUE
    if given.server != asked.server:
        weight *= _OTHER_SERVER_KEY if reason.kind == "entity" else _OTHER_SERVER
    return reason._replace(weight=weight) if weight >= COMPANION else None


def _reasons(own: Identity, given: Meaning, asked: Asked, catalogue: Catalogue) -> Iterator[Evidence]:
    for wanted in asked.identities:
        weight, detail = _identifies(own, wanted)
        names_thing = own.attribute or given.is_item or catalogue.is_thing(given.server, own.words)
        asks_thing = own.attribute or wanted.attribute or catalogue.is_thing(asked.server, wanted.words)
        if weight and names_thing and asks_thing:
            yield Evidence("entity", weight * own.certainty * wanted.certainty, detail)
        if not own.attribute and not wanted.attribute and own.words == wanted.words:
            yield Evidence("name", catalogue.name_weight(own.words), phrase(own.words))
    if own.attribute and own.thing and (own.thing[-1], own.attribute) in asked.described:
        yield Evidence("text", _DESCRIBED, f"{own.thing[-1]} {own.attribute}")
    if given.form.format in _RARE_FORMATS and given.form.format == asked.form.format:
        yield Evidence("format", _FORMAT, given.form.format or "")


@lru_cache(maxsize=1 << 16)
def _identifies(own: Identity, wanted: Identity) -> tuple[float, str]:
    """Return how certain a field identifies the thing that a slot asks for, and what of which thing it is."""
    thing = wanted.thing if wanted.attribute else wanted.words
    is_vague = not wanted.attribute and VAGUE.issuperset(thing)
    relation = 0.0 if is_vague else related(own.thing if own.attribute else own.words, thing)
    if not relation and own.attribute and own.attribute == wanted.attribute:
        is_key = own.attribute not in {"id", *DISPLAY} and own.words == wanted.words
        return (_SELF_NAMED if own.attribute in SELF_NAMING else _SAME_KEY * is_key), own.attribute
    detail = phrase(
        (own.attribute or wanted.attribute, "of", *thing) if own.attribute or wanted.attribute else thing
    )
    if not own.attribute:
        return _REFERENCE * relation, detail
    if wanted.attribute:
        return _SAME_THING * relation * (own.attribute == wanted.attribute), detail
    weight = _KEY_OF_THING * relation * (_DISPLAY_NAME if own.attribute in DISPLAY else 1.0)
    is_loose = own.words[-1] in _LOOSE or not own.is_direct or len(thing) > len(own.thing)
    return weight * (_LOOSE_KEY if is_loose else 1.0), detail


def name_weight(words: Words) -> float:
    """Return how certain the same name makes, if few tools return it."""
    return _SAME_NAME if len(words) > 1 else 0.0 if VAGUE.issuperset(words) else _SAME_WORD
