"""What one tool's result offers for what another needs, and what that costs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.effects import changed_by, destroys
from halflap.graph.naming import slot_identities, things_around
from halflap.graph.paths import Path, items_of, keys_of, many
from halflap.graph.workflow import Given

if TYPE_CHECKING:
    from halflap.graph.edges import Link
    from halflap.graph.plan.need import Have, Need, Unit
    from halflap.graph.ports import Ports, Slot

FAN_OUT = 0.3
"""A call for each of many values, compared with one call. Doubling it prefers longer chains of single calls."""
MENTIONED = 0.4
"""Finding things by what mentions them, instead of by a list of the things: some may be left out, or come twice."""
CROSSING = 0.5
"""Data that go to another server. Doubling it keeps plans on one server more often."""
_LEAST = 1e-3

_Way = tuple["Slot", "Link", Path]
"""A slot, a link that leads into it, and the place that the link has for it."""


class Offer(NamedTuple):
    """What supplies one unit from one tool's result."""

    cost: float
    given: tuple[Given, ...]


def link_cost(confidence: float) -> float:
    return -math.log(max(confidence, _LEAST))


def offers(
    need: Need, source: Ports, links: Sequence[Link], have: Have, *, once: bool
) -> list[tuple[int, Offer]]:
    """Return what a tool offers for the open units of another, at most one offer for each.

    With `once`, nothing that would repeat the call: not one for each of many, and for a tool that destroys something
    no list of all that was found either.
    """
    changed = changed_by(need.ports)
    found: list[tuple[float, int, tuple[Given, ...]]] = []
    for at, unit in enumerate(need.open):
        into = [
            (slot, link, path)
            for slot in (() if unit.is_refused else unit.slots)
            for link in links
            if (path := _path_into(link, slot, source)) is not None and not changed.has(slot, source, path)
        ]
        ways: Iterable[tuple[Given, ...]] = ((_given(one, source),) for one in into)
        if unit.is_array:
            ways = _array(unit, into, source, have, need.ports)
        for given in ways:
            if once and _is_of_many(need.ports, given):
                continue
            cost = sum(link_cost(one.confidence) for one in given if one.origin == "step")
            cost += CROSSING if source.server != need.ports.server else 0.0
            is_many = any(one.fan_out for one in given)
            cost += FAN_OUT if is_many else 0.0
            if (is_many or not source.required) and not any(
                _lists(need.ports, one, source) for one in given if one.step
            ):
                cost += MENTIONED
            found.append((cost, at, given))
    chosen: dict[int, Offer] = {}
    taken: set[Path] = set()
    for cost, at, given in sorted(found, key=lambda one: one[:2]):
        places = {one.source for one in given if one.origin == "step"}
        # One place fills one slot: whatever takes `from_id` and `to_id` does not mean the same.
        if at not in chosen and not places & taken:
            chosen[at] = Offer(cost, given)
            taken |= places
    return sorted(chosen.items())


def _path_into(link: Link, slot: Slot, source: Ports) -> Path | None:
    """Return the place that a link has for a slot: of a link between objects, the key that both have."""
    size = len(link.target)
    if link.target == slot.path:
        return link.source
    if size < len(slot.path) and slot.path[:size] == link.target:
        path = link.source + slot.path[size:]
        return path if any(one.path == path for one in source.places) else None
    return None


def _given(way: _Way, source: Ports) -> Given:
    slot, link, path = way
    return Given(
        slot.path,
        "step",
        step=source.tool,
        source=path,
        confidence=link.confidence,
        evidence=link.evidence,
    )


def _array(
    unit: Unit, into: Sequence[_Way], source: Ports, have: Have, target: Ports
) -> Iterator[tuple[Given, ...]]:
    """Yield the ways to fill an array from the items of one list, with what is around them or in `have`."""
    if any(many(slot.path) > 1 for slot in unit.slots):
        return
    for items in dict.fromkeys(items_of(path) for _, _, path in into):
        chosen: list[Given] = []
        for slot in unit.slots:
            fitting = [
                one for one in into if one[0] is slot and items[: len(items_of(one[2]))] == items_of(one[2])
            ]
            if fitting:
                way = max(fitting, key=lambda one: (len(items_of(one[2])), one[1].confidence))
                chosen.append(_given(way, source))
            elif (own := have.for_slot(target, slot)) is not None:
                chosen.append(own)
        if len(chosen) == len(unit.slots) and any(
            one.step and items_of(one.source) == items for one in chosen
        ):
            yield tuple(chosen)


def _lists(target: Ports, given: Given, source: Ports) -> bool:
    """Return whether the items that a value comes from are the things that the slot asks for, and no list beside others."""
    if many(given.source) and source.main_list is None:
        return False
    asked = slot_identities(keys_of(given.slot), target.subject)[0]
    thing = asked.thing if asked.attribute else asked.words
    around = things_around(keys_of(items_of(given.source)), source.subject)
    return any(one[-1:] in (thing[-1:], ()) for one in around)


def _is_of_many(target: Ports, given: Sequence[Given]) -> bool:
    if any(one.fan_out for one in given):
        return True
    arrays = {slot.path for slot in target.slots if slot.type.kind == "array"}
    return destroys(target) and any(one.step and (many(one.source) or one.slot in arrays) for one in given)
