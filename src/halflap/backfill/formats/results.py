"""The value in a logged result, as a program would have seen it."""

from __future__ import annotations

from typing import Any

from halflap.core.values import Result
from halflap.observe import without_data
from halflap.schema import Reading, read_result

__all__ = ["value_of"]

_RESULT_KEYS = frozenset({"content", "structuredContent", "isError", "_meta", "resultType"})
_TEXT_KEYS = frozenset({"type", "text", "annotations", "_meta", "cache_control"})
_PLAIN = Reading()


def value_of(raw: Any, reading: Reading = _PLAIN) -> tuple[Any, bool]:
    """Return the value of a result, and whether the result itself says that it is an error."""
    if type(raw) is Result:
        return _read(raw, reading), raw.is_error
    if type(raw) is str:
        raw = _read(Result(content=({"type": "text", "text": raw},)), reading)
    if _is_tool_result(raw):
        result = Result.from_wire(raw)
        return _read(result, reading), result.is_error
    if type(raw) is list and raw and all(map(_is_text_block, raw)):
        return _read(Result(content=tuple(raw)), reading), False
    if reading.wrapped and type(raw) is dict and list(raw) == ["result"]:
        return raw["result"], False
    return raw, False


def _is_tool_result(raw: Any) -> bool:
    if type(raw) is not dict or not _RESULT_KEYS.issuperset(raw):
        return False
    content = raw.get("content")
    if type(content) is list and all(type(one) is dict and type(one.get("type")) is str for one in content):
        return bool(content) or len(raw) > 1
    return content is None and "structuredContent" in raw


def _is_text_block(block: Any) -> bool:
    return (
        type(block) is dict
        and block.get("type") == "text"
        and type(block.get("text")) is str
        and _TEXT_KEYS.issuperset(block)
    )


def _read(result: Result, reading: Reading) -> Any:
    return read_result(result, reading, without_data)
