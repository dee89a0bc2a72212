"""A server in the test's own process that says what it likes, when it likes."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

QUESTION = {
    "message": "Your password?",
    "requestedSchema": {"type": "object", "properties": {"p": {"type": "string"}}},
}


class Wire(Server[Any]):
    """A server of the older era that says what it likes, when it likes; like stdio, nothing says what caused it.

    `on_call` answers a call; with `say` and `ask` it sends other messages meanwhile. `answers` has functions for other
    methods and notifications, and what to add to its `capabilities` and to its `tool`.
    """

    def __init__(
        self, on_call: Callable[[Wire, dict[str, Any]], Awaitable[Any]] | None = None, **answers: Any
    ) -> None:
        super().__init__("wire")
        self._on_call = on_call or _done
        self._answers = answers
        self._out: Any = None
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self.counts: dict[str, int] = {}

    async def say(self, method: str, params: dict[str, Any] | None = None) -> None:
        message = types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params)
        await self._out.send(SessionMessage(message))

    async def ask(self, method: str = "elicitation/create", params: dict[str, Any] | None = None) -> Any:
        identifier = f"q{len(self._waiting)}"
        self._waiting[identifier] = asyncio.get_running_loop().create_future()
        message = types.JSONRPCRequest(jsonrpc="2.0", id=identifier, method=method, params=params or QUESTION)
        await self._out.send(SessionMessage(message))
        return await self._waiting[identifier]

    async def run(self, incoming: Any, outgoing: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        self._out = outgoing
        async with incoming, outgoing, anyio.create_task_group() as tasks:
            async for received in incoming:
                message = received.message
                if isinstance(message, types.JSONRPCRequest):
                    tasks.start_soon(self._reply, message)
                elif isinstance(message, types.JSONRPCResponse):
                    self._waiting[str(message.id)].set_result(message.result)
                elif isinstance(message, types.JSONRPCError):
                    self._waiting[str(message.id)].set_result(message.error)
                elif message.method in self._answers:
                    tasks.start_soon(self._answers[message.method])
            tasks.cancel_scope.cancel()

    async def _reply(self, request: types.JSONRPCRequest) -> None:
        method, params = request.method, request.params or {}
        self.counts[method] = self.counts.get(method, 0) + 1
        result: Any
        if method == "initialize":
            capabilities = {"tools": {"listChanged": True}, **self._answers.get("capabilities", {})}
            about = {"name": "wire", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": about}
        elif method == "tools/list":
            tool = {"name": "use", "inputSchema": {"type": "object"}, **self._answers.get("tool", {})}
            result = {"tools": [tool]}
        elif method in self._answers:
            answered = self._answers[method](params)
            result = await answered if inspect.isawaitable(answered) else answered
        elif method == "tools/call":
            result = await self._on_call(self, params.get("arguments") or {})
        else:
            error = types.ErrorData(code=-32601, message="Method not found")
            await self._out.send(
                SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=request.id, error=error))
            )
            return
        answer = types.JSONRPCResponse.model_construct(jsonrpc="2.0", id=request.id, result=result)
        await self._out.send(SessionMessage(answer))


async def _done(_wire: Wire, _arguments: dict[str, Any]) -> Any:
    return said("done")


def said(value: Any) -> dict[str, Any]:
    shown = value.message if isinstance(value, types.ErrorData) else json.dumps(value)
    return {"content": [{"type": "text", "text": shown}]}
