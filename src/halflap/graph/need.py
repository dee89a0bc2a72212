"""What a tool needs before it can be called: what is at hand for it, and what is open."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import NoneType
from typing import TYPE_CHECKING

from halflap.graph.edge import Slot, key
from halflap.graph.have import admits
from halflap.graph.vocabulary import IDENTIFYING
from halflap.graph.words import words_of
from halflap.graph.workflow import Given, many
from halflap.graph.written import Written
from halflap.schema import ANY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from halflap.graph.edge import Path, Ports
    from halflap.graph.have import Have

__all__ = ["Need", "Unit", "need_of"]


@dataclass(frozen=True, slots=True)
class Unit:
    """What has to be supplied as one: a slot, or an array with all that its items have to have."""

    path: Path
    slots: tuple[Slot, ...]
    is_held: bool = False
    """Whether something is at hand for it that does not fit: then nothing else is taken in its place."""
    alone: frozenset[Path] = frozenset()
    """Its slots whose own names no other slot of the call has: what is at hand under such a name is theirs."""

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.path[-1].kind != "key"


@dataclass(frozen=True, slots=True)
class Need:
    """What one tool needs: what is at hand for it already, and what is open."""

    ports: Ports
    given: tuple[Given, ...]
    open: tuple[Unit, ...]
    written: Written = field(compare=False)

    @property
    def uses_have(self) -> bool:
        """Whether anything at hand goes into it."""
        return any(one.origin == "have" for one in self.given)

    @property
    def is_for_each(self) -> bool:
        """Whether it is called for each item of a list at hand."""
        return any(one.each for one in self.given)


def _required(
    ports: Ports, have: Have, slots: Mapping[str, Sequence[Slot]], *, is_wanted: bool
) -> frozenset[str]:
    """Say which parameters have to be given; of several sets that are enough, one that is at hand as a whole."""
    for one in ports.choices:
        kinds = {name: next((slot.type for slot in slots.get(name, ())), None) for name in one}
        if one and all(
            have.parameter(ports, name, kind, is_wanted=is_wanted) is not None for name, kind in kinds.items()
        ):
            return (ports.required - frozenset().union(*ports.choices)) | one
    return ports.required


def need_of(ports: Ports, have: Have, *, is_wanted: bool = False) -> Need:
    """Say what a tool needs when this is at hand."""
    given: list[Given] = []
    units: list[Unit] = []
    by_name: dict[str, list[Slot]] = {}
    for slot in ports.slots:
        by_name.setdefault(slot.parameter, []).append(slot)
    required = _required(ports, have, by_name, is_wanted=is_wanted)
    alone = _alone(ports) if any(len(one.path) > 1 for one in ports.slots) else frozenset()
    for name, slots in by_name.items():
        path = slots[0].path[:1]
        kind = next((one.type for one in slots if one.path == path), None)
        found = have.parameter(ports, name, kind, is_wanted=is_wanted)
        if found is not None and (kind is not None or isinstance(have[found], list | NoneType)):
            each = have.is_each(kind, found)
            given.append(Given(path, "have", have=found, value=have.value(found, kind), each=each))
        elif name in required and (parts := _partial(slots, have, alone)) is not None:
            given += parts[0]
            units += parts[1]
        elif (
            kind is None
            and name in required
            and (one := _only_item(ports, slots, have, is_wanted=is_wanted)) is not None
        ):
            given.append(one)
        elif name in required:
            own, rest = _units(slots, have, alone)
            given += own
            held = any(have.refused(one) for one in slots if one.path == path)
            units += [
                replace(one, is_held=held or any(have.refused(slot) for slot in one.slots)) for one in rest
            ]
        elif _is_refused(slots, have, is_wanted=is_wanted):
            # Whoever gives it means this parameter: a default in its place would be something else.
            units.append(Unit(path, (_outer(slots),), is_held=True))
        elif any(one.required and one.has_default for one in slots):
            given.append(Given(path, "default"))
    own, rest = _undescribed(ports, have, required - by_name.keys(), is_wanted=is_wanted)
    return Need(ports, (*given, *own), (*units, *rest), Written(ports))


def _undescribed(
    ports: Ports, have: Have, names: Iterable[str], *, is_wanted: bool
) -> tuple[list[Given], list[Unit]]:
    """Take what is required and nowhere described: it can be anything."""
    given: list[Given] = []
    units: list[Unit] = []
    for name in sorted(names):
        found = have.parameter(ports, name, None, is_wanted=is_wanted)
        path = (key(name),)
        if found is None:
            units.append(Unit(path, (Slot(path, ANY, required=True),)))
        else:
            given.append(Given(path, "have", have=found, value=have[found]))
    return given, units


def _only_item(ports: Ports, slots: Sequence[Slot], have: Have, *, is_wanted: bool) -> Given | None:
    """Give what is at hand as the only item of an array that takes such values."""
    outer = _outer(slots)
    if len(slots) > 1 or len(outer.path) != 2 or outer.path[1].kind != "each":  # noqa: PLR2004 -- the array and its items
        return None
    found = have.item(ports, outer, is_wanted=is_wanted)
    if found is None:
        return None
    return Given(outer.path, "have", have=found, value=have.value(found, outer.type))


def _alone(ports: Ports) -> frozenset[Path]:
    """Give the slots inside of parameters whose own name no other slot has, and says which it is."""
    named: dict[tuple[str, ...], list[Path]] = {}
    # An array's slots are those of its items.
    for path in dict.fromkeys(
        slot.path[:size] for slot in ports.slots for size in range(1, len(slot.path) + 1)
    ):
        if path[-1].kind == "key":
            named.setdefault(words_of(path[-1].key), []).append(path)
    return frozenset(
        paths[0]
        for said, paths in named.items()
        if said and len(paths) == 1 and (len(said) > 1 or said[0] not in IDENTIFYING)
    )


def _partial(
    slots: Sequence[Slot], have: Have, alone: frozenset[Path]
) -> tuple[list[Given], list[Unit]] | None:
    """Take what an object at hand has for a parameter that needs more, and leave the rest open; None if there is none."""
    outer = _outer(slots)
    name = have.refused(outer) if len(outer.path) == 1 else None
    if name is None or outer.type.kind != "object" or not isinstance(have[name], dict):
        return None
    by_path = {one.path: one for one in slots}
    given: list[Given] = []
    held: list[Unit] = []

    def take(path: Path, dotted: str, value: Mapping[str, Any]) -> None:
        for inner, one in value.items():
            part, whole = (*path, key(inner)), f"{dotted}.{inner}"
            slot = by_path.get(part)
            if slot is None or one is None or admits(slot.type, one):
                given.append(Given(part, "have", have=whole, value=one))
            elif isinstance(one, int) and not isinstance(one, bool) and admits(slot.type, str(one)):
                given.append(Given(part, "have", have=whole, value=str(one)))
            elif isinstance(one, dict) and slot.type.kind == "object":
                take(part, whole, one)
            else:
                held.append(Unit(part, (slot,), is_held=True))

    take(outer.path, name, have[name])
    done = {one.slot for one in given} | {one.path for one in held}
    others, rest = _units(slots, have, alone)
    given += [one for one in others if not _is_in(one.slot, done)]
    return given, [*held, *(one for one in rest if not _is_in(one.path, done))]


def _is_in(path: Path, paths: set[Path]) -> bool:
    return any(path[:size] in paths for size in range(1, len(path) + 1))


def _is_refused(slots: Sequence[Slot], have: Have, *, is_wanted: bool) -> bool:
    """Say whether something is at hand for a parameter that could be left out, and does not fit.

    On the way to what is wanted, what may be left out is.
    """
    outer = _outer(slots)
    return (is_wanted or outer.required) and have.refused(outer) is not None


def _outer(slots: Sequence[Slot]) -> Slot:
    """Give the slot of the whole parameter; of an array, of its items."""
    return min(slots, key=lambda one: len(one.path))


def _units(slots: Sequence[Slot], have: Have, alone: frozenset[Path]) -> tuple[list[Given], list[Unit]]:
    """Take a required parameter apart into what has to be supplied, and what is at hand of that."""
    given: list[Given] = []
    units: list[Unit] = []
    needed = _needed(slots)
    if not needed:
        # An object of which nothing is required.
        return [Given(slots[0].path[:1], "default", value={})], []
    arrays: dict[Path, list[Slot]] = {}
    for slot in needed:
        if many(slot.path):
            arrays.setdefault(_to_array(slot.path), []).append(slot)
            continue
        found = have.slot(slot, alone=slot.path in alone) if len(slot.path) > 1 else None
        if found is None:
            units.append(Unit(slot.path, (slot,)))
        else:
            given.append(Given(slot.path, "have", have=found, value=have.value(found, slot.type)))
    for path, inner in arrays.items():
        whole = _list_at_hand(path[:-1], inner, have, alone)
        if whole is not None:
            given.append(whole)
            continue
        constant = [
            Given(one.path, "have", have=found, value=have.value(found, one.type))
            for one in inner
            if (found := have.slot(one, alone=one.path in alone)) is not None
        ]
        if len(constant) == len(inner) and all(many(one.path) == 1 for one in inner):
            given += constant
        else:
            units.append(Unit(path, tuple(inner), alone=alone & {one.path for one in inner}))
    return given, units


def _list_at_hand(path: Path, inner: Sequence[Slot], have: Have, alone: frozenset[Path]) -> Given | None:
    """Give the list that is at hand for an array inside of a parameter."""
    found = have.slot(Slot(path, ANY, required=True), alone=path in alone) if len(path) > 1 else None
    if found is None or not isinstance(have[found], list | NoneType):
        return None
    plain = [one.type for one in inner if len(one.path) == len(path) + 1]
    fits = all(admits(kind, one) for kind in plain for one in have[found] or ())
    return Given(path, "have", have=found, value=have[found]) if fits else None


def _needed(slots: Sequence[Slot]) -> list[Slot]:
    """Give the innermost slots of a parameter that have to be filled once it is given."""
    by_path = {one.path: one for one in slots}
    # A map is given as a whole: there is no key that it has to have.
    inside = {
        one.path[:size]
        for one in slots
        for size in range(1, len(one.path))
        if all(step.kind != "value" for step in one.path[size:])
    }
    whole = {one.path for one in slots if one.path not in inside or one.type.kind != "object"}
    needed: list[Slot] = []
    for slot in slots:
        around = [slot.path[:size] for size in range(1, len(slot.path))]
        if slot.path not in whole or any(path in whole for path in around):
            continue
        if any(step.kind == "value" for step in slot.path):
            continue
        line = [by_path[path] for path in [*around[1:], slot.path] if path in by_path and len(path) > 1]
        if all(_has_to_be(one) for one in line):
            needed.append(slot)
    if needed:
        return needed
    # Items of which nothing is required are taken as they are.
    return [one for one in slots if one.path[1:] and one.path[1:][0].kind == "each" and len(one.path) == 2]  # noqa: PLR2004


def _has_to_be(slot: Slot) -> bool:
    # What an array is, its items say: a default is the array's own.
    return slot.required and (not slot.has_default or slot.path[-1].kind == "each")


def _to_array(path: Path) -> Path:
    """Cut a path after its first loop."""
    return path[: 1 + next(at for at, step in enumerate(path) if step.kind != "key")]
