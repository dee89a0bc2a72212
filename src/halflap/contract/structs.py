"""msgspec's types in the contract: their schemas, and their values as JSON; msgspec is loaded only where it is used."""

from __future__ import annotations

import sys
from typing import Any, get_args, get_origin, get_type_hints

from halflap.contract.relations import KEYWORD, marks_in

__all__ = ["has_struct", "is_struct", "struct_schema", "struct_to_json"]

_REFERENCE = "#/$defs/{name}"


def is_struct(kind: Any) -> bool:
    """Say whether a type is one of msgspec's."""
    return isinstance(kind, type) and any(
        base.__module__.partition(".")[0] == "msgspec" for base in kind.__mro__[1:]
    )


def has_struct(annotation: Any) -> bool:
    """Say whether an annotation is one of msgspec's types, or a list, a union … of such."""
    if is_struct(get_origin(annotation) or annotation):
        return True
    return any(has_struct(one) for one in get_args(annotation))


def struct_to_json(value: Any) -> Any:
    """Give a value of one of msgspec's types as JSON."""
    if not is_struct(type(value)):
        raise TypeError(f"a {type(value).__name__} cannot be written as JSON")
    return sys.modules["msgspec"].to_builtins(value, str_keys=True)


def struct_schema(annotation: Any) -> dict[str, Any]:
    """Give the JSON Schema of an annotation that has msgspec's types in it."""
    from msgspec.json import schema_components  # noqa: PLC0415 -- whoever has such a type has msgspec

    (schema,), found = schema_components([annotation], ref_template=_REFERENCE)
    defined: dict[str, Any] = dict(found)
    for kind in _structs_in(annotation, {}).values():
        _mark_fields(kind, defined.get(kind.__name__, {}))
    return {**schema, "$defs": defined} if defined else dict(schema)


def _structs_in(annotation: Any, met: dict[int, type]) -> dict[int, type]:
    kind = get_origin(annotation) or annotation
    if is_struct(kind) and id(kind) not in met:
        met[id(kind)] = kind
        for hint in get_type_hints(kind, include_extras=True).values():
            _structs_in(hint, met)
    for one in get_args(annotation):
        _structs_in(one, met)
    return met


def _mark_fields(kind: type, schema: dict[str, Any]) -> None:
    """Put what annotations say of fields into their schemas: msgspec passes over what it does not know."""
    from msgspec.structs import fields  # noqa: PLC0415

    hints = get_type_hints(kind, include_extras=True)
    properties = schema.get("properties", {})
    for field in fields(kind):
        if field.encode_name in properties:
            _mark(hints[field.name], properties[field.encode_name])


def _mark(annotation: Any, schema: dict[str, Any]) -> None:
    said = marks_in(annotation)
    if said:
        schema[KEYWORD] = said
    inner = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    if get_origin(inner) in {list, set, frozenset} and isinstance(schema.get("items"), dict):
        _mark(get_args(inner)[0], schema["items"])
