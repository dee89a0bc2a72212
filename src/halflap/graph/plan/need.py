"""What a tool needs to be called: parameters filled from `have`, and open ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.graph.effects import may_change
from halflap.graph.naming import NO_SUBJECT, slot_identities, words_of
from halflap.graph.paging import takes_page
from halflap.graph.paths import Path, key, keys_of, many, path_text
from halflap.graph.types import admits
from halflap.graph.workflow import Given, Workflow
from halflap.schema import compact

if TYPE_CHECKING:
    from halflap.graph.naming import Identity
    from halflap.graph.ports import Ports, Slot
    from halflap.schema import Type

MISSING = 100.0
"""The cost of a parameter left to the reader: more than any plan."""
IGNORES_HAVE = 1.9
"""Starting with a call that takes nothing from `have` although there is something. Doubling it prefers chains of two more
calls that begin with what is known."""


class Have:
    """Values by name; None for a value that is supplied later."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self._identities = {
            name: slot_identities(tuple(name.split(".")), NO_SUBJECT)[0] for name in sorted(values)
        }

    def for_slot(
        self,
        ports: Ports,
        slot: Slot,
        *,
        is_wanted: bool = False,
        is_array: bool = False,
        may_repeat: bool = False,
    ) -> Given | None:
        """Return what can be given to a slot.

        Its name fits if it has the same words, as a path or alone, or identifies the same: `customer_id` for the `id` of
        `get_customer`. A bare `id` is that of the wanted tool, where that takes one. If the call `may_repeat`, a list fits
        a slot for one value: the call is made for each. With `is_array`, the slot means the array around it.
        """
        path = slot.path[:-1] if is_array else slot.path
        for name in self._named(ports, path, is_wanted=is_wanted):
            value = self.values[name]
            if value is None or (isinstance(value, list) if is_array else _takes(slot.type, value)):
                taken = value if is_array or value is None else as_taken(slot.type, value)
                return Given(path, "have", have=name, value=taken)
            each = may_repeat and isinstance(value, list) and bool(value) and not is_array and not many(path)
            if each and all(one is not None and _takes(slot.type, one) for one in value):
                taken = [as_taken(slot.type, one) for one in value]
                return Given(path, "have", have=name, value=taken, each=True)
        return None

    def refused(self, ports: Ports, slot: Slot) -> str | None:
        """Return the name of a value that is named like a slot but has another type."""
        names = self._named(ports, slot.path, is_wanted=False)
        return names[0] if names and self.for_slot(ports, slot, may_repeat=True) is None else None

    def matching(self, name: str, own: Identity, kind: Type) -> bool:
        """Return whether a field holds values like one in `have`, so that items can be filtered by it."""
        value, asked = self.values[name], self._identities[name]
        same = own.words == asked.words or (bool(asked.thing) and own[:2] == asked[:2])
        options = value if isinstance(value, list) else [value]
        fits = all(one is None or _takes(kind, one) for one in options)
        return same and not isinstance(value, dict) and fits

    def unused(self, workflow: Workflow) -> tuple[tuple[str, str], ...]:
        """Return what a workflow does not use, each with the reason."""
        used = workflow.used()
        return tuple((name, self._why(workflow, name)) for name in self._identities if name not in used)

    def _why(self, workflow: Workflow, name: str) -> str:
        for task in workflow.tasks:
            for slot in task.ports.slots:
                if name in self._named(task.ports, slot.path, is_wanted=False):
                    return f"{path_text(slot.path)} of {task.ports.tool} takes {compact(slot.type)[:80]}."
        return "No step takes a value of this name."

    def _named(self, ports: Ports, path: Path, *, is_wanted: bool) -> list[str]:
        keys = keys_of(path)
        whole, own = words_of(" ".join(keys)), words_of(keys[-1])
        asked = slot_identities(keys, ports.subject)[0]
        found: list[tuple[int, str]] = []
        for name, identity in self._identities.items():
            words = words_of(name.replace(".", " "))
            if words == whole:
                found.append((0, name))
            elif words == own and (len(own) > 1 or len(keys) == 1 or _is_only(ports, own)):
                found.append((1, name))
            elif identity.attribute and identity.thing and identity[:2] == asked[:2]:
                found.append((2, name))
            elif is_wanted and words == (asked.attribute,) and _is_only_key(ports, path):
                found.append((3, name))
        return [name for _, name in sorted(found)]


