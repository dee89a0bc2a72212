"""The one writer from types to text. A type takes one line, whatever a server puts in names and values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from halflap.core.text import visible

if TYPE_CHECKING:
    from halflap.schema.types import Type

_MAX_VALUES = 12
_MAX_FIELDS = 60
_MAX_TEXT = 100
_MAX_PATH = 1_000
_MAX_DEPTH = 8
_UNLIMITED = 1_000
_NAME = re.compile(r"[\w$@.-]+")
_PATH_NAME = re.compile(r"[\w$@-]+")
_AMBIGUOUS = re.compile(r"""[,"]|\. |\A(?:[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?|true|false|null)\Z|\A[\[{]""")
"""Text that could be mistaken for a number, for several values, or for the words around it."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, default=str)
_JSON_NAMES = {
    bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object",
    type(None): "null",
}  # fmt: skip


def compact(kind: Type, longest: int | None = None) -> str:
    """Write a type in one line: `{orders: [{order_id: string}], has_more: boolean}`."""
    if longest is None:
        return compact_to(kind, _UNLIMITED)
    return within(longest, lambda depth: compact_to(kind, depth))


def within(longest: int, write: Callable[[int], str]) -> str:
    """Write with as many levels as fit: the deepest are dropped first. The text may still be too long."""
    text = write(_UNLIMITED)
    for depth in range(_MAX_DEPTH, -1, -1):
        if len(text) <= longest:
            break
        text = write(depth)
    return text


def compact_to(kind: Type, depth: int) -> str:
    """Write a type down to a depth, with `…` for what is below."""
    if kind.kind == "values":
        shown = [literal(value) for value in kind.values[:_MAX_VALUES]]
        return " | ".join(shown if len(kind.values) <= _MAX_VALUES else [*shown, "…"])
    if kind.kind == "union":
        return " | ".join(dict.fromkeys(compact_to(member, depth) for member in kind.members))
    if kind.kind == "array":
        if kind.items is None:
            return "array"
        return f"[{'…' if depth == 0 else compact_to(kind.items, depth - 1)}]"
    if kind.kind == "object":
        return _object(kind, depth)
    return "…" if kind.kind == "cut" else kind.kind


def _object(kind: Type, depth: int) -> str:
    # If nothing is required, marking every key as optional is noise.
    marks = any(one.required for one in kind.fields)
    if depth == 0 and (kind.fields or kind.extra):
        return "{…}"
    parts = [
        f"{key(one.name)}{'?' if marks and not one.required else ''}: {compact_to(one.type, depth - 1)}"
        for one in kind.fields[:_MAX_FIELDS]
    ]
    if kind.partial or len(kind.fields) > _MAX_FIELDS:
        parts.append("…")
    if kind.extra is not None:
        parts.append(f"[key]: {compact_to(kind.extra, depth - 1)}")
    return f"{{{', '.join(parts)}}}" if parts else "object"


def type_name(kind: Type) -> str:
    """Return a type's short name: `string`, `array of object`, `integer | null`."""
    if kind.kind == "values":
        return " | ".join(dict.fromkeys(_JSON_NAMES.get(type(value), "any") for value in kind.values))
    if kind.kind == "union":
        return " | ".join(dict.fromkeys(type_name(member) for member in kind.members))
    if kind.kind == "array" and kind.items is not None:
        return f"array of {type_name(kind.items)}"
    return "any" if kind.kind == "cut" else kind.kind


def key(name: str) -> str:
    """Write a plain name unchanged, any other in quotes with invisible characters spelled out."""
    shown = visible(name, _MAX_TEXT)
    return shown if shown == name and _NAME.fullmatch(name) else literal(name)


def plain(value: Any) -> str:
    """Write a value, without quotes where that is unambiguous."""
    if (
        isinstance(value, str)
        and value
        and value == value.strip()
        and not _AMBIGUOUS.search(value[:_MAX_TEXT])
    ):
        return visible(value, _MAX_TEXT)
    return literal(value)


def literal(value: Any) -> str:
    """Write a JSON value, shortened, with invisible characters spelled out."""
    text = ""
    try:
        # Chunk by chunk, so that a large value is not written whole only to be cut.
        for chunk in _ENCODER.iterencode(value[: _MAX_TEXT + 1] if isinstance(value, str) else value):
            text += chunk
            if len(text) > _MAX_TEXT:
                break
    except ValueError:  # Python refuses to write integers of thousands of digits.
        text += "a very large number"
    return visible(text, _MAX_TEXT)


def path_of(parts: Sequence[str | int]) -> str:
    """Write a path into a value: `orders[2].total`, and `a["1"]` for a key that looks like an index."""
    text = ""
    for part in parts[:_MAX_PATH]:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PATH_NAME.fullmatch(part) and not part.isdigit() and len(part) <= _MAX_TEXT:
            shown = visible(part, _MAX_TEXT)
            text += shown if not text else f".{shown}"
        else:
            text += f"[{literal(part)}]"
    return text[:_MAX_PATH]
