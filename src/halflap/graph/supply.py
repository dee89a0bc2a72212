"""What another tool's output offers for what a tool needs, and what that costs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.graph.subject import subject_of
from halflap.graph.twins import role_of
from halflap.graph.vocabulary import IDENTIFYING, KINDS
from halflap.graph.words import words_of
from halflap.graph.workflow import Given, many

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.graph.edge import Edge, Link, Path, Ports, Slot
    from halflap.graph.have import Have
    from halflap.graph.need import Need, Unit

__all__ = [
    "CROSSING",
    "FAN_OUT",
    "MENTIONED",
    "NOT_ALL",
    "OTHERS_ANSWER",
    "OTHERS_ID",
    "OTHERS_VALUE",
    "Offer",
    "foreign",
    "lists_itself",
    "named_thing",
    "names_a_thing",
    "offers",
    "repeats",
]

FAN_OUT = 0.3
"""What it costs that a tool is called for each of many: one call is preferred where one will do."""
CROSSING = 0.2
"""What it costs that data goes to another server."""
OTHERS_ID, OTHERS_ANSWER, OTHERS_VALUE = 8.0, 1.5, 1.0
"""What it costs more to take from another server what the tool's own has, too: what names a thing; that, where it is the
answer to something at hand; and what is the same everywhere, such as a city."""
MENTIONED, NOT_ALL = 1.0, 3.0
"""What it costs more to go through things by all that mention them, where somebody lists the things themselves: those that
nothing mentions are left out. And where something is to be done to all: more than another suggestion may cost."""
_LEAST = 1e-3


@dataclass(frozen=True, slots=True)
class Offer:
    """What supplies one unit from one tool's output, and what that costs."""

    cost: float
    given: tuple[Given, ...]


def repeats(offer: Offer, *, is_looped: bool) -> bool:
    """Say whether who takes an offer is called for each of many: those that it is of, or those that its source is called for."""
    return any(
        one.fan_out or (is_looped and many(one.source) >= one.holds)
        for one in offer.given
        if one.origin == "step"
    )


def foreign(need: Need, at: int, source: Need | None) -> float:
    """Say what it costs more to take a unit from another server, where the tool's own has it, too.

    A server numbers its things itself: what names one elsewhere names another here, if any. Who is asked for it with
    something at hand may know: a customer by an address.
    """
    if not names_a_thing(need.open[at].path):
        return OTHERS_VALUE
    return OTHERS_ANSWER if source is not None and source.uses_have else OTHERS_ID


def names_a_thing(slot: Path) -> bool:
    """Say whether what a slot takes names one of many things."""
    name = words_of(next(step.key for step in reversed(slot) if step.kind == "key"))
    return bool(name) and name[-1] in IDENTIFYING and name[-1] not in KINDS


def named_thing(slot: Path) -> tuple[str, ...]:
    """Give the thing of which a slot takes the name, if it says which: `greenhouse` of `greenhouse_id`."""
    return (
        words_of(next(step.key for step in reversed(slot) if step.kind == "key"))[:-1]
        if names_a_thing(slot)
        else ()
    )


def lists_itself(source: Ports, offer: Offer, thing: tuple[str, ...]) -> bool:
    """Say whether what is offered is of the items of a list of these things, and not of others that mention them."""
    path = next(one.source for one in offer.given if one.origin == "step")
    items = _items(path)
    around = next((step.key for step in reversed(items) if step.kind == "key"), "")
    own = subject_of(source.original_name or source.tool, source.server).thing
    # `planters[].greenhouse.id` is of planters, whatever their list is called.
    inside = [words_of(step.key) for step in path[len(items) : -1]]
    return words_of(around) == thing or (own == thing and not any(one != thing for one in inside))


def offers(need: Need, edge: Edge, source: Ports, have: Have) -> Iterator[tuple[int, Offer]]:
    """Give what an edge offers for the open units of its target: at most one offer for each, the cheapest.

    One place goes into one of them: who takes `from_id` and `to_id` does not mean the same.
    """
    crossing = CROSSING if source.server != need.ports.server else 0.0
    targets = {link.target[0] for link in edge.links}
    written = need.written
    ranked: list[tuple[float, int, int, tuple[Given, ...]]] = []
    for at, unit in enumerate(need.open):
        if unit.path[0] not in targets or unit.is_held:
            continue
        links = list(_links_into(unit, edge, source))
        if written.is_told:
            links = [one for one in links if not written.is_refused(one[0], source, one[2])]
        if not links:
            continue
        found = _array(unit, links, edge.source, have) if unit.is_array else _single(links, edge.source)
        ranked += [(_cost(given, crossing), at, number, given) for number, given in enumerate(found)]
    ranked.sort(key=lambda one: one[:3])
    chosen: dict[int, Offer] = {}
    roles: dict[Path, tuple[str, ...]] = {}
    for cost, at, _, given in ranked:
        if at in chosen:
            continue
        if not need.open[at].is_array:
            role = role_of(given[0].slot)
            if roles.setdefault(given[0].source, role) != role:
                continue
        chosen[at] = Offer(cost, given)
    yield from sorted(chosen.items())


