"""What is at hand: which parameter it can be given to, by name and by type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from halflap.graph.words import words_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.edge import Ports, Slot
    from halflap.schema import Type

__all__ = ["Have", "admits"]

_DEEPEST = 20


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

    def parameter(self, ports: Ports, name: str, kind: Type | None) -> str | None:
        """Give the name of what can be given to a whole parameter.

        `id` of a tool that is about customers takes a `customer_id`.
        """
        said = words_of(name)
        found = self._named(name, said, kind)
        if found is None and len(said) == 1 and said[0] == "id":
            about = words_of(ports.original_name or ports.tool)
            near = sorted({one for one in about if (one, "id") in self._by_words})
            found = self._named("", (near[0], "id"), kind) if len(near) == 1 else None
        return found

    def slot(self, slot: Slot) -> str | None:
        """Give the name of what can be given to a slot inside of a parameter.

        Its whole path may be named, or its own name alone where that says something.
        """
        keys = [step.key for step in slot.path if step.kind == "key"]
        whole = words_of(" ".join(keys))
        found = self._named(".".join(keys), whole, slot.type)
        own = words_of(keys[-1])
        if found is None and slot.path[-1].kind == "key" and len(own) > 1:
            found = self._named(keys[-1], own, slot.type)
        return found

    def refused(self, slot: Slot) -> str | None:
        """Give the name of what is called like a slot and is of another type."""
        keys = [step.key for step in slot.path if step.kind == "key"]
        names = self._by_words.get(words_of(" ".join(keys))) or self._by_words.get(words_of(keys[-1])) or []
        wrong = [
            one for one in names if self._values[one] is not None and not admits(slot.type, self._values[one])
        ]
        return wrong[0] if wrong else None

    def _named(self, name: str, said: tuple[str, ...], kind: Type | None) -> str | None:
        names = self._by_words.get(said, []) if said else []
        for one in sorted(names, key=lambda one: (one != name, one)):
            if kind is None or self._values[one] is None or admits(kind, self._values[one]):
                return one
        return None


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
