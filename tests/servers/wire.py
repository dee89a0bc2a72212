"""A server in the test's own process that says what it likes, when it likes."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.shared.message import SessionMessage

from servers.memory import Memory, text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

QUESTION = {
    "message": "Your password?",
    "requestedSchema": {"type": "object", "properties": {"p": {"type": "string"}}},
}


class Wire(Memory):
    """A server of the older era with the tool `use`; like stdio, nothing says what caused its messages.

    `on_call` answers a call; with `say` and `ask` it sends other messages meanwhile. `answers` has functions for other
    methods and notifications, and what to add to its `capabilities` and to its `tool`.
    """

    def __init__(
        self, on_call: Callable[[Wire, dict[str, Any]], Awaitable[Any]] | None = None, **answers: Any
    ) -> None:
        tool = {"name": "use", "inputSchema": {"type": "object"}, **answers.get("tool", {})}
        super().__init__(tool, answer=lambda _, given: on_call(self, given) if on_call else said("done"))
        self._answers = answers
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self.counts = Counter[str]()

    async def say(self, method: str, params: dict[str, Any] | None = None) -> None:
        message = types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
        await self.outgoing.send(SessionMessage(message))

    async def ask(self, method: str = "elicitation/create", params: dict[str, Any] | None = None) -> Any:
        identifier = f"q{len(self._waiting)}"
        self._waiting[identifier] = asyncio.get_running_loop().create_future()
        message = types.JSONRPCRequest(jsonrpc="2.0", id=identifier, method=method, params=params or QUESTION)
        await self.outgoing.send(SessionMessage(message))
        return await self._waiting[identifier]

    def hear(self, message: Any) -> None:
        if isinstance(message, types.JSONRPCNotification):
            if message.method in self._answers:
                self._heard = asyncio.ensure_future(self._answers[message.method]())
        else:
            answer = message.result if isinstance(message, types.JSONRPCResponse) else message.error
            self._waiting[str(message.id)].set_result(answer)

    async def _result(self, method: str, params: dict[str, Any]) -> Any:
        self.counts[method] += 1
        if method in self._answers:
            answered = self._answers[method](params)
            return await answered if inspect.isawaitable(answered) else answered
        result = await super()._result(method, params)
        if method == "initialize":
            result["capabilities"] = {"tools": {"listChanged": True}, **self._answers.get("capabilities", {})}
        return result


def said(value: Any) -> dict[str, Any]:
    return text(value.message if isinstance(value, types.ErrorData) else json.dumps(value))
