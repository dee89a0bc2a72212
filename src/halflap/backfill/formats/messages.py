"""Calls and results in model conversations: OpenAI's chat completions and responses, and Anthropic's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.backfill.formats.calls import arguments_of, checked_name

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from halflap.backfill.formats.calls import LoggedCall, PendingCalls, Sink

__all__ = ["Conversation", "is_message"]

_ROLES = frozenset({"assistant", "user", "system", "developer", "tool", "function"})
_ITEMS = frozenset({"function_call", "function_call_output", "mcp_call"})
"""Items of OpenAI's responses."""


def is_message(record: Any) -> bool:
    return type(record) is dict and (record.get("role") in _ROLES or record.get("type") in _ITEMS)


class Conversation:
    """Reads the messages of a conversation in order.

    `pending` and `run` are functions because a file of single messages must be read in order, which they check.
    """

    def __init__(self, sink: Sink, pending: Callable[[], PendingCalls], run: Callable[[], Hashable]) -> None:
        self._sink = sink
        self._pending = pending
        self._run = run

    def read(self, message: dict[str, Any], at: float | None) -> None:
        if message.get("type") in _ITEMS:
            self._read_item(message, at)
            return
        content, role = message.get("content"), message.get("role")
        for call in message.get("tool_calls") or () if type(message.get("tool_calls")) is list else ():
            self._read_tool_call(call)
        function = message.get("function_call")
        if type(function) is dict:
            name = checked_name(function.get("name"))
            self._call(("function", name), None, name, function.get("arguments"))
        if role == "tool":
            self._result(message.get("tool_call_id"), content, at)
        elif role == "function":
            self._result(("function", message.get("name")), content, at)
        elif type(content) is list:
            for block in content:
                self._read_block(block, at)

    def _read_tool_call(self, call: Any) -> None:
        if type(call) is dict and type(call.get("function")) is dict:
            function = call["function"]
            self._call(call.get("id"), None, function.get("name"), function.get("arguments"))

    def _read_block(self, block: Any, at: float | None) -> None:
        kind = block.get("type") if type(block) is dict else None
        if kind in {"tool_use", "mcp_tool_use"}:
            self._call(block.get("id"), block.get("server_name"), block.get("name"), block.get("input"))
        elif kind in {"tool_result", "mcp_tool_result"}:
            is_error = block.get("is_error") is True
            self._result(block.get("tool_use_id"), block.get("content"), at, is_error=is_error)

    def _read_item(self, item: dict[str, Any], at: float | None) -> None:
        if item["type"] == "function_call":
            self._call(item.get("call_id"), None, item.get("name"), item.get("arguments"))
        elif item["type"] == "function_call_output":
            self._result(item.get("call_id"), item.get("output"), at)
        elif item.get("output") is None:
            self._sink.unpaired(1)
        else:
            call = self._made(item.get("server_label"), item.get("name"), item.get("arguments"))
            self._sink.returned(call, item["output"], at, is_error=bool(item.get("error")))

    def _call(self, identifier: Any, server: Any, name: Any, arguments: Any) -> None:
        pending = self._pending()
        pending.add(_hashable(identifier), self._made(server, name, arguments))

    def _made(self, server: Any, name: Any, arguments: Any) -> LoggedCall:
        owner = server if type(server) is str and server else None
        return self._sink.called(owner, name, arguments_of(arguments), run=self._run())

    def _result(self, identifier: Any, content: Any, at: float | None, *, is_error: bool = False) -> None:
        call = self._pending().pop(_hashable(identifier))
        if call is None:
            self._sink.unpaired(1)
        else:
            self._sink.returned(call, _as_mcp(content), at, is_error=is_error)


def _hashable(identifier: Any) -> Any:
    return identifier if isinstance(identifier, str | int | tuple) else None


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
