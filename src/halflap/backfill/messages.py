"""Calls and results in the messages of models: OpenAI's chat completions and responses, and Anthropic's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.backfill.calls import Waiting, arguments_of, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from halflap.backfill.calls import Call, Taker

__all__ = ["ITEMS", "ROLES", "Messages"]

ROLES = frozenset({"assistant", "user", "system", "developer", "tool", "function"})
ITEMS = frozenset({"function_call", "function_call_output", "mcp_call"})
"""What OpenAI's responses call their parts."""
_CALLS = frozenset({"tool_use", "mcp_tool_use"})
_RESULTS = frozenset({"tool_result", "mcp_tool_result"})


class Messages:
    """Reads messages, one at a time.

    `waiting` gives the calls that wait, where one is made or answered; `run` what the conversation is known by.
    """

    def __init__(self, taker: Taker, waiting: Callable[[], Waiting], run: Callable[[], Hashable]) -> None:
        self._taker = taker
        self._waiting = waiting
        self._run = run

    def message(self, message: dict[str, Any], at: float | None) -> None:
        """Read a message, or a part that stands for one."""
        kind = message.get("type")
        if kind in ITEMS:
            self._item(message, at)
            return
        calls = message.get("tool_calls")
        for call in calls if type(calls) is list else ():
            if type(call) is dict:
                self._called(call)
        content = message.get("content")
        role = message.get("role")
        function = message.get("function_call")
        if type(function) is dict:
            name = name_of(function.get("name"))
            self._add(("function", name), None, name, function.get("arguments"))
        if role == "tool":
            self._answer(message.get("tool_call_id"), content, at)
        elif role == "function":
            self._answer(("function", message.get("name")), content, at)
        elif type(content) is list:
            for block in content:
                if type(block) is dict:
                    self._block(block, at)

    def _called(self, call: dict[str, Any]) -> None:
        function = call.get("function")
        if type(function) is dict:
            self._add(call.get("id"), None, function.get("name"), function.get("arguments"))
        elif type(call.get("custom")) is dict:
            self._add(call.get("id"), None, call["custom"].get("name"), call["custom"].get("input"))

    def _block(self, block: dict[str, Any], at: float | None) -> None:
        kind = block.get("type")
        if kind in _CALLS:
            self._add(block.get("id"), block.get("server_name"), block.get("name"), block.get("input"))
        elif kind in _RESULTS:
            is_error = block.get("is_error") is True
            self._answer(block.get("tool_use_id"), block.get("content"), at, is_error=is_error)

    def _item(self, item: dict[str, Any], at: float | None) -> None:
        if item["type"] == "function_call":
            self._add(item.get("call_id"), None, item.get("name"), item.get("arguments"))
        elif item["type"] == "function_call_output":
            self._answer(item.get("call_id"), item.get("output"), at)
        elif item.get("output") is None:
            self._taker.unpaired(1)
        else:
            call = self._call(item.get("server_label"), item.get("name"), item.get("arguments"))
            self._taker.answered(call, item["output"], at, is_error=bool(item.get("error")))

    def _add(self, identifier: Any, server: Any, name: Any, arguments: Any) -> None:
        waiting = self._waiting()
        waiting.add(_hashable(identifier), self._call(server, name, arguments))

    def _call(self, server: Any, name: Any, arguments: Any) -> Call:
        owner = server if type(server) is str and server else None
        return self._taker.asked(owner, name, arguments_of(arguments), run=self._run())

    def _answer(self, identifier: Any, content: Any, at: float | None, *, is_error: bool = False) -> None:
        call = self._waiting().take(_hashable(identifier))
        if call is None:
            self._taker.unpaired(1)
        else:
            self._taker.answered(call, _read(content), at, is_error=is_error)


def _hashable(identifier: Any) -> Any:
    return identifier if isinstance(identifier, str | int | tuple) else None


def _read(content: Any) -> Any:
    """Give the content of a result as MCP would say it: blocks, whatever else is in the list beside text."""
    if content is None:
        return ""
    if type(content) is list and all(
        type(block) is dict and type(block.get("type")) is str for block in content
    ):
        blocks = [
            {**block, "type": "text"} if block["type"] in {"input_text", "output_text"} else block
            for block in content
        ]
        return {"content": blocks, "isError": False}
    return content
