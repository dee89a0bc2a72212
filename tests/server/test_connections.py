"""Connections that send nothing, and too many of them, keep nobody else from being served."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import uvicorn

from halflap.server.audit import Audit, Refusals
from halflap.server.connections import Connections
from halflap.server.guard import Guard
from halflap.server.http import bind
from halflap.server.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

REQUEST = b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


async def never(*_arguments: Any) -> None:
    raise AssertionError


@asynccontextmanager
async def serving(audit: Audit | None = None, **limits: Any) -> AsyncIterator[tuple[int, Refusals]]:
    refusals = Refusals(audit)
    connections = Connections(refusals, **limits)
    guard: Any = Guard(never, Tokens({}), frozenset({"127.0.0.1"}), (), refusals)
    protocol: Any = connections.protocol
    server = uvicorn.Server(uvicorn.Config(guard, http=protocol, log_config=None, lifespan="off", ws="none"))
    listener = bind("127.0.0.1", 0)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1], refusals
    finally:
        server.should_exit = True
        await task


async def answer(port: int, request: bytes = REQUEST) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await reader.read()
    finally:
        writer.close()


@asynccontextmanager
async def half_open(port: int, begun: bytes = b"GET /mcp HTT") -> AsyncIterator[asyncio.StreamReader]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(begun)
        yield reader
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def received(port: int, begun: bytes) -> bytes:
    """Send the beginning of a request, and return everything until the connection ends."""
    async with half_open(port, begun) as reader:
        found = b""
        with suppress(ConnectionResetError):
            while part := await reader.read(65_536):
                found += part
        return found


async def test_half_open_requests_make_room_for_whole_ones() -> None:
    async with serving(per_address=20, header_seconds=60.0) as (port, refusals), AsyncExitStack() as stack:
        for _ in range(50):
            await stack.enter_async_context(half_open(port))
        assert b" 401 " in await answer(port)
        assert refusals.counts["many"] == 31


async def test_a_request_that_does_not_arrive_is_ended() -> None:
    async with serving(header_seconds=0.2) as (port, refusals):
        assert await received(port, b"GET /mcp HTT") == b""
        assert await received(port, b"") == b""
        # Also the second request of a connection.
        kept = REQUEST.replace(b"Connection: close\r\n", b"")
        assert (await received(port, kept + b"GET /")).count(b"HTTP/1.1 401") == 1
        assert refusals.counts["slow"] == 3


async def test_what_is_refused_is_counted_and_logged_once_a_minute(caplog: Any, tmp_path: Path) -> None:
    audit = await asyncio.to_thread(Audit, tmp_path / "audit.jsonl")
    async with serving(audit) as (port, refusals):
        for _ in range(5):
            await answer(port)
        await answer(port, REQUEST.replace(b"127.0.0.1", b"evil.example"))
        await answer(port, REQUEST.replace(b"\r\n\r\n", b"\r\nOrigin: https://evil.example\r\n\r\n"))
    await asyncio.to_thread(audit.close)
    assert {name: count for name, count in refusals.counts.items() if count} == {
        "token": 5,
        "host": 1,
        "origin": 1,
    }
    assert sum("valid token" in one.message for one in caplog.records) == 1
    lines = (await asyncio.to_thread((tmp_path / "audit.jsonl").read_text)).splitlines()
    outcomes = [json.loads(line)["outcome"] for line in lines]
    assert outcomes == ["refused: token", "refused: host", "refused: origin"]
