"""Turn a shape into JSON Schema 2020-12, and into the `schema.Type` that stubs, signatures and the graph use.

Everything that was seen validates against the schema, and little else does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from itertools import groupby
from typing import Any

from halflap.core.text import iso
from halflap.learn.confidence import confidence
from halflap.learn.merge import cut_below, merge_records
from halflap.learn.shape import KINDS, Place, Record, Scalar, Shape
from halflap.learn.variants import Objects, Variant, objects_of, repeated_values
from halflap.schema import ANY, PLAIN, Field, Type, union

_Schema = dict[str, Any]
_MOST_PLACES = 3_000
"""Places of a type; deeper levels are cut off. Doubling it doubles the time to write and check the largest stubs."""


def schema_of(shape: Shape, *, enums: bool = False) -> _Schema:
    """Return the JSON Schema of a shape.

    With `enums`, strings that repeat are enumerated where values were stored. `x-halflap` has the evidence at the root,
    and marks places where deeper levels were left out.
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
    """Cut a shape so that its schema has at most about this many bytes of JSON.

    The deepest levels go first. If the first level alone is too much, its variants become one record; if that is too
    much, only the kinds at the root are left.
    """

    def fits(root: Place) -> bool:
        text = json.dumps(_of_place(root, enums), ensure_ascii=False)
        return len(text.encode(errors="surrogatepass")) <= most

    root = shape.root
    if fits(root):
        return shape
    found = replace(shape, root=cut_below(root, 0), depth=0)
    one = replace(root, records={None: reduce(merge_records, root.records.values(), Record())}, mixed=True)
    for depth, place in [(1, one), *((depth, root) for depth in range(1, shape.depth))]:
        cut = cut_below(place, depth)
        if not fits(cut):
            break
        found = replace(shape, root=cut, depth=depth)
    return found


def kinds_of(place: Place) -> list[str]:
    """Return the kinds seen at a place, in order; integers among other numbers are numbers."""
    return [
        kind for kind in KINDS if kind in place.kinds and not (kind == "integer" and "number" in place.kinds)
    ]


def _of_place(place: Place, enums: bool) -> _Schema:
    kinds = kinds_of(place)
    schema: _Schema = {}
    if "other" not in kinds:
        schema = _plain(place, kinds, enums)
        if "object" in kinds:
            schema |= _of_objects(objects_of(place), enums)
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
    values = _enumerated(place, kinds) if enums else []
    if values:
        schema["enum"] = values
    return schema


def _of_objects(objects: Objects, enums: bool) -> _Schema:
    """Write what holds for all objects at a place, and under `anyOf` what holds for each variant alone."""
    every = objects.every
    # `additionalProperties` applies to every key that is not listed next to it.
    keys = objects.shared if every.rest is None else every.keys
    schema = _keys({name: _of_place(key.place, enums) for name, key in keys.items()}, _required(every))
    if every.rest is not None:
        schema["additionalProperties"] = _of_place(every.rest, enums)
    if objects.variants:
        schema["anyOf"] = list(_branches(objects, enums))
    return schema


def _keys(properties: Mapping[str, _Schema], required: Iterable[str]) -> _Schema:
    schema: _Schema = {"properties": dict(sorted(properties.items()))} if properties else {}
    return {**schema, "required": sorted(required)} if required else schema


def _required(record: Record) -> set[str]:
    return {name for name, key in record.keys.items() if not key.missing.times}


def _branches(objects: Objects, enums: bool) -> Iterator[_Schema]:
    """Write what holds for each variant alone, and that other values of a tag are possible."""
    always = _required(objects.every)
    # An object has one tag, the first by rank, so variants with later keys exclude the earlier tags.
    earlier: dict[str, _Schema] = {}
    for key, variants in groupby(objects.variants, lambda variant: variant.key):
        known: list[Scalar] = []
        for variant in variants:
            properties = {**earlier}
            for name in variant.own - {key}:
                properties[name] = _of_place(variant.record.keys[name].place, enums) | earlier.get(name, {})
            if key is not None:
                values = sorted(variant.values, key=repr)
                properties[key] = {"const": values[0]} if len(values) == 1 else {"enum": values}
                known += values
            yield _keys(properties, _required(variant.record) - always)
        if key is not None:
            earlier[key] = {"not": {"enum": known}}
            kinds = sorted({"boolean" if type(value) is bool else "string" for value in known})
            if kinds != ["boolean"] or len(known) == 1:
                others = {"type": kinds[0] if len(kinds) == 1 else kinds, **earlier[key]}
                yield _keys({**earlier, key: others}, {key} - always)


def type_of(
    shape: Shape, *, enums: bool = False, is_opaque: Callable[[Record], bool] = lambda _: False
) -> Type:
    """Return the type of a shape; `is_opaque` recognises objects whose fields a program does not see."""
    return _TypeBuilder(is_opaque, enums=enums).of_place(_fitting(shape.root))


class _TypeBuilder:
    def __init__(self, is_opaque: Callable[[Record], bool], *, enums: bool) -> None:
        self._is_opaque = is_opaque
        self._enums = enums

    def of_place(self, place: Place) -> Type:
        kinds = kinds_of(place)
        if not kinds or "other" in kinds:
            return ANY
        values = _enumerated(place, kinds) if self._enums else []
        if values:
            return Type("values", values=tuple(values))
        others = [self._plain(place, kind) for kind in kinds if kind != "object"]
        objects = self._objects(objects_of(place)) if "object" in kinds else []
        return union([*objects, *others] if len(objects) > 1 else [*others, *objects])

    def _plain(self, place: Place, kind: str) -> Type:
        if kind == "array":
            return Type("array", items=None if place.items is None else self.of_place(place.items))
        return Type(PLAIN[kind], format=place.format or None if kind == "string" else None)

    def _objects(self, objects: Objects) -> list[Type]:
        shared = {name: self.of_place(key.place) for name, key in objects.shared.items()}
        extra = None if objects.every.rest is None else self.of_place(objects.every.rest)
        if not objects.variants:
            return [self._object(objects.every, shared, extra)]
        return [
            self._object(variant.record, shared | self._own(variant), extra) for variant in objects.variants
        ]

    def _own(self, variant: Variant) -> dict[str, Type]:
        own = {name: self.of_place(variant.record.keys[name].place) for name in variant.own}
        if variant.key is not None:
            own[variant.key] = Type("values", values=tuple(sorted(variant.values, key=repr)))
        return own

    def _object(self, record: Record, types: Mapping[str, Type], extra: Type | None) -> Type:
        if self._is_opaque(record):
            return ANY
        required = _required(record)
        fields = (Field(name, types[name], name in required) for name in sorted(record.keys))
        return Type("object", fields=tuple(fields), extra=extra)


def _enumerated(place: Place, kinds: list[str]) -> list[str | None]:
    values = repeated_values(place) if set(kinds) <= {"string", "null"} else []
    return [*values, None] if values and "null" in kinds else [*values]


def _fitting(root: Place) -> Place:
    depth, places, level = 0, 1, root.below()
    while level and places + len(level) <= _MOST_PLACES:
        depth, places = depth + 1, places + len(level)
        level = [inner for one in level for inner in one.below()]
    return cut_below(root, depth)
