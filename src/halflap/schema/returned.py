"""What a program gets of what a tool declares to return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.schema.fields import choices_of, fields_of
from halflap.schema.join import union
from halflap.schema.refer import References
from halflap.schema.types import read_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.schema.kinds import Type

__all__ = ["is_wrapped", "returned", "says_something"]

_MOST_STEPS = 20


def is_wrapped(schema: Any) -> bool:
    """Say whether a declared output is a mere wrapper: its root has the single property `result`.

    The root may stand behind a reference, or be all that an `allOf` is of; so some libraries write it.
    """
    return bool(schema) and _has_result_alone(schema) and _is_wrapper(read_type(schema))


def returned(schema: Mapping[str, Any] | None) -> Type | None:
    """Give the type of the value that a program gets, without the wrapper; None where nothing is said of it."""
    if not schema:
        return None
    read = read_type(schema)
    if _has_result_alone(schema) and _is_wrapper(read):
        inner = [field.type for one in choices_of(read) for field in one.fields]
        read = union([*inner, *(one for one in read.members if one.kind != "object")])
    return read if says_something(read) else None


def says_something(kind: Type) -> bool:
    """Say whether a type tells more than that there is a value: a field, an item, a plain kind."""
    if kind.kind in {"any", "cut", "again"}:
        return False
    if kind.kind == "object":
        return bool(kind.fields) or (kind.extra is not None and says_something(kind.extra))
    if kind.kind == "array":
        return kind.items is not None and says_something(kind.items)
    return True


def _has_result_alone(schema: Any) -> bool:
    """Say whether `result` is the only property where the root says its properties."""
    part = schema
    references = References(schema)
    for _ in range(_MOST_STEPS):
        if not isinstance(part, dict):
            return False
        if "properties" in part:
            return isinstance(part["properties"], dict) and list(part["properties"]) == ["result"]
        whole = part.get("allOf")
        if "$ref" in part:
            part = references.find(part["$ref"])
        elif isinstance(whole, list) and len(whole) == 1:
            part = whole[0]
        else:
            return False
    return False


def _is_wrapper(kind: Type) -> bool:
    """Say whether no part of the schema adds anything to `result`."""
    objects = choices_of(kind)
    return bool(objects) and all([one.name for one in fields_of([each])] == ["result"] for each in objects)
