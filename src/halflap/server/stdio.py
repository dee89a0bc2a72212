"""Serve over our own stdin and stdout."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from collections.abc import Iterator

    import anyio
    from mcp.server.lowlevel import Server

__all__ = ["serve_stdio"]


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client until it closes our stdin."""
    with _claimed() as (stdin, stdout):
        # The library takes any pair with the methods of asynchronous files. Its own read in threads that
        # cannot be interrupted: a gateway told to stop would hang until its client says something more.
        lines = cast("anyio.AsyncFile[str]", _Lines(stdin))
        writer = cast("anyio.AsyncFile[str]", _Writer(stdout))
        async with stdio_server(lines, writer) as (read, write):
            await server.run(read, write, server.create_initialization_options())


@contextmanager
def _claimed() -> Iterator[tuple[int, int]]:
    """Keep the protocol's channel to ourselves: whatever else prints goes to stderr, not into it."""
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    try:
        yield stdin, stdout
    finally:
        os.dup2(stdout, 1)


class _Lines:
    """Lines from a descriptor of any kind, read in a thread that dies with the process."""

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


class _Writer:
    """Writes to a descriptor in a thread that dies with the process, in order."""

    def __init__(self, descriptor: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._run, args=(descriptor,), daemon=True, name="halflap-stdout").start()

    def _run(self, descriptor: int) -> None:
        while True:
            data, done = self._waiting.get()
            with contextlib.suppress(OSError):
                while data:
                    data = data[os.write(descriptor, data) :]
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(_finish, done)

    async def write(self, text: str) -> None:
        done: asyncio.Future[None] = self._loop.create_future()
        self._waiting.put((text.encode(), done))
        await done

    async def flush(self) -> None:
        """Nothing is held back."""


def _finish(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