def _links_into(unit: Unit, edge: Edge, source: Ports) -> Iterator[tuple[Slot, Link, Path]]:
    """Give what goes into the slots of a unit: of a link between objects, the fields that both have."""
    places: set[Path] | None = None
    for slot in unit.slots:
        for link in edge.links:
            size = len(link.target)
            if link.target == slot.path:
                yield slot, link, link.source
            elif size < len(slot.path) and slot.path[:size] == link.target:
                places = {one.path for one in source.places} if places is None else places
                path = link.source + slot.path[size:]
                if path in places:
                    yield slot, link, path


def _single(links: Sequence[tuple[Slot, Link, Path]], tool: str) -> Iterator[tuple[Given, ...]]:
    if len(links) == 1:
        yield (_given(*links[0], tool),)
        return
    # What is called exactly the same before what is called alike, if that says anything.
    same = [many(path) for slot, _, path in links if path[-1:] == slot.path[-1:] and _says_which(slot)]
    links = [one for one in links if not same or many(one[2]) < min(same) or one[2][-1:] == one[0].path[-1:]]
    # One value before many, then the surest; the rest costs more.
    for slot, link, path in sorted(links, key=lambda one: _price(one[1].confidence, many(one[2]))):
        yield (_given(slot, link, path, tool),)


def _array(
    unit: Unit, links: Sequence[tuple[Slot, Link, Path]], tool: str, have: Have
) -> Iterator[tuple[Given, ...]]:
    """Give the ways to fill an array from the items of one array, with what else stands around them or is at hand."""
    if any(many(slot.path) > 1 for slot in unit.slots):
        # Arrays within arrays: only as a whole.
        return
    for items in dict.fromkeys(_items(path) for _, _, path in links):
        found = [
            _inner(slot, items, links, tool) or _at_hand(slot, have, alone=slot.path in unit.alone)
            for slot in unit.slots
        ]
        chosen = [one for one in found if one is not None]
        if len(chosen) == len(found) and any(_items(one.source) == items for one in chosen):
            yield tuple(chosen)


def _inner(slot: Slot, items: Path, links: Sequence[tuple[Slot, Link, Path]], tool: str) -> Given | None:
    fitting = [
        (link, path)
        for one, link, path in links
        if one is slot and items[: len(_items(path))] == _items(path)
    ]
    if fitting:
        # What stands in the item itself before what stands around it; then what is surest.
        link, path = max(fitting, key=lambda one: (len(_items(one[1])), one[0].confidence))
        return _given(slot, link, path, tool)
    return None


def _at_hand(slot: Slot, have: Have, *, alone: bool) -> Given | None:
    found = have.slot(slot, alone=alone)
    return None if found is None else Given(slot.path, "have", have=found, value=have.value(found, slot.type))


def _says_which(slot: Slot) -> bool:
    said = words_of(slot.path[-1].key)
    return len(said) > 1 or bool(said and said[0] not in IDENTIFYING)


def _items(path: Path) -> Path:
    """Cut a path after its last loop."""
    ends = [at + 1 for at, step in enumerate(path) if step.kind != "key"]
    return path[: ends[-1]] if ends else ()


def _given(slot: Slot, link: Link, path: Path, tool: str) -> Given:
    return Given(
        slot.path,
        "step",
        step=tool,
        source=path,
        confidence=link.confidence,
        evidence=link.evidence,
        is_alone=slot.is_alone,
    )


def _cost(given: tuple[Given, ...], crossing: float) -> float:
    cost = sum(_price(one.confidence, 0) for one in given if one.origin == "step")
    return cost + crossing + (FAN_OUT if any(one.fan_out for one in given) else 0.0)


def _price(confidence: float, loops: int) -> float:
    return -math.log(max(confidence, _LEAST)) + (FAN_OUT if loops else 0.0)
