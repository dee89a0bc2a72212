"""Turn a shape into JSON Schema 2020-12, and into the `schema.Type` that stubs, signatures and the graph use.

Everything that was seen validates against the schema, and little else does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby, takewhile
from typing import Any

from halflap.core.text import iso
from halflap.learn.confidence import confidence
from halflap.learn.merge import cut_below
from halflap.learn.shape import DEEPEST, KINDS, Place, Record, Scalar, Shape
from halflap.learn.variants import Objects, Variant, objects_of, repeated_values
from halflap.schema import ANY, PLAIN, Field, Type, union

_Schema = dict[str, Any]
_MOST_PLACES = 3_000
"""Places of a type; deeper levels are cut off. Doubling it doubles the time to write and check the largest stubs."""


def schema_of(shape: Shape) -> _Schema:
    """Return the JSON Schema of a shape.

    `x-halflap` has the evidence at the root, and marks places where deeper levels were left out.
    """
    return _document(shape.root, _evidence(shape))


def brief(shape: Shape, most: int) -> _Schema:
    """Return the JSON Schema of as many levels of a shape as fit into this many bytes of JSON, at least the type."""
    evidence = _evidence(shape)
    levels = (_document(cut_below(shape.root, depth), evidence) for depth in range(DEEPEST))
    return [next(levels), *takewhile(lambda schema: len(json.dumps(schema)) <= most, levels)][-1]


def _evidence(shape: Shape) -> _Schema:
    return {
        "observations": shape.observations,
        "confidence": round(confidence(shape), 4),
        "firstSeen": iso(shape.first),
        "lastSeen": iso(shape.last),
    }


def _document(root: Place, evidence: _Schema) -> _Schema:
    schema = _of_place(root)
    schema["x-halflap"] = {**evidence, **schema.get("x-halflap", {})}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def kinds_of(place: Place) -> list[str]:
    """Return the kinds seen at a place, in order; integers among other numbers are numbers."""
    return [
        kind for kind in KINDS if kind in place.kinds and not (kind == "integer" and "number" in place.kinds)
    ]


def _of_place(place: Place) -> _Schema:
    kinds = kinds_of(place)
    schema: _Schema = {}
    if "other" not in kinds:
        schema = _plain(place, kinds)
        if "object" in kinds:
            schema |= _of_objects(objects_of(place))
    if place.cut:
        schema["x-halflap"] = {"cut": ["depth"]}
    return schema


def _plain(place: Place, kinds: list[str]) -> _Schema:
    if not kinds:
        return {}
    schema: _Schema = {"type": kinds[0] if len(kinds) == 1 else kinds}
    if place.format:
        schema["format"] = place.format
    if "array" in kinds and place.items is not None:
        schema["items"] = _of_place(place.items)
    values = _enumerated(place, kinds)
    if values:
        schema["enum"] = values
    return schema


def _of_objects(objects: Objects) -> _Schema:
    """Write what holds for all objects at a place, and under `anyOf` what holds for each variant alone."""
    every = objects.every
    # `additionalProperties` applies to every key that is not listed next to it.
    keys = objects.shared if every.rest is None else every.keys
    schema = _keys({name: _of_place(key.place) for name, key in keys.items()}, _required(every))
    if every.rest is not None:
        schema["additionalProperties"] = _of_place(every.rest)
    if objects.variants:
        schema["anyOf"] = list(_branches(objects))
    return schema


def _keys(properties: Mapping[str, _Schema], required: Iterable[str]) -> _Schema:
    schema: _Schema = {"properties": dict(sorted(properties.items()))} if properties else {}
    return {**schema, "required": sorted(required)} if required else schema


def _required(record: Record) -> set[str]:
    return {name for name, key in record.keys.items() if not key.missing.times}


def _branches(objects: Objects) -> Iterator[_Schema]:
    """Write what holds for each variant alone, and that other values of a tag are possible."""
    always = _required(objects.every)
    # An object has one tag, the first by rank, so variants with later keys exclude the earlier tags.
    earlier: dict[str, _Schema] = {}
    for key, variants in groupby(objects.variants, lambda variant: variant.key):
        known: list[Scalar] = []
        for variant in variants:
            properties = {**earlier}
            for name in variant.own - {key}:
                properties[name] = _of_place(variant.record.keys[name].place) | earlier.get(name, {})
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


def type_of(shape: Shape, *, is_opaque: Callable[[Place], bool] = lambda _: False) -> Type:
    """Return the type of a shape; `is_opaque` recognises objects whose fields a program does not see."""
    return _TypeBuilder(is_opaque).of_place(_fitting(shape.root))


class _TypeBuilder:
    def __init__(self, is_opaque: Callable[[Place], bool]) -> None:
        self._is_opaque = is_opaque

    def of_place(self, place: Place) -> Type:
        kinds = kinds_of(place)
        if not kinds or "other" in kinds or self._is_opaque(place):
            return ANY
        values = _enumerated(place, kinds)
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
