"""What a tool needs before it can be called: what `have` gives it, and what is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.graph.paths import Path, key, many
from halflap.graph.workflow import Given

if TYPE_CHECKING:
    from halflap.graph.plan.have import Have
    from halflap.graph.ports import Ports, Slot

__all__ = ["Need", "Unit", "need_of"]


@dataclass(frozen=True, slots=True)
class Unit:
    """What has to be supplied together: a slot, or an array with everything that its items require."""

    path: Path
    slots: tuple[Slot, ...]
    is_refused: bool = False
    """Whether `have` holds a value of this name and another type; nothing else takes its place."""

    @property
    def is_array(self) -> bool:
        return self.path[-1].kind != "key"


@dataclass(frozen=True, slots=True)
class Need:
    """What one tool needs."""

    ports: Ports
    given: tuple[Given, ...]
    open: tuple[Unit, ...]

    @property
    def uses_have(self) -> bool:
        return any(one.origin == "have" for one in self.given)


def need_of(ports: Ports, have: Have, *, is_wanted: bool = False, may_repeat: bool = True) -> Need:
    """Return what a tool needs with these values in `have`; optional parameters take values of their own name.

    With `may_repeat`, it may be called for each item of a list in `have`.
    """
    given: list[Given] = []
    units: list[Unit] = []
    by_name: dict[str, list[Slot]] = {}
    for slot in ports.slots:
        by_name.setdefault(slot.parameter, []).append(slot)
    for name, slots in by_name.items():
        whole = _whole(ports, slots, have, is_wanted=is_wanted, may_repeat=may_repeat)
        if whole is not None:
            given.append(whole)
        elif name in ports.required:
            own, rest = _parts(ports, slots, have, is_wanted=is_wanted)
            given += own
            units += rest
        elif slots[0].required and slots[0].has_default:
            given.append(Given(slots[0].path[:1], "default", value=slots[0].default))
        elif is_wanted and have.refused(ports, slots[0]) is not None:
            units.append(Unit(slots[0].path, (slots[0],), is_refused=True))
    known = by_name.keys()
    units += [Unit((key(name),), (), is_refused=True) for name in sorted(ports.required - known)]
    return Need(ports, tuple(given), tuple(units))


def _whole(
    ports: Ports, slots: Sequence[Slot], have: Have, *, is_wanted: bool, may_repeat: bool = False
) -> Given | None:
    """Return a value for a whole parameter; for an array of plain values one of them will do."""
    outer = slots[0]
    if len(outer.path) == 1:
        return have.for_slot(ports, outer, is_wanted=is_wanted, may_repeat=may_repeat)
    found = have.for_slot(ports, outer, is_wanted=is_wanted, is_array=True)
    if found is not None or outer.type.kind == "object":
        return found
    one = have.for_slot(ports, outer, is_wanted=is_wanted)
    return None if one is None or one.each else one


def _parts(
    ports: Ports, slots: Sequence[Slot], have: Have, *, is_wanted: bool
) -> tuple[list[Given], list[Unit]]:
    """Split a required parameter into what has to be supplied, and what `have` has of that."""
    given: list[Given] = []
    units: list[Unit] = []
    needed = _innermost(slots)
    if not needed:
        # An object that requires nothing.
        return [Given(slots[0].path[:1], "default", value={})], []
    arrays: dict[Path, list[Slot]] = {}
    for slot in needed:
        if many(slot.path):
            arrays.setdefault(_first_loop(slot.path), []).append(slot)
            continue
        found = have.for_slot(ports, slot, is_wanted=is_wanted) if len(slot.path) > 1 else None
        if found is not None and not found.each:
            given.append(found)
        else:
            units.append(Unit(slot.path, (slot,), is_refused=have.refused(ports, slot) is not None))
    for path, inner in arrays.items():
        own = [have.for_slot(ports, one, is_wanted=is_wanted) for one in inner]
        if all(one is not None and not one.each for one in own) and all(many(one.path) == 1 for one in inner):
            given += [one for one in own if one is not None]
        else:
            units.append(Unit(path, tuple(inner)))
    return given, units


def _innermost(slots: Sequence[Slot]) -> list[Slot]:
    """Return the innermost slots that have to be filled once a parameter is given."""
    around = {
        one.path[:size] for one in slots for size in range(1, len(one.path)) if one.path[size].kind != "value"
    }
    needed = [
        one
        for one in slots
        if (one.path not in around or one.type.kind != "object")
        and not any(step.kind == "value" for step in one.path)
        and all(
            _is_needed(other)
            for other in slots
            if 1 < len(other.path) <= len(one.path) and one.path[: len(other.path)] == other.path
        )
    ]
    # Items of which nothing is required are taken as they are.
    return needed or [one for one in slots if len(one.path) == 2 and one.path[1].kind == "each"]  # noqa: PLR2004


def _is_needed(slot: Slot) -> bool:
    # A default of an array is its own, not that of its items.
    return slot.required and (not slot.has_default or slot.path[-1].kind == "each")


def _first_loop(path: Path) -> Path:
    return path[: 1 + next(at for at, step in enumerate(path) if step.kind != "key")]
