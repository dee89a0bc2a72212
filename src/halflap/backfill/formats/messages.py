"""Calls and results in model conversations: OpenAI's chat completions and responses, and Anthropic's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.backfill.formats.events import SAME_RECORD, Answer, called

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from halflap.backfill.formats.events import Call, Event

__all__ = ["is_message", "message_events"]

_ROLES = frozenset({"assistant", "user", "system", "developer", "tool", "function"})
_ITEMS = frozenset({"function_call", "function_call_output", "mcp_call"})
"""Items of OpenAI's responses."""


def is_message(record: Any) -> bool:
    return type(record) is dict and (record.get("role") in _ROLES or record.get("type") in _ITEMS)


def message_events(message: dict[str, Any], at: float | None, conversation: Hashable) -> Iterator[Event]:
    """Yield the calls and results in a message; they are paired within one conversation."""

    def call(id_: Any, name: Any, arguments: Any, server: Any = None) -> Call:
        return called(_id(conversation, id_), server or None, name, arguments, run=conversation)

    def answer(id_: Any, content: Any, *, is_error: bool = False) -> Answer:
        return Answer(_id(conversation, id_), _as_mcp(content), at, is_error)

    kind, content, role = message.get("type"), message.get("content"), message.get("role")
    if kind == "function_call":
        yield call(message.get("call_id"), message.get("name"), message.get("arguments"))
    elif kind == "function_call_output":
        yield answer(message.get("call_id"), message.get("output"))
    elif kind == "mcp_call":
        yield call(
            SAME_RECORD, message.get("name"), message.get("arguments"), message.get("server_label")
        )
        if message.get("output") is not None:
            yield Answer(_id(conversation, SAME_RECORD), message["output"], at, bool(message.get("error")))
    for one in _objects(message.get("tool_calls")):
        if type(one.get("function")) is dict:
            yield call(one.get("id"), one["function"].get("name"), one["function"].get("arguments"))
    if type(message.get("function_call")) is dict:
        function = message["function_call"]
        yield call(("function", function.get("name")), function.get("name"), function.get("arguments"))
    if role == "tool":
        yield answer(message.get("tool_call_id"), content)
    elif role == "function":
        yield answer(("function", message.get("name")), content)
    else:
        for block in _objects(content):
            if block.get("type") in {"tool_use", "mcp_tool_use"}:
                yield call(block.get("id"), block.get("name"), block.get("input"), block.get("server_name"))
            elif block.get("type") in {"tool_result", "mcp_tool_result"}:
                is_error = block.get("is_error") is True
                yield answer(block.get("tool_use_id"), block.get("content"), is_error=is_error)


def _objects(items: Any) -> Iterator[dict[str, Any]]:
    return (one for one in (items if type(items) is list else ()) if type(one) is dict)


def _id(conversation: Hashable, id_: Any) -> Hashable:
    try:
        hash(id_)
    except TypeError:
        return conversation, None
    return conversation, id_


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
