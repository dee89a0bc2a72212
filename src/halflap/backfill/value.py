"""The value in a logged result: what a program would have seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.core.values import Result
from halflap.schema import Reading, read_result

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["is_tool_result", "value_of"]

_RESULT_KEYS = frozenset({"content", "structuredContent", "isError", "_meta", "resultType"})
_TEXT_KEYS = frozenset({"type", "text", "annotations", "_meta", "cache_control"})
_KEPT_OF_BLOCKS = ("type", "mimeType", "uri", "name")
_PLAIN = Reading()


def value_of(raw: Any, reading: Reading = _PLAIN) -> tuple[Any, bool]:
    """Give the value, and whether the result says of itself that it is an error."""
    kind = type(raw)
    if kind is str:
        value = _read(Result(content=({"type": "text", "text": raw},)), reading)
        # Some write down the protocol's result, or its blocks, as text.
        if type(value) is dict or type(value) is list:
            return _unpacked(value, reading)
        return value, False
    if kind is dict or kind is list:
        return _unpacked(raw, reading)
    if kind is Result:
        return _read(raw, reading), raw.is_error
    return raw, False


def is_tool_result(raw: Any) -> bool:
    """Say whether this is what MCP calls the result of a tool."""
    if type(raw) is not dict or not _RESULT_KEYS.issuperset(raw):
        return False
    content = raw.get("content")
    if type(content) is list and all(
        type(block) is dict and type(block.get("type")) is str for block in content
    ):
        return bool(content) or len(raw) > 1
    return content is None and "structuredContent" in raw


def _unpacked(raw: Any, reading: Reading) -> tuple[Any, bool]:
    if is_tool_result(raw):
        result = Result.from_wire(raw)
        return _read(result, reading), result.is_error
    if type(raw) is list and raw and all(map(_is_text_block, raw)):
        return _read(Result(content=tuple(raw)), reading), False
    if reading.wrapped and type(raw) is dict and list(raw) == ["result"]:
        return raw["result"], False
    return raw, False


def _is_text_block(block: Any) -> bool:
    return (
        type(block) is dict
        and block.get("type") == "text"
        and type(block.get("text")) is str
        and _TEXT_KEYS.issuperset(block)
    )


def _read(result: Result, reading: Reading) -> Any:
    return read_result(result, reading, _other)


def _other(block: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a block that is not text says of itself, and nothing of what is in it."""
    resource = block.get("resource")
    source = {**resource, "type": block.get("type")} if isinstance(resource, dict) else block
    return {key: source[key] for key in _KEPT_OF_BLOCKS if source.get(key) is not None}
