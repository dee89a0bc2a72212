"""Servers that live in the test's own process, for `Gateway.open(config, servers={...})`: no process is started.

`Memory` answers JSON-RPC by itself, so definitions and results reach the gateway to the letter, valid or not. `echo()`
has the tools of echo.py on the library's own server, in both eras of the protocol.
"""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCResponse

from halflap.demo import doc_retrieval, financial_data, sales
from halflap.demo._sales_book import Book
from halflap.demo._serving import DemoServer, ProtocolError
from servers import echo as library_server
from servers import records as record_server
from servers.by_hand import METHOD_NOT_FOUND, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Memory", "RefusedError", "bundled", "definition", "echo", "records", "structured", "text"]


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def structured(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}


def _fields(names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name.rstrip("?"): {"type": "string"} for name in names.split()},
        "required": [name for name in names.split() if not name.endswith("?")],
    }


def definition(
    name: str, takes: str = "", returns: str | None = None, description: str = "", **more: Any
) -> dict[str, Any]:
    """Define a tool whose parameters and result fields are strings; `a?` is optional.

    `returns="users: id name"` is a list of objects under the key `users`.
    """
    made: dict[str, Any] = {
        "name": name,
        "description": description or f"Tool {name}.",
        "inputSchema": _fields(takes),
    }
    if returns is not None:
        many, colon, names = returns.rpartition(":")
        shape = _fields(names)
        if colon:
            shape = {
                "type": "object",
                "properties": {many: {"type": "array", "items": shape}},
                "required": [many],
            }
        made["outputSchema"] = shape
    return made | more


class Memory(Server[Any]):
    """A server with these tools; what is changed here, the next request sees.

    `answer` gives the result of a call, or raises `RefusedError`; without it, a call returns `called NAME`.
    """

    def __init__(
        self,
        *tools: str | Mapping[str, Any],
        answer: Callable[[str, dict[str, Any]], Any] | None = None,
        instructions: str | None = None,
        version: str = "2025-11-25",
    ) -> None:
        super().__init__("memory")
        self.tools: list[Any] = [definition(one) if isinstance(one, str) else dict(one) for one in tools]
        self.answer = answer or (lambda name, _: text(f"called {name}"))
        self.about = instructions
        self.protocol = version
        self.broken = False
        """While this holds, it does not agree to talk."""
        self.starts = 0
        self.listings = 0
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def run(self, incoming: Any, outgoing: Any, *_: Any, **__: Any) -> None:  # type: ignore[override]
        self.starts += 1
        self.outgoing = outgoing
        scopes: dict[Any, anyio.CancelScope] = {}

        async def reply(request: Any) -> None:
            with anyio.CancelScope() as scopes[request.id]:
                try:
                    result = await self._result(request.method, request.params or {})
                except RefusedError as refused:
                    error = ErrorData(code=refused.code, message=str(refused))
                    message: Any = JSONRPCError(jsonrpc="2.0", id=request.id, error=error)
                else:
                    message = JSONRPCResponse.model_construct(jsonrpc="2.0", id=request.id, result=result)
                await outgoing.send(SessionMessage(message))

        async with incoming, outgoing, anyio.create_task_group() as tasks:
            async for received in incoming:
                message = received.message
                method = getattr(message, "method", None)
                if method == "notifications/cancelled" and message.params["requestId"] in scopes:
                    scopes[message.params["requestId"]].cancel()
                elif method is not None and hasattr(message, "id"):
                    tasks.start_soon(reply, message)
                else:
                    self.hear(message)
            tasks.cancel_scope.cancel()

    def hear(self, message: Any) -> None:
        """Take a notification or an answer."""

    async def _result(self, method: str, params: dict[str, Any]) -> Any:
        if self.broken:
            raise RefusedError(-32603, "out of order")
        if method == "initialize":
            about = {"instructions": self.about} if self.about else {}
            return {
                "protocolVersion": self.protocol,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "memory", "version": "1"},
                **about,
            }
        if method == "tools/list":
            self.listings += 1
            return {"tools": self.tools}
        if method == "tools/call":
            arguments = params.get("arguments") or {}
            self.calls.append((params["name"], arguments))
            answer = self.answer(params["name"], arguments)
            return await answer if inspect.isawaitable(answer) else answer
        if method == "ping":
            return {}
        raise RefusedError(METHOD_NOT_FOUND, f"Method not found: {method}")


def echo() -> Server[dict[str, Any]]:
    """Return a server with the tools of echo.py."""
    return library_server.build()


class _Bundled(Memory):
    def __init__(self, server: DemoServer) -> None:
        super().__init__()
        self.server = server

    async def _result(self, method: str, params: dict[str, Any]) -> Any:
        try:
            return self.server.result(method, params)
        except ProtocolError as error:
            raise RefusedError(error.code, str(error)) from None


def bundled(*names: str) -> dict[str, Memory]:
    """Return the servers of `halflap demo`, or those of them that are named."""
    servers = [
        DemoServer("sales", sales.served(Book()), sales.INSTRUCTIONS),
        DemoServer("doc_retrieval", doc_retrieval.TOOLS),
        DemoServer("financial_data", financial_data.TOOLS),
    ]
    return {one.name: _Bundled(one) for one in servers if not names or one.name in names}


def records() -> Memory:
    """Return a server with the tools of records.py, which declare no output."""
    return Memory(*record_server.tools(), answer=record_server.call)
