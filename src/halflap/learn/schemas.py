"""Infer a JSON Schema from a value and merge two schemas, for code that keeps schemas instead of shapes."""

from __future__ import annotations

from functools import reduce
from typing import Any

from halflap.learn.shape import DEEPEST

__all__ = ["infer_schema_from_value", "merge_schemas"]

_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_SCALARS: tuple[tuple[type, str], ...] = (
    (type(None), "null"),
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
)
_SIMPLE = frozenset({"type", "properties", "required", "items"})


def infer_schema_from_value(value: Any) -> dict[str, Any]:
    """Return the JSON Schema of a value, `{}` for what JSON does not have.

    It requires no keys: one value cannot tell which are always there.
    """
    return _infer(value, DEEPEST)


def merge_schemas(existing: dict[str, Any], observed: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that accepts what either accepts, and requires the keys that were always there.

    In an object schema without `required`, all properties count as seen. A merged schema always has `required`, even
    if empty, so that a key that was missing once is never required again.
    """
    if not existing or not observed:
        return {}
    if not all("type" in schema and schema.keys() <= _SIMPLE for schema in (existing, observed)):
        return _either(existing, observed)
    types = {*_types_of(existing), *_types_of(observed)}
    if "number" in types:
        types.discard("integer")
    names = [name for name in _TYPES if name in types]
    merged: dict[str, Any] = {"type": names[0] if len(names) == 1 else names}
    if "object" in types:
        merged.update(_merge_objects(existing, observed))
    items = [one["items"] for one in (existing, observed) if "items" in one]
    if items:
        merged["items"] = reduce(merge_schemas, items)
    return merged


def _infer(value: Any, left: int) -> dict[str, Any]:
    for kind, name in _SCALARS:
        if isinstance(value, kind):
            return {"type": name}
    if isinstance(value, list | tuple):
        if not value or not left:
            return {"type": "array"}
        return {"type": "array", "items": reduce(merge_schemas, (_infer(item, left - 1) for item in value))}
    if isinstance(value, dict):
        if not left:
            return {"type": "object"}
        return {
            "type": "object",
            "properties": {str(name): _infer(inner, left - 1) for name, inner in value.items()},
        }
    return {}


def _merge_objects(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    sides = [side for side in (one, other) if "object" in _types_of(side)]
    properties: dict[str, Any] = {}
    for side in sides:
        for name, schema in side.get("properties", {}).items():
            properties[name] = merge_schemas(properties[name], schema) if name in properties else schema
    always = [set(side.get("required", side.get("properties", {}))) for side in sides]
    return {"properties": properties, "required": sorted(set.intersection(*always))}


def _types_of(schema: dict[str, Any]) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def _either(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    choices: list[Any] = []
    for schema in (one, other):
        for choice in schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]:
            if choice not in choices:
                choices.append(choice)
    return choices[0] if len(choices) == 1 else {"anyOf": sorted(choices, key=repr)}
