"""A tool's schemas, taken apart: its parameters as slots, its results as places."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.graph.outputs import places_of
from halflap.graph.paths import EACH, VALUE, Path, key
from halflap.graph.ports import MAX_DEPTH, MAX_PORTS, Ports, Slot, only_value, parts_of, taken_part
from halflap.schema import Type, extra_of, fields_of, is_informative, object_types, read_type

if TYPE_CHECKING:
    from halflap.core.values import Tool
    from halflap.schema import Field

__all__ = ["ports_of"]


def ports_of(
    tool: Tool,
    learned: Type | None = None,
    *,
    is_destructive: bool = False,
    changes: bool | None = None,
    latency_ms: float | None = None,
    learned_confidence: float = 0.5,
) -> Ports:
    """Take a tool's schemas apart: what it declares to return first, then what was learned of its results."""
    taken = _taken(object_types(read_type(tool.input_schema)))
    slots = sorted((slot for one in taken for slot in _slots(one)), key=lambda slot: len(slot.path))
    places, result = places_of(tool.output_schema, learned, learned_confidence)
    return Ports(
        tool=tool.name,
        server=tool.server,
        places=places,
        slots=tuple(slots[:MAX_PORTS]),
        required=frozenset(one.name for one in taken if one.required and not one.has_default),
        description=tool.description,
        original_name=tool.original_name,
        is_destructive=is_destructive,
        changes=changes,
        latency_ms=latency_ms,
        result=result,
    )


def _taken(objects: Sequence[Type]) -> tuple[Field, ...]:
    """Return the keys of an object that is taken; one with a single possible value counts as having a default."""
    return tuple(
        replace(one, has_default=True) if one.required and only_value(one.type) is not None else one
        for one in fields_of(objects)
    )


def _slots(field: Field) -> Iterator[Slot]:
    """Yield what a value can be put into, breadth-first: a key itself unless it is an array, and all inside it."""
    todo: deque[tuple[Type, Path, Field]] = deque([(field.type, (key(field.name),), field)])
    made = 0
    while todo and made < MAX_PORTS:
        kind, path, own = todo.popleft()
        parts = parts_of(kind)
        taken = taken_part(parts)
        if taken is not None:
            made += 1
            description = own.description or kind.description
            yield Slot(path, taken, own.required, own.has_default, description, own.default)
        if len(path) > MAX_DEPTH:
            continue
        objects = [one for one in parts if one.kind == "object"]
        todo.extend((one.type, (*path, key(one.name)), one) for one in _taken(objects))
        extra = extra_of(objects)
        if extra is not None and is_informative(extra):
            # No key of a map is required.
            todo.append((extra, (*path, VALUE), replace(own, required=False, description=extra.description)))
        for array in (one for one in parts if one.kind == "array"):
            todo.append((array.items or Type("any"), (*path, EACH), own))
