"""Shapes without the values that `learning.values` has them keep: what would have been learned without it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.learn.names import TAG_KEYS, is_tag_value
from halflap.learn.shape import Key, Place, Record, Shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.learn.evidence import Tally
    from halflap.learn.shape import Scalar

__all__ = ["has_values", "without_values"]


def without_values(shape: Shape) -> Shape:
    """Give a shape with no other values than the words and booleans under tag keys."""
    return replace(shape, root=_place(shape.root)) if has_values(shape) else shape


def has_values(shape: Shape) -> bool:
    """Say whether a shape has values that are kept with `learning.values` alone."""
    return _keeps(shape.root)


def _place(place: Place, name: str | None = None) -> Place:
    return replace(
        place,
        values=None if _has_own(place, name) else place.values,
        items=None if place.items is None else _place(place.items),
        records={tag: _record(record) for tag, record in place.records.items()},
    )


def _record(record: Record) -> Record:
    return replace(
        record,
        keys={name: Key(_place(key.place, name), key.missing) for name, key in record.keys.items()},
        rest=None if record.rest is None else _place(record.rest),
    )


def _keeps(place: Place, name: str | None = None) -> bool:
    if _has_own(place, name) or (place.items is not None and _keeps(place.items)):
        return True
    return any(
        (record.rest is not None and _keeps(record.rest))
        or any(_keeps(key.place, inner) for inner, key in record.keys.items())
        for record in place.records.values()
    )


def _has_own(place: Place, name: str | None) -> bool:
    values: Mapping[Scalar, Tally] | None = place.values
    return bool(values) and not (name in TAG_KEYS and all(map(is_tag_value, values or ())))
