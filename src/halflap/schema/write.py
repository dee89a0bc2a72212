"""Write types, names and values as text, of which nobody can make more than one line."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from halflap.core.text import visible

if TYPE_CHECKING:
    from halflap.schema.types import Type

__all__ = ["compact", "key", "literal", "plain", "type_name"]

_MOST_VALUES = 12
_MOST_FIELDS = 60
_LONGEST = 100
_DEEPEST = 8
_MOST_PARTS = 60
_NAME = re.compile(r"[\w$@.-]+")
_DOUBTFUL = re.compile(r"""[,"]|\. |\A(?:[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?|true|false|null)\Z|\A[\[{]""")
"""Text that could be read as a number, as several values, or as what follows it."""
_WHOLE = 2**64
"""Python refuses to write very large numbers; up to here it does, and a model can read them."""


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
    tells = any(one.required for one in kind.fields) or bool(kind.needed)
    parts = [
        "…"
        if one.name == "…"
        else f"{key(one.name)}{'?' if tells and not one.required else ''}: {compact(one.type)}"
        for one in kind.fields[:_MOST_FIELDS]
    ]
    parts += [f"{key(name)}: any" for name in kind.needed[: _MOST_FIELDS - len(parts)]]
    if len(kind.fields) + len(kind.needed) > _MOST_FIELDS:
        parts.append("…")
    if kind.extra is not None:
        parts.append(f"[key]: {compact(kind.extra)}")
    return f"{{{', '.join(parts)}}}" if parts else "object"


def type_name(kind: Type) -> str:
    """Name a type in a word or a few: `string`, `array of object`, `integer | null`."""
    if kind.kind == "values":
        names = dict.fromkeys(_name_of(value) for value in kind.values)
        return " | ".join(names)
    if kind.kind == "union":
        return " | ".join(dict.fromkeys(type_name(member) for member in kind.members))
    if kind.kind == "array" and kind.items is not None:
        return f"array of {type_name(kind.items)}"
    return {"again": kind.names, "cut": "any"}.get(kind.kind) or kind.kind


def _name_of(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}
    return names.get(type(value), "any")


def key(name: str) -> str:
    """Write a name: as it is if it is plain, else in quotes, with what cannot be seen made visible."""
    shown = visible(name, _LONGEST)
    return shown if shown == name and _NAME.fullmatch(name) else literal(name)


def plain(value: Any) -> str:
    """Write a value as a person would: text without quotes, where that leaves no doubt."""
    if isinstance(value, str) and value and value == value.strip() and not _DOUBTFUL.search(value[:_LONGEST]):
        return visible(value, _LONGEST)
    return literal(value)


def literal(value: Any) -> str:
    """Write a JSON value, cut where it is long; what cannot be seen in it is written as its number."""
    cut = _Cut().cut(value, 0)
    return visible(json.dumps(cut, ensure_ascii=False, default=str), _LONGEST)


class _Cut:
    """Takes as much of a value as can be shown, before the whole is written only to be cut."""

    def __init__(self) -> None:
        self._parts = 0

    def cut(self, value: Any, depth: int) -> Any:
        self._parts += 1
        if isinstance(value, str):
            return value[: _LONGEST + 1]
        if isinstance(value, int) and abs(value) > _WHOLE:
            return float(value) if abs(value) < 10**300 else "a very large number"
        if not isinstance(value, dict | list | tuple):
            return value
        if depth >= _DEEPEST:
            return "…"
        if isinstance(value, dict):
            return {
                str(name)[: _LONGEST + 1]: self.cut(inner, depth + 1)
                for name, inner in value.items()
                if self._parts <= _MOST_PARTS
            }
        return [self.cut(inner, depth + 1) for inner in value if self._parts <= _MOST_PARTS]