def _is_only(ports: Ports, words: tuple[str, ...]) -> bool:
    """Return whether one slot of a tool has this name."""
    return sum(words_of(one.path[-1].key) == words for one in ports.slots if one.path[-1].kind == "key") == 1


def _is_only_key(ports: Ports, path: Path) -> bool:
    """Return whether a slot is the only one of the required ones that takes an identifier."""
    return [one.path for one in ports.slots if ports.needs(one) and _takes_key(one)] == [path]


def _takes_key(slot: Slot) -> bool:
    return len(slot.path) == 1 and bool(slot_identities((slot.parameter,), NO_SUBJECT)[0].attribute)


def _takes(kind: Type, value: Any) -> bool:
    return admits(kind, value) or _is_number_as_text(kind, value)


def as_taken(kind: Type, value: Any) -> Any:
    """Return a value as a type takes it: an integer as its text where text is needed."""
    return str(value) if _is_number_as_text(kind, value) else value


def _is_number_as_text(kind: Type, value: Any) -> bool:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return is_integer and not admits(kind, value) and admits(kind, str(value))


# Needs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """What is supplied as a whole: a slot, or an array with all that its items require."""

    path: Path
    slots: tuple[Slot, ...]
    is_refused: bool = False
    """Whether `have` holds a value of this name and another type; nothing else takes its place."""
    price: float = MISSING
    """What it costs if it is left open. Below `MISSING` it is optional: any one of the slots."""

    @property
    def is_array(self) -> bool:
        return bool(self.path) and self.path[-1].kind != "key"


@dataclass(frozen=True, slots=True)
class Need:
    """What one tool needs."""

    ports: Ports
    given: tuple[Given, ...]
    open: tuple[Unit, ...]

    @property
    def uses_have(self) -> bool:
        return any(one.origin == "have" for one in self.given)


def need_of(ports: Ports, have: Have, *, is_wanted: bool, may_repeat: bool) -> Need:
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
    units += [Unit((key(name),), (), is_refused=True) for name in sorted(ports.required - by_name.keys())]
    made = Need(ports, tuple(given), tuple(units))
    if not have.values or made.uses_have or units or may_change(ports):
        return made
    # A call that needs nothing may be limited to what `have` leads to.
    optional = tuple(one for one in ports.slots if len(one.path) == 1 and not takes_page(one.path))
    return Need(ports, made.given, (Unit((), optional, price=IGNORES_HAVE),))


def _whole(
    ports: Ports, slots: Sequence[Slot], have: Have, *, is_wanted: bool, may_repeat: bool
) -> Given | None:
    """Return a value for a whole parameter; for an array of plain values one of them will do."""
    outer = slots[0]
    if len(outer.path) == 1:
        return have.for_slot(ports, outer, is_wanted=is_wanted, may_repeat=may_repeat)
    found = have.for_slot(ports, outer, is_wanted=is_wanted, is_array=True)
    if found is not None or outer.type.kind == "object":
        return found
    return have.for_slot(ports, outer, is_wanted=is_wanted)


def _parts(
    ports: Ports, slots: Sequence[Slot], have: Have, *, is_wanted: bool
) -> tuple[list[Given], list[Unit]]:
    """Split a required parameter into units, and those that `have` fills."""
    given: list[Given] = []
    units: list[Unit] = []
    needed = _innermost(slots)
    if not needed:
        # An object that requires nothing.
        return [Given(slots[0].path[:1], "default", value={})], []
    arrays: dict[Path, list[Slot]] = {}
    for slot in needed:
        if many(slot.path):
            first = next(at for at, step in enumerate(slot.path, 1) if step.kind != "key")
            arrays.setdefault(slot.path[:first], []).append(slot)
            continue
        found = have.for_slot(ports, slot, is_wanted=is_wanted) if len(slot.path) > 1 else None
        if found is not None:
            given.append(found)
        else:
            units.append(Unit(slot.path, (slot,), is_refused=have.refused(ports, slot) is not None))
    for path, inner in arrays.items():
        own = [have.for_slot(ports, one, is_wanted=is_wanted) for one in inner]
        if all(own) and all(many(one.path) == 1 for one in inner):
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
