"""Infer a JSON Schema from a value, and merge two schemas, for code that works with schemas instead of shapes."""

from __future__ import annotations

from functools import reduce
from typing import Any

_TYPES: dict[str, type | tuple[type, ...]] = {
    "null": type(None), "boolean": bool, "integer": int, "number": float, "string": str, "array": (list, tuple), "object": dict,
}  # fmt: skip
_SIMPLE = frozenset({"type", "properties", "required", "items"})


def infer_schema_from_value(value: Any) -> dict[str, Any]:
    """Return the JSON Schema of a value, `{}` for what JSON does not have.

    It requires no keys: one value cannot tell which are always there.
    """
    kind = next((name for name, types in _TYPES.items() if isinstance(value, types)), None)
    schema: dict[str, Any] = {} if kind is None else {"type": kind}
    if kind == "object":
        schema["properties"] = {str(name): infer_schema_from_value(one) for name, one in value.items()}
    elif kind == "array" and value:
        schema["items"] = reduce(merge_schemas, map(infer_schema_from_value, value))
    return schema


def merge_schemas(existing: dict[str, Any], observed: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that accepts what either accepts, and requires the keys that were always there.

    In an object schema without `required`, all properties count as seen. A merged schema always has `required`, even
    if empty, so that a key that was missing once is never required again.
    """
    both = (existing, observed)
    if not existing or not observed:
        return {}
    if not all("type" in schema and schema.keys() <= _SIMPLE for schema in both):
        choices = [
            one for schema in both for one in (schema["anyOf"] if schema.keys() == {"anyOf"} else [schema])
        ]
        different = sorted((one for at, one in enumerate(choices) if one not in choices[:at]), key=repr)
        return different[0] if len(different) == 1 else {"anyOf": different}
    types = {*_types_of(existing), *_types_of(observed)}
    names = [name for name in _TYPES if name in types and not (name == "integer" and "number" in types)]
    merged: dict[str, Any] = {"type": names[0] if len(names) == 1 else names}
    objects = [schema for schema in both if "object" in _types_of(schema)]
    if objects:
        properties: dict[str, Any] = {}
        for schema in objects:
            for name, inner in schema.get("properties", {}).items():
                properties[name] = merge_schemas(properties[name], inner) if name in properties else inner
        always = [set(schema.get("required", schema.get("properties", {}))) for schema in objects]
        merged |= {"properties": properties, "required": sorted(set.intersection(*always))}
    items = [schema["items"] for schema in both if "items" in schema]
    if items:
        merged["items"] = reduce(merge_schemas, items)
    return merged


def _types_of(schema: dict[str, Any]) -> list[str]:
    types = schema["type"]
    return [types] if isinstance(types, str) else list(types)
