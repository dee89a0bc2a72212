"""What is at hand: which parameter it can be given to, by name and by type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from halflap.graph.edge import key, path_text
from halflap.graph.vocabulary import CHANGING, IDENTIFYING, PERSONS, telling
from halflap.graph.words import words_of
from halflap.graph.workflow import Given
from halflap.schema import compact

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.graph.edge import Ports, Slot
    from halflap.graph.workflow import Workflow
    from halflap.schema import Type

__all__ = ["Have", "admits"]

_DEEPEST = 20
_TELLING = 0.7
_ANOTHER = CHANGING | PERSONS | {"parent", "child", "related", "other"}
"""What makes another thing of the one that it stands before."""


class Have:
    """The values at hand, by the words of their names."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._by_words: dict[tuple[str, ...], list[str]] = {}
        for name in sorted(values):
            self._by_words.setdefault(words_of(name), []).append(name)

    def __bool__(self) -> bool:
        return bool(self._values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def value(self, name: str, kind: Type | None) -> Any:
        """Give a value as a type takes it: a whole number as its text where text is needed."""
        value = self._values[name]
        if kind is not None and self.is_each(kind, name):
            return [_as_taken(kind, one) for one in value]
        return _as_taken(kind, value)

    def is_each(self, kind: Type | None, name: str) -> bool:
        """Say whether a value is a list of what a type takes one of: the call is made for each."""
        value = self._values[name]
        if kind is None or not isinstance(value, list) or admits(kind, value):
            return False
        return bool(value) and all(one is not None and _taken(kind, one) for one in value)

    def parameter(self, ports: Ports, name: str, kind: Type | None, *, is_wanted: bool = False) -> str | None:
        """Give the name of what can be given to a whole parameter.

        `id` of a tool that is about customers takes a `customer_id`. The other way round an `id` is that of what is
        wanted, where one parameter alone can be meant.
        """
        said = words_of(name)
        found = self._named(name, said, kind, or_each=True)
        about = words_of(ports.original_name or ports.tool)
        if found is None and said == ("id",):
            near = sorted({one for one in about if (one, "id") in self._by_words})
            found = self._named("", (near[0], "id"), kind, or_each=True) if len(near) == 1 else None
        if found is None and is_wanted and said not in self._by_words and name in ports.required:
            own = {one for one in ports.required if _is_own_id(words_of(one), about)}
            found = self._named("id", ("id",), kind, or_each=True) if own == {name} else None
            rest = () if found is not None else _alone_in(ports, name)
            found = self._named("", rest, kind, or_each=True) if rest else found
        return found

    def item(self, ports: Ports, slot: Slot, *, is_wanted: bool) -> str | None:
        """Give the name of what can be the only item of a parameter that takes several."""
        found = self._named(slot.parameter, words_of(slot.parameter), slot.type)
        if found is None and is_wanted and slot.parameter in ports.required:
            found = self._named("", _alone_in(ports, slot.parameter), slot.type)
        return found

    def slot(self, slot: Slot, *, alone: bool = False) -> str | None:
        """Give the name of what can be given to a slot inside of a parameter.

        Its whole path may be named, or its own name alone where that says something; `alone`: nothing else has it.
        """
        keys = [step.key for step in slot.path if step.kind == "key"]
        whole = words_of(" ".join(keys))
        found = self._named(".".join(keys), whole, slot.type)
        own = words_of(keys[-1])
        if found is None and slot.path[-1].kind == "key" and (len(own) > 1 or alone):
            found = self._named(keys[-1], own, slot.type)
        return found

    def refused(self, slot: Slot) -> str | None:
        """Give the name of what is called like a slot and is of another type.

        Whoever gives it means this slot: nothing else is to be put in its place.
        """
        keys = [step.key for step in slot.path if step.kind == "key"]
        own = words_of(keys[-1])
        names = [*self._by_words.get(words_of(" ".join(keys)), ())]
        if len(own) > 1 and slot.path[-1].kind == "key":
            names += self._by_words.get(own, ())
        or_each = len(slot.path) == 1
        found = next((one for one in names if not self._fits(slot.type, one, or_each=or_each)), None)
        return self._refused_inside(slot, keys) if found is None else found

    def _refused_inside(self, slot: Slot, keys: list[str]) -> str | None:
        """Give the place in an object at hand that has something of another type than a slot takes."""
        value: Any = self._values
        for one in keys:
            if not isinstance(value, dict) or one not in value:
                return None
            value = value[one]
        inside = len(keys) > 1 and slot.path[-1].kind == "key"
        return ".".join(keys) if inside and value is not None and not _taken(slot.type, value) else None

    def left(self, used: set[str]) -> Iterator[str]:
        """Give the names of what is not used; of an object, its parts may be."""
        for name in sorted(self._values):
            if not any(one == name or one.startswith(f"{name}.") for one in used):
                yield name

    def is_among(self, ports: Ports) -> bool:
        """Say whether something at hand is called as a field of the items that a tool returns: it chooses among them."""
        return bool(self._by_words) and any(
            words_of(place.path[-1].key) in self._by_words
            for place in ports.places
            if place.path and place.path[-1].kind == "key" and any(step.kind != "key" for step in place.path)
        )

    def to_compare(self, name: str, kind: Type) -> Given | None:
        """Give a value, or several, as what is of a type can be compared with; None if nothing of it can be the same."""
        value = self._values[name]
        if isinstance(value, dict) or not self._fits(kind, name, or_each=True):
            return None
        return Given(
            (key(name),), "have", have=name, value=self.value(name, kind), each=self.is_each(kind, name)
        )

    def unused(self, workflow: Workflow) -> Iterator[tuple[str, str]]:
        """Give what no step of a workflow uses, each with the reason."""
        for name in self.left(set(workflow.at_hand())):
            refusing = next(
                (
                    (task.ports.tool, slot)
                    for task in workflow.tasks
                    for slot in task.ports.slots
                    if self.refused(slot) == name
                ),
                None,
            )
            if refusing is None:
                yield name, self._untaken(workflow, name)
            else:
                tool, slot = refusing
                yield name, f"{path_text(slot.path)} of {tool} takes {compact(slot.type)[:80]}."

    def _untaken(self, workflow: Workflow, name: str) -> str:
        """Say why something at hand goes nowhere: nothing is called so, or something inside of a parameter is."""
        for task in workflow.tasks:
            for slot in task.ports.slots:
                keys = [step.key for step in slot.path if step.kind == "key"]
                if len(keys) > 1 and words_of(keys[-1]) == words_of(name):
                    path, tool = path_text(slot.path), task.ports.tool
                    return f"It may be {path} of {tool}: give it as {'.'.join(keys)!r}, or give {keys[0]} as a whole."
        for task in workflow.tasks:
            for place in task.ports.places:
                # What is in lists within the items is not theirs.
                is_item = sum(step.kind != "key" for step in place.path) == 1 and place.path[-1].kind == "key"
                if is_item and words_of(place.path[-1].key) == words_of(name):
                    path, tool = path_text(place.path), task.ports.tool
                    return f"No step takes it. {path} of {tool} is called so, but nothing is chosen by that."
        return "No step takes anything of this name."

    def _fits(self, kind: Type | None, name: str, *, or_each: bool = False) -> bool:
        value = self._values[name]
        if kind is None or value is None or _taken(kind, value):
            return True
        return or_each and self.is_each(kind, name)

    def _named(
        self, name: str, said: tuple[str, ...], kind: Type | None, *, or_each: bool = False
    ) -> str | None:
        names = self._by_words.get(said, []) if said else []
        for one in sorted(names, key=lambda one: (one != name, one)):
            if self._fits(kind, one, or_each=or_each):
                return one
        return None


def _taken(kind: Type, value: Any) -> bool:
    return admits(kind, value) or _as_text(kind, value)


def _as_taken(kind: Type | None, value: Any) -> Any:
    return value if kind is None or not _as_text(kind, value) else str(value)


def _as_text(kind: Type, value: Any) -> bool:
    """Say whether a value is a whole number, and its text what a type takes."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and not admits(kind, value) and admits(kind, str(value))


def _alone_in(ports: Ports, name: str) -> tuple[str, ...]:
    """Give what names a thing in a parameter's name, if no other parameter names such a one: `track_id` of `seed_track_ids`.

    Who is a parent or an owner of something is another than that.
    """
    said = words_of(name)
    for start in range(1, len(said) - 1):
        if said[start - 1] in _ANOTHER:
            return ()
        rest = said[start:]
        others = {slot.parameter for slot in ports.slots} | ports.required
        if telling(rest) >= _TELLING and rest[-1] in IDENTIFYING:
            alike = [one for one in others if words_of(one)[-len(rest) :] == rest]
            return rest if alike == [name] else ()
    return ()


def _is_own_id(said: tuple[str, ...], about: tuple[str, ...]) -> bool:
    return len(said) > 1 and said[-1] == "id" and set(said[:-1]) <= set(about)


def admits(kind: Type, value: Any, depth: int = 0) -> bool:
    """Say whether a value can be of a type; where that is not known, it can."""
    if kind.kind == "union":
        return any(admits(one, value, depth) for one in kind.members)
    if kind.kind == "values":
        return any(_same(one, value) for one in kind.values)
    if kind.kind == "array":
        inner = kind.items
        return isinstance(value, list) and (
            inner is None or depth > _DEEPEST or all(admits(inner, one, depth + 1) for one in value)
        )
    if kind.kind == "object":
        return isinstance(value, dict) and (
            depth > _DEEPEST
            or all(
                admits(one.type, value[one.name], depth + 1) if one.name in value else not one.required
                for one in kind.fields
            )
        )
    return _admits_plain(kind.kind, value)


def _admits_plain(kind: str, value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind == "integer":
        return number and (isinstance(value, int) or (math.isfinite(value) and value == int(value)))
    checks: dict[str, bool] = {
        "string": isinstance(value, str),
        "number": number,
        "boolean": isinstance(value, bool),
        "null": value is None,
        "never": False,
    }
    return checks.get(kind, True)


def _same(one: Any, other: Any) -> bool:
    return one == other and isinstance(one, bool) == isinstance(other, bool)
