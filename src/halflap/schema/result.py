"""The value in a tool's result: one rule for programs, stubs and learning.

A declared root object with the single property `result` is a wrapper that programs never see. JSON text with too many
parts is not parsed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from halflap.core.json_bounds import check_parts
from halflap.schema.read import MAX_PARTS, read_type
from halflap.schema.types import Type, object_types, union

if TYPE_CHECKING:
    from halflap.core.values import Result, Tool

_PICTURES = frozenset({"image", "audio"})


class Reading(NamedTuple):
    """How a tool's results are read, given what it declares."""

    wrapped: bool = False
    """The declared object is a wrapper around `result`."""
    is_text: bool = False
    """The tool declares text, so its text is never parsed as JSON."""
    is_declared: bool = False
    """The tool declares what it returns, so its structured content is the value even if there is a picture."""


def reading_of(tool: Tool) -> Reading:
    declared = result_type(tool.output_schema)
    is_text = declared is not None and _is_text(declared)
    return Reading(is_wrapped(tool.output_schema), is_text, is_declared=declared is not None)


def _is_text(kind: Type) -> bool:
    if kind.kind == "union":
        inner = [member for member in kind.members if member.kind != "null"]
        return bool(inner) and all(_is_text(member) for member in inner)
    if kind.kind == "values":
        return all(isinstance(value, str) for value in kind.values)
    return kind.kind == "string"


def read_result(result: Result, reading: Reading, other: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Return the structured content if there is any, else the content blocks, each read on its own.

    A picture or sound of a tool that declares nothing is kept, also if there is structured content. `other` returns the
    value of a block that is not text.
    """
    is_picture = not reading.is_declared and any(block.get("type") in _PICTURES for block in result.content)
    if result.has_structured_content and result.structured_content is not None and not is_picture:
        value = result.structured_content
        if reading.wrapped and type(value) is dict and list(value) == ["result"]:
            return value["result"]
        return value
    parts = [_block(block, other, is_text=reading.is_text) for block in result.content]
    if len(parts) <= 1:
        return parts[0] if parts else None
    return "\n".join(parts) if all(isinstance(part, str) for part in parts) else parts


def _block(block: Mapping[str, Any], other: Callable[[Mapping[str, Any]], Any], *, is_text: bool) -> Any:
    if block.get("type") != "text":
        return other(block)
    text = block.get("text")
    if not isinstance(text, str):
        return "" if text is None else text
    # Only objects and arrays are parsed: a number stays the text that it is.
    if is_text or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        check_parts(text)
        return parse_json(text)
    except (ValueError, RecursionError):
        return text


def is_wrapped(schema: Any) -> bool:
    """Return whether a declared output is a wrapper."""
    return bool(schema) and _is_wrapper(read_type(schema))


def result_type(schema: Mapping[str, Any] | None, *, max_parts: int = MAX_PARTS) -> Type | None:
    """Return the type of the value that a program gets, unwrapped; None where the schema says nothing about it."""
    if not schema:
        return None
    read = read_type(schema, max_parts=max_parts)
    if _is_wrapper(read):
        inner = [field.type for one in object_types(read) for field in one.fields]
        read = union([*inner, *(one for one in read.members if one.kind != "object")])
    return read if is_informative(read) else None


def is_informative(kind: Type) -> bool:
    """Return whether a type says anything about a value: a field, an item, a plain type."""
    if kind.kind in {"any", "cut"}:
        return False
    if kind.kind == "object":
        return bool(kind.fields) or (kind.extra is not None and is_informative(kind.extra))
    if kind.kind == "array":
        return kind.items is not None and is_informative(kind.items)
    return True


def _is_wrapper(kind: Type) -> bool:
    objects = object_types(kind)
    return bool(objects) and all([one.name for one in each.fields] == ["result"] for each in objects)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"there is no {name} in it")


_parse = json.JSONDecoder(parse_constant=_refuse_constant).decode
"""Made once: making a decoder takes as long as parsing a short line."""


def parse_json(text: str) -> Any:
    """Parse JSON without Python's `NaN` and `Infinity`; raise `ValueError` or `RecursionError`."""
    return _parse(text)


def json_problem(error: ValueError) -> str:
    """Return why a text is not JSON, without Python's terms."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg}, at character {error.pos + 1}"
    return f"not JSON: {error}"
