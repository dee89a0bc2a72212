"""The values in `have`: which parameter each can be given to, by name and by type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from halflap.graph.naming import NO_SUBJECT, slot_identities, words_of
from halflap.graph.paths import Path, keys_of, many, path_text
from halflap.graph.types import admits
from halflap.graph.workflow import Given, Workflow
from halflap.schema import compact

if TYPE_CHECKING:
    from halflap.graph.naming import Identity
    from halflap.graph.ports import Ports, Slot
    from halflap.schema import Type

__all__ = ["Have", "as_taken"]


class Have:
    """Values by name; None for a value that is supplied later."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self._identities = {
            name: slot_identities(tuple(name.split(".")), NO_SUBJECT)[0] for name in sorted(values)
        }

    def __bool__(self) -> bool:
        return bool(self.values)

    def for_slot(
        self, ports: Ports, slot: Slot, *, is_wanted: bool, is_array: bool = False, may_repeat: bool = True
    ) -> Given | None:
        """Return what can be given to a slot.

        Its name fits if it has the same words, as a path or alone, or identifies the same: `customer_id` for the `id` of
        `get_customer`. A bare `id` is that of the wanted tool, where that takes one. A list fits a slot for one value:
        the call is made for each, if it `may_repeat`. With `is_array`, the slot stands for the array around it.
        """
        path = slot.path[:-1] if is_array else slot.path
        for name in self._named(ports, path, is_wanted=is_wanted):
            value = self.values[name]
            if value is None or (isinstance(value, list) if is_array else _takes(slot.type, value)):
                taken = value if is_array or value is None else as_taken(slot.type, value)
                return Given(path, "have", have=name, value=taken)
            each = may_repeat and isinstance(value, list) and bool(value) and not is_array and not many(path)
            if each and all(one is not None and _takes(slot.type, one) for one in value):
                return Given(
                    path, "have", have=name, value=[as_taken(slot.type, one) for one in value], each=True
                )
        return None

    def refused(self, ports: Ports, slot: Slot) -> str | None:
        """Return the name of a value that is called like a slot and has another type."""
        names = self._named(ports, slot.path, is_wanted=False)
        return names[0] if names and self.for_slot(ports, slot, is_wanted=False) is None else None

    def matching(self, name: str, own: Identity, kind: Type) -> bool:
        """Return whether a field holds values like one in `have`, so that items can be filtered by it."""
        value, asked = self.values[name], self._identities[name]
        same = own.words == asked.words or (bool(asked.thing) and own[:2] == asked[:2])
        options = value if isinstance(value, list) else [value]
        return (
            same and not isinstance(value, dict) and all(one is None or _takes(kind, one) for one in options)
        )

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
    keys = [
        one.path
        for one in ports.slots
        if len(one.path) == 1
        and ports.needs(one)
        and slot_identities((one.parameter,), NO_SUBJECT)[0].attribute
    ]
    return keys == [path]


def _takes(kind: Type, value: Any) -> bool:
    return admits(kind, value) or _is_number_as_text(kind, value)


def as_taken(kind: Type, value: Any) -> Any:
    """Return a value as a type takes it: an integer as its text where text is needed."""
    return str(value) if _is_number_as_text(kind, value) else value


def _is_number_as_text(kind: Type, value: Any) -> bool:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return is_integer and not admits(kind, value) and admits(kind, str(value))
