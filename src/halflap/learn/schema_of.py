"""A shape as JSON Schema 2020-12, and as the `schema.Type` that stubs, signatures and the graph use.

Everything that was seen validates against the schema, and little else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

from halflap.core.text import iso
from halflap.learn.confidence import confidence
from halflap.learn.merge import cut_below, merge_records
from halflap.learn.shape import KINDS, Place, Record, Shape
from halflap.learn.variants import Variant, repeated_values, variants_of
from halflap.schema import ANY, PLAIN, Field, Type, union

_Schema = dict[str, Any]
_MOST_PLACES = 3_000
"""Places of a type; deeper levels are cut off. Doubling it doubles what the largest stubs take to write and check."""


def schema_of(shape: Shape, *, enums: bool = False) -> _Schema:
    """Return the JSON Schema of a shape.

    With `enums`, few strings that repeat are enumerated, where values were kept. `x-halflap` has the evidence at the
    root, and marks places below which something was cut off.
    """
    schema = _of_place(shape.root, enums)
    schema["x-halflap"] = {
        "observations": shape.observations,
        "confidence": round(confidence(shape, enums=enums), 4),
        "firstSeen": iso(shape.first),
        "lastSeen": iso(shape.last),
        **schema.get("x-halflap", {}),
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def brief(shape: Shape, most: int, *, enums: bool = False) -> Shape:
    """Cut a shape so that its schema has at most this many bytes of JSON.

    The deepest levels go first. If the first level alone is too much, its variants become one record; if that is too
    much, only the kinds at the root are left.
    """
    if _size(shape, enums) <= most:
        return shape
    root = shape.root
    found = replace(shape, root=cut_below(root, 0), depth=0)
    one = replace(root, records={None: reduce(merge_records, root.records.values(), Record())}, mixed=True)
    for depth, place in [(1, one), *((depth, root) for depth in range(1, shape.depth))]:
        cut = replace(shape, root=cut_below(place, depth), depth=depth)
        if _size(cut, enums) > most:
            break
        found = cut
    return found


def kinds_of(place: Place) -> list[str]:
    """Return the kinds seen at a place, in order; integers among other numbers are numbers."""
    return [
        kind for kind in KINDS if kind in place.kinds and not (kind == "integer" and "number" in place.kinds)
    ]


def _size(shape: Shape, enums: bool) -> int:
    return len(json.dumps(schema_of(shape, enums=enums), ensure_ascii=False).encode(errors="surrogatepass"))


def _of_place(place: Place, enums: bool) -> _Schema:
    kinds = kinds_of(place)
    variants = variants_of(place) if "object" in kinds else []
    schema: _Schema = {}
    if "other" in kinds:
        pass
    elif len(variants) > 1:
        others = [kind for kind in kinds if kind != "object"]
        schema["anyOf"] = [*_branches(variants, enums), *([_plain(place, others, enums)] if others else [])]
    else:
        schema = _plain(place, kinds, enums)
        for variant in variants:
            schema |= _object(variant.record, enums)
    if place.cut:
        schema["x-halflap"] = {"cut": ["depth"]}
    return schema


def _plain(place: Place, kinds: list[str], enums: bool) -> _Schema:
    if not kinds:
        return {}
    schema: _Schema = {"type": kinds[0] if len(kinds) == 1 else kinds}
    if place.format:
        schema["format"] = place.format
    if "array" in kinds and place.items is not None:
        schema["items"] = _of_place(place.items, enums)
    values = repeated_values(place) if enums and set(kinds) <= {"string", "null"} else []
    if values:
        schema["enum"] = [*values, *([None] if "null" in kinds else [])]
    return schema


def _object(record: Record, enums: bool) -> _Schema:
    schema: _Schema = {}
    if record.keys:
        keys = sorted(record.keys.items())
        schema["properties"] = {name: _of_place(key.place, enums) for name, key in keys}
        required = [name for name, key in keys if not key.missing.times]
        if required:
            schema["required"] = required
    if record.rest is not None:
        schema["additionalProperties"] = _of_place(record.rest, enums)
    return schema


def _branches(variants: list[Variant], enums: bool) -> Iterator[_Schema]:
    """Write each variant, and what is known of objects whose tag has a value not seen yet."""
    known: dict[str, list[Any]] = {}
    for variant in variants:
        if variant.key is not None:
            known[variant.key] = [*known.get(variant.key, ()), *sorted(variant.values, key=repr)]
    for variant in variants:
        schema = _object(variant.record, enums)
        if variant.key is None:
            others = {key: {"not": {"enum": values}} for key, values in known.items()}
            yield {"type": "object", **schema, "properties": {**others, **schema.get("properties", {})}}
        else:
            values = sorted(variant.values, key=repr)
            yield _tagged(schema, variant.key, {"const": values[0]} if len(values) == 1 else {"enum": values})
    # Of another kind of object, nothing is known but what is common to all, one level deep.
    together = reduce(merge_records, (variant.record for variant in variants))
    shallow = {name: key._replace(place=cut_below(key.place, 0)) for name, key in together.keys.items()}
    rest = None if together.rest is None else cut_below(together.rest, 0)
    common = _object(replace(together, keys=shallow, rest=rest), enums)
    for key, values in known.items():
        kinds = sorted({"boolean" if type(value) is bool else "string" for value in values})
        if kinds != ["boolean"] or len(values) == 1:
            yield _tagged(
                common, key, {"type": kinds[0] if len(kinds) == 1 else kinds, "not": {"enum": values}}
            )


def _tagged(schema: _Schema, key: str, tag: _Schema) -> _Schema:
    # A crowded record requires nothing, and would accept objects without a tag.
    required = sorted({*schema.get("required", ()), key})
    properties = {**schema.get("properties", {}), key: tag}
    return {"type": "object", **schema, "properties": properties, "required": required}


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
