"""Both ends of a link: what a field of a result may identify, and what a parameter asks for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from halflap.graph.effects import may_change
from halflap.graph.naming import (
    Identity,
    described_identities,
    is_plural,
    is_secret,
    phrase,
    place_identities,
    slot_identities,
    words_of,
)
from halflap.graph.paths import EACH, NAME, Path, keys_of

if TYPE_CHECKING:
    from halflap.graph.ports import Place, Ports, Slot
    from halflap.graph.types import Form
    from halflap.schema import Type

DOUBT = 0.9
"""Per flaw: the names of the entities are only related; the field is a display name, has
only the name of the entity, may be missing or null, may identify something else, repeats an argument, has another type, is
outside the tool's main list, or is what a change returns."""
_DEEPER = 0.99
"""Per level of depth."""
_LEARNED = 0.9
"""For fields that were learned, not declared."""
_COUNT = 0.5
"""A plural for a single value, which is mostly a count: `followers`."""
_DESCRIBED = 0.9
"""What the description of a bare `id` says that it identifies: "The id of the link"."""
_DEEPEST_OPTIONAL = 2
"""The depth at which names still fill optional values; deeper ones are filled by lineage only."""


class Meaning(NamedTuple):
    """The properties of a field that matter for links: shared by fields of many tools, so they are scored together."""

    server: str
    identities: tuple[Identity, ...]
    is_item: bool
    """Whether it is an item of an array of plain values, or the whole result."""
    form: Form
    produces: tuple[str, ...]
    """What it identifies, as declared by the server."""


class Returned(NamedTuple):
    """A field of a tool's result, as a candidate for parameters."""

    tool: str
    place: Place
    meaning: Meaning
    factor: float
    """Its factor for every slot: by its depth, and whether it may be missing, was learned or echoed."""
    at: int
    """Its number among the tool's places: among equals, the first wins."""


class Asked(NamedTuple):
    """What a slot asks for. Slots of many tools ask for the same, so candidates are looked up once for all of them."""

    server: str
    identities: tuple[Identity, ...]
    form: Form
    described: tuple[Identity, ...]
    """The identifiers that the description names."""
    consumes: tuple[str, ...]
    """What it takes, as declared by the server."""
    only_seen: bool = False
    """Whether only lineage may fill it."""
    is_new: bool = False
    """Whether it is an optional part of a change, which is mostly a new value."""


_meaning = lru_cache(maxsize=1 << 16)(Meaning)


def returned_by(ports: Ports) -> Iterator[Returned]:
    """Yield the fields of a tool that can fill parameters: everything but yes or no."""
    main = ports.main_list
    is_change = may_change(ports)
    subject = ports.subject
    # What a tool for several things returns once is of something else: `add_members_to_team` returns the team.
    is_other = subject.is_many and (main is not None or is_change)
    around = subject._replace(things=(), other_things=(), returns=()) if is_other else subject
    needed = {
        one[:2]
        for slot in ports.slots
        if ports.needs(slot)
        for one in slot_identities(keys_of(slot.path), subject)
    }
    outer: dict[tuple[object, ...], Path] = {}
    for at, place in enumerate(ports.places):
        if place.form.is_boolean:
            continue
        path, keys = place.path, keys_of(place.path)
        is_item = path[-1:] in ((), (EACH,))
        is_own = len(keys) == 2 if main is None else path[:-1] == (*main, EACH)  # noqa: PLR2004 -- `issue.id`
        # The keys of a map are not what the map is named after.
        identities = (
            ()
            if path[-1:] == (NAME,)
            else place_identities(keys, around if len(keys) == len(path) else subject, is_own=is_own)
        )
        if place.description and identities and identities[0].attribute and identities[0].is_direct:
            identities += tuple(
                one._replace(certainty=_DESCRIBED)
                for one in described_identities(place.description)
                if one.attribute == identities[0].attribute and one.thing != identities[0].thing
            )
        if not is_item and keys and is_plural(keys[-1]):
            identities = tuple(one._replace(certainty=_COUNT) for one in identities)
        is_repeated = EACH not in path and any(one.attribute and one[:2] in needed for one in identities)
        first = outer.setdefault(identities[0][:2], path) if identities and identities[0].attribute else path
        doubts = (
            place.is_optional,
            # A change mostly returns what it was given, and no plan makes a change to get a value.
            is_change,
            # The tool was itself called with this value, so other values in its result are more likely meant.
            is_repeated,
            # Of two fields that identify the same entity, the outer one wins.
            len(first) < len(path) and path[: len(first) - 1] == first[:-1],
            bool(main) and path[: len(main or ())] != main,
        )
        factor = _DEEPER ** len(keys) * DOUBT ** sum(doubts) * (1.0 if place.declared else _LEARNED)
        produces = _relations(place.type, "produces")
        meaning = _meaning(ports.server, identities, is_item, place.form, produces)
        yield Returned(ports.tool, place, meaning, factor, at)


def asked_of(ports: Ports, slot: Slot) -> Asked:
    keys = keys_of(slot.path)
    is_needed = ports.needs(slot)
    # Without what does not affect the score, so that more slots share it.
    identities = tuple(
        one._replace(words=() if one.words[1:] else one.words) if one.attribute else one._replace(thing=())
        for one in slot_identities(keys, ports.subject)
    )
    return Asked(
        ports.server,
        identities,
        slot.form,
        described_identities(slot.description) if slot.description and is_needed else (),
        _relations(slot.type, "consumes"),
        is_secret(words_of(keys[-1]))
        or (len(keys) > _DEEPEST_OPTIONAL and not is_needed)
        # The values of a map are not what the map is named after.
        or slot.path[-1].kind == "value",
        not is_needed and may_change(ports),
    )


def _relations(kind: Type, way: Literal["produces", "consumes"]) -> tuple[str, ...]:
    """Return what the schema of the contract kit says that a value identifies."""
    if not kind.relations and not kind.members:
        return ()
    relations = [one for part in (kind, *kind.members) for one in part.relations]
    return tuple(phrase(words_of(thing)) or thing for direction, thing in relations if direction == way)
