"""Hundreds of connections that never send a whole request."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from cli.program import OLD
from server.faces import client_of, served

if TYPE_CHECKING:
    from pathlib import Path

CONNECTIONS = 900


async def test_a_client_is_served_while_hundreds_of_requests_are_half_open(tmp_path: Path) -> None:
    with served(tmp_path, OLD) as face:
        writers: list[asyncio.StreamWriter] = []
        for _ in range(CONNECTIONS):
            _, writer = await asyncio.open_connection("127.0.0.1", face.port)
            writer.write(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow")
            writers.append(writer)
        async with client_of(face, "auto") as client:
            assert not (await client.call_tool("list_callable_tools", {})).is_error
        for writer in writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()
