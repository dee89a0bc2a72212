"""The value in a result, without the protocol's wrapping: one rule for programs, stubs and what is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.schema.returned import is_wrapped, returned
from halflap.schema.strict import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.core.values import Result, Tool
    from halflap.schema.types import Type

__all__ = ["Reading", "read_result", "reading_of"]


class Reading(NamedTuple):
    """How a tool's results are to be read."""

    wrapped: bool = False
    """What it declares is a wrapper: the value stands under `result`."""
    is_text: bool = False
    """Text is what it declares to return, and is not to be read as anything else."""


def reading_of(tool: Tool) -> Reading:
    """Say how a tool's results are to be read, by what it declares."""
    declared = returned(tool.output_schema)
    return Reading(is_wrapped(tool.output_schema), declared is not None and _is_text(declared))


def _is_text(kind: Type) -> bool:
    if kind.kind == "union":
        inner = [member for member in kind.members if member.kind != "null"]
        return bool(inner) and all(_is_text(member) for member in inner)
    if kind.kind == "values":
        return all(isinstance(value, str) for value in kind.values)
    return kind.kind == "string"


def read_result(result: Result, reading: Reading, other: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Give structured content if there is any, else what the blocks say, each read on its own.

    `other` says what a block is that is not text.
    """
    if result.has_structured_content and result.structured_content is not None:
        value = result.structured_content
        if reading.wrapped and type(value) is dict and list(value) == ["result"]:
            return value["result"]
        return value
    parts = [_part(block, other, is_text=reading.is_text) for block in result.content]
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, str) for part in parts):
        return "\n".join(parts)
    return parts


def _part(block: Mapping[str, Any], other: Callable[[Mapping[str, Any]], Any], *, is_text: bool) -> Any:
    if block.get("type") != "text":
        return other(block)
    text = block.get("text")
    if not isinstance(text, str):
        return "" if text is None else text
    return text if is_text else _read(text)


def _read(text: str) -> Any:
    """Read a JSON object or array; anything else stays the text that it is, also a number."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return text
