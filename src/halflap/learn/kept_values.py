"""Values that shapes keep only with `learning.values`: leave secrets out of them, and take them out again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from halflap.learn.names import TAG_KEYS, is_tag_value
from halflap.learn.shape import DEEPEST, Key, Place, Record, Shape

__all__ = ["Unkept", "has_values", "with_unkept", "without_values"]


class Unkept(str):
    """A text whose kind and format count. As a key it is data; at its place no value is kept, before or after."""

    __slots__ = ()


def with_unkept(value: Any, redacted: Any, level: int = 0) -> Any:
    """Return a value in which the texts that redaction changes are `Unkept`.

    Words under tag keys stay: they are kept in any case.
    """
    if level > DEEPEST:
        return value
    if isinstance(value, str):
        return value if value == redacted else Unkept(value)
    if isinstance(value, Mapping):
        return {
            key if key == name else Unkept(key): member
            if key in TAG_KEYS and is_tag_value(member)
            else with_unkept(member, inner, level + 1)
            for (key, member), (name, inner) in zip(value.items(), redacted.items(), strict=True)
        }
    if isinstance(value, list | tuple):
        return [with_unkept(one, other, level + 1) for one, other in zip(value, redacted, strict=True)]
    return value


def has_values(shape: Shape) -> bool:
    """Return whether a shape has values that are kept with `learning.values` only."""
    return without_values(shape) is not shape


def without_values(shape: Shape) -> Shape:
    """Return a shape with no values but the words and booleans under tag keys."""
    root = _place(shape.root, None)
    return shape if root is shape.root else replace(shape, root=root)


def _place(place: Place, name: str | None) -> Place:
    own = place.values and not (name in TAG_KEYS and all(map(is_tag_value, place.values)))
    items = None if place.items is None else _place(place.items, None)
    records = {tag: _record(record) for tag, record in place.records.items()}
    if not own and items is place.items and all(records[tag] is place.records[tag] for tag in records):
        return place
    return replace(place, values=None if own else place.values, items=items, records=records)


def _record(record: Record) -> Record:
    keys = {name: Key(_place(key.place, name), key.missing) for name, key in record.keys.items()}
    rest = None if record.rest is None else _place(record.rest, None)
    if rest is record.rest and all(keys[name].place is record.keys[name].place for name in keys):
        return record
    return replace(record, keys=keys, rest=rest)
