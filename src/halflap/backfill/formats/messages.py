"""Calls and results in model conversations: OpenAI's chat completions and responses, and Anthropic's messages."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from halflap.backfill.formats.events import SAME_RECORD, Answer, Event, called

__all__ = ["is_message", "message_events"]

_ROLES = frozenset({"assistant", "user", "system", "developer", "tool", "function"})
_ITEMS = frozenset({"function_call", "function_call_output", "mcp_call"})
"""Items of OpenAI's responses."""


def is_message(record: Any) -> bool:
    return type(record) is dict and (record.get("role") in _ROLES or record.get("type") in _ITEMS)


def message_events(message: dict[str, Any], at: float | None, conversation: Hashable) -> Iterator[Event]:
    """Yield the calls and results in a message; they are paired within one conversation."""
    for kind, id_, *rest in _item(message) if message.get("type") in _ITEMS else _message(message):
        if kind == "call":
            name, arguments, server = rest
            yield called((conversation, id_), server or None, name, arguments, run=conversation)
        else:
            content, is_error = rest
            yield Answer((conversation, id_), _as_mcp(content), at, is_error)


def _item(item: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield what an item of OpenAI's responses says, as `message_events` takes it apart."""
    if item["type"] == "function_call_output":
        yield "answer", _id(item.get("call_id")), item.get("output"), False
        return
    id_ = SAME_RECORD if item["type"] == "mcp_call" else _id(item.get("call_id"))
    yield "call", id_, item.get("name"), item.get("arguments"), item.get("server_label")
    if item["type"] == "mcp_call" and item.get("output") is not None:
        yield "answer", id_, item["output"], bool(item.get("error"))


def _message(message: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield what a message of OpenAI's chat or Anthropic says, as `message_events` takes it apart."""
    for one in _objects(message.get("tool_calls")):
        for function in _objects([one.get("function")]):
            yield "call", _id(one.get("id")), function.get("name"), function.get("arguments"), None
    for function in _objects([message.get("function_call")]):
        name = function.get("name")
        yield "call", ("function", _id(name)), name, function.get("arguments"), None
    content, role = message.get("content"), message.get("role")
    if role == "tool":
        yield "answer", _id(message.get("tool_call_id")), content, False
    elif role == "function":
        yield "answer", ("function", _id(message.get("name"))), content, False
    else:
        for block in _objects(content):
            if block.get("type") in {"tool_use", "mcp_tool_use"}:
                server = block.get("server_name")
                yield "call", _id(block.get("id")), block.get("name"), block.get("input"), server
            elif block.get("type") in {"tool_result", "mcp_tool_result"}:
                id_, is_error = _id(block.get("tool_use_id")), block.get("is_error") is True
                yield "answer", id_, block.get("content"), is_error


def _objects(items: Any) -> Iterator[dict[str, Any]]:
    return (one for one in (items if type(items) is list else ()) if type(one) is dict)


def _id(id_: Any) -> Hashable:
    return id_ if isinstance(id_, str | int) else None


def _as_mcp(content: Any) -> Any:
    """Return the content of a result in MCP's form where it consists of blocks."""
    if content is None:
        return ""
    if type(content) is list and all(type(one) is dict and type(one.get("type")) is str for one in content):
        blocks = [
            {**one, "type": "text"} if one["type"] in {"input_text", "output_text"} else one
            for one in content
        ]
        return {"content": blocks, "isError": False}
    return content
