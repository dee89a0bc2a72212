"""A shape as a `schema.Type`: what stubs, signatures and the graph use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.learn.formats import FORMATS
from halflap.learn.merge import cut_below
from halflap.learn.schema_of import kinds_of
from halflap.learn.variants import repeated_values, variants_of
from halflap.schema import ANY, PLAIN, Field, Type, union

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.learn.shape import Place, Record, Shape
    from halflap.learn.variants import Variant

__all__ = ["type_of"]

_MOST_PLACES = 3_000
"""Places of a type; deeper levels are cut off. Doubling it doubles what the largest stubs take to write and check."""


def type_of(
    shape: Shape, *, enums: bool = False, is_opaque: Callable[[Record], bool] = lambda _: False
) -> Type:
    """Return the type of a shape; objects of which a program sees no fields are `is_opaque`."""
    depth, places, level = 0, 1, shape.root.below()
    while level and places + len(level) <= _MOST_PLACES:
        depth, places, level = (
            depth + 1,
            places + len(level),
            [inner for one in level for inner in one.below()],
        )
    return _Reader(enums, is_opaque).place(cut_below(shape.root, depth))


class _Reader:
    def __init__(self, enums: bool, is_opaque: Callable[[Record], bool]) -> None:
        self._enums = enums
        self._is_opaque = is_opaque

    def place(self, place: Place) -> Type:
        kinds = kinds_of(place)
        if not kinds or "other" in kinds:
            return ANY
        values = repeated_values(place) if self._enums and set(kinds) <= {"string", "null"} else []
        if values:
            return Type("values", values=(*values, *([None] if "null" in kinds else [])))
        variants = variants_of(place) if "object" in kinds else []
        objects = [self._object(variant) for variant in variants] or [Type("object")]
        others = [self._plain(place, kind) for kind in kinds if kind != "object"]
        if "object" not in kinds:
            return union(others)
        return union([*objects, *others] if len(objects) > 1 else [*others, *objects])

    def _plain(self, place: Place, kind: str) -> Type:
        if kind == "array":
            return Type("array", items=None if place.items is None else self.place(place.items))
        if kind == "string" and place.formats is not None and place.formats.kept:
            return Type("string", format=FORMATS[place.formats.kept.bit_length() - 1])
        return Type(PLAIN[kind])

    def _object(self, variant: Variant) -> Type:
        record = variant.record
        if self._is_opaque(record):
            return ANY
        fields = {
            name: Field(name, self.place(key.place), not key.missing.times)
            for name, key in sorted(record.keys.items())
        }
        if variant.key is not None:
            tag = Type("values", values=tuple(sorted(variant.values, key=repr)))
            fields[variant.key] = Field(variant.key, tag, required=True)
        extra = None if record.rest is None else self.place(record.rest)
        return Type("object", fields=tuple(fields.values()), extra=extra)
