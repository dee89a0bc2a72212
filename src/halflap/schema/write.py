"""Write types as text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.schema.clean import clean

if TYPE_CHECKING:
    from halflap.schema.types import Type

__all__ = ["compact", "literal", "type_name"]

_MOST_VALUES = 12
_MOST_FIELDS = 60
_LONGEST = 100


def compact(kind: Type) -> str:
    """Write a type in one line: `{orders: [{order_id: string}], has_more: boolean}`."""
    if kind.kind == "values":
        shown = [literal(value) for value in kind.values[:_MOST_VALUES]]
        return " | ".join(shown if len(kind.values) <= _MOST_VALUES else [*shown, "…"])
    if kind.kind == "union":
        return " | ".join(compact(member) for member in kind.members)
    if kind.kind == "array":
        return "array" if kind.items is None else f"[{compact(kind.items)}]"
    if kind.kind == "object":
        return _object(kind)
    return {"again": "…", "cut": "…"}.get(kind.kind, kind.kind)


def _object(kind: Type) -> str:
    # Where nothing is said to be required, that everything is optional is no news.
    tells = any(one.required for one in kind.fields)
    parts = [
        "…"
        if one.name == "…"
        else f"{_key(one.name)}{'?' if tells and not one.required else ''}: {compact(one.type)}"
        for one in kind.fields[:_MOST_FIELDS]
    ]
    if len(kind.fields) > _MOST_FIELDS:
        parts.append("…")
    if kind.extra is not None:
        parts.append(f"[key]: {compact(kind.extra)}")
    return f"{{{', '.join(parts)}}}" if parts else "object"


def _key(name: str) -> str:
    shown = clean(name, _LONGEST)
    return shown if shown.replace("_", "a").replace("-", "a").isalnum() else literal(shown)


def type_name(kind: Type) -> str:
    """Name a type in a word or a few: `string`, `array of object`, `integer | null`."""
    if kind.kind == "values":
        names = dict.fromkeys(_name_of(value) for value in kind.values)
        return " | ".join(names)
    if kind.kind == "union":
        return " | ".join(dict.fromkeys(type_name(member) for member in kind.members))
    if kind.kind == "array" and kind.items is not None:
        return f"array of {type_name(kind.items)}"
    return {"again": "object", "cut": "any"}.get(kind.kind, kind.kind)


def _name_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "any")


def literal(value: Any) -> str:
    """Write a JSON value, cut where it is long."""
    return clean(json.dumps(value, ensure_ascii=False, default=str), _LONGEST)
