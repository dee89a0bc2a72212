"""Serve over our own stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from typing import TYPE_CHECKING, Any, cast

from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    import anyio
    from mcp.server.lowlevel import Server


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it closes our stdin."""
    # Whatever else reads stdin gets nothing; the library keeps stdout for itself, and what others print goes to stderr.
    stdin, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    lines = cast("anyio.AsyncFile[str]", _Lines(stdin))
    try:
        async with stdio_server(lines) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* BrokenPipeError:
        pass  # a client that is gone is an ordinary end


class _Lines:
    """Lines from a descriptor of any kind, read in a thread that dies with the process.

    The library's reader cannot be interrupted: a gateway told to stop would hang until its client says something more.
    """

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, args=(descriptor,), daemon=True, name="halflap-stdin").start()

    def _read(self, descriptor: int) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                for line in file:
                    self._loop.call_soon_threadsafe(self._lines.put_nowait, line.decode(errors="replace"))
            self._loop.call_soon_threadsafe(self._lines.put_nowait, None)

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line
