"""A shape as a `schema.Type`: what stubs, signatures and the graph use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from halflap.learn.merge import cut_below
from halflap.learn.schema_of import kinds_of
from halflap.learn.variants import Variant, repeated_values, variants_of
from halflap.schema import ANY, PLAIN, Field, Type, union

if TYPE_CHECKING:
    from halflap.learn.shape import Place, Record, Shape

_MOST_PLACES = 3_000
"""Places of a type; deeper levels are cut off. Doubling it doubles what the largest stubs take to write and check."""


def type_of(
    shape: Shape, *, enums: bool = False, is_opaque: Callable[[Record], bool] = lambda _: False
) -> Type:
    """Return the type of a shape; objects of which a program sees no fields are `is_opaque`."""

    def of_place(place: Place) -> Type:
        kinds = kinds_of(place)
        if not kinds or "other" in kinds:
            return ANY
        values = repeated_values(place) if enums and set(kinds) <= {"string", "null"} else []
        if values:
            return Type("values", values=(*values, *([None] if "null" in kinds else [])))
        others = [plain(place, kind) for kind in kinds if kind != "object"]
        if "object" not in kinds:
            return union(others)
        objects = [of_object(variant) for variant in variants_of(place)] or [Type("object")]
        return union([*objects, *others] if len(objects) > 1 else [*others, *objects])

    def plain(place: Place, kind: str) -> Type:
        if kind == "array":
            return Type("array", items=None if place.items is None else of_place(place.items))
        return Type(PLAIN[kind], format=place.format or None if kind == "string" else None)

    def of_object(variant: Variant) -> Type:
        record = variant.record
        if is_opaque(record):
            return ANY
        fields = {
            name: Field(name, of_place(key.place), not key.missing.times)
            for name, key in sorted(record.keys.items())
        }
        if variant.key is not None:
            tag = Type("values", values=tuple(sorted(variant.values, key=repr)))
            fields[variant.key] = Field(variant.key, tag, required=True)
        extra = None if record.rest is None else of_place(record.rest)
        return Type("object", fields=tuple(fields.values()), extra=extra)

    return of_place(_fitting(shape.root))


def _fitting(root: Place) -> Place:
    depth, places, level = 0, 1, root.below()
    while level and places + len(level) <= _MOST_PLACES:
        depth, places = depth + 1, places + len(level)
        level = [inner for one in level for inner in one.below()]
    return cut_below(root, depth)
