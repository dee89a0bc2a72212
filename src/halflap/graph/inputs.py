"""A tool's schemas, taken apart: its parameters as slots, its results as places."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.graph.outputs import outputs_of
from halflap.graph.paths import EACH, VALUE, Path, key
from halflap.graph.ports import MAX_DEPTH, MAX_PORTS, Ports, Slot, only_value, parts_of, taken_part
from halflap.schema import Type, extra_of, fields_of, is_informative, object_types, read_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    objects = object_types(read_type(tool.input_schema))
    taken = _taken(objects)
    slots = sorted((slot for one in taken for slot in _slots(one)), key=lambda slot: len(slot.path))
    outputs = outputs_of(tool.output_schema, learned, learned_confidence)
    return Ports(
        tool=tool.name,
        server=tool.server,
        places=outputs.places,
        slots=tuple(slots[:MAX_PORTS]),
        required=frozenset(one.name for one in taken if one.required and not one.has_default),
        choices=tuple(map(frozenset, _alternatives(objects))),
        description=tool.description,
        original_name=tool.original_name,
        is_destructive=is_destructive,
        changes=changes,
        latency_ms=latency_ms,
        result=outputs.result,
        signs=outputs.signs,
        beside=outputs.beside,
    )


def _taken(objects: Sequence[Type]) -> tuple[Field, ...]:
    """Return the keys of the input; where one of several sets is enough, the smallest is required.

    A key with a single possible value counts as having a default.
    """
    fields = tuple(
        replace(one, has_default=True) if one.required and only_value(one.type) is not None else one
        for one in fields_of(objects)
    )
    needed = min(_alternatives(objects), key=len, default=[])
    return tuple(replace(one, required=True) if one.name in needed else one for one in fields)


def _alternatives(objects: Sequence[Type]) -> list[list[str]]:
    """Return the sets of keys of which one is required, unless a key's value tells the objects apart."""
    if len(objects) == 1 or any(_discriminates(one, objects) for one in fields_of(objects)):
        return []
    return [[*one.needed, *(field.name for field in one.fields if field.required)] for one in objects]


def _discriminates(field: Field, objects: Sequence[Type]) -> bool:
    own = [one for each in objects for one in each.fields if one.name == field.name]
    values = {one.type.comparable_values for one in own if one.type.kind == "values"}
    return field.required and len(values) == len(objects)


def _slots(field: Field) -> Iterator[Slot]:
    """Yield what a value can be put into, breadth-first: a key itself unless it is an array, and all inside it."""
    todo: deque[tuple[Type, Path, Field]] = deque([(field.type, (key(field.name),), field)])
    made = 0
    while todo and made < MAX_PORTS:
        kind, path, own = todo.popleft()
        parts = parts_of(kind)
        objects = [one for one in parts if one.kind == "object"]
        taken = taken_part(parts)
        if taken is not None:
            made += 1
            description = own.description or kind.description
            yield Slot(path, taken, own.required, own.has_default, description, own.default)
        if len(path) > MAX_DEPTH:
            continue
        todo.extend((one.type, (*path, key(one.name)), one) for one in _taken(objects) if objects)
        extra = extra_of(objects)
        if extra is not None and is_informative(extra):
            # No key of a map is required.
            inside = replace(own, required=False, description=extra.description)
            todo.append((extra, (*path, VALUE), inside))
        for array in (one for one in parts if one.kind == "array"):
            todo.append((array.items or Type("any"), (*path, EACH), own))
