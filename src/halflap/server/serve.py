"""Serve until stopped: over stdio to one client, reloading the configuration when it changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from mcp.server.stdio import stdio_server

from halflap.config import user_config_dir
from halflap.core.errors import HalflapError, ServerNotFoundError
from halflap.gateway import Gateway
from halflap.server.front import Front

if TYPE_CHECKING:
    import anyio
    from mcp.server.lowlevel import Server

    from halflap.config import Config

logger = logging.getLogger(__name__)

Load: TypeAlias = "Callable[[], Config]"

_WARM_UP_AFTER_SECONDS = 1.0
"""Clients usually list the tools within this time; the rest is loaded after it."""
_POLL_SECONDS = 1.0
"""How often the configuration files are checked for changes."""


async def run_stdio(config: Config, load: Load | None = None, *, only: str | None = None) -> None:
    """Serve one client over stdin and stdout: all servers, or `only` one.

    `load` reads the configuration again after a change.
    """
    names = tuple(server.name for server in config.servers if not server.disabled)
    if only is not None and only not in names:
        raise ServerNotFoundError(only, names)
    gateway = Gateway(config)
    front = Front(gateway, only)
    front.forward_roots()
    await run_until_stopped(gateway, front, _serve_stdio(front.server), load)


async def run_until_stopped(
    gateway: Gateway, front: Front, serving: Awaitable[None], load: Load | None
) -> None:
    """Serve until the client leaves or a signal comes, then close everything."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, _on_signal, stopped)
    main = [asyncio.ensure_future(serving), asyncio.create_task(stopped.wait())]
    background = [asyncio.create_task(_warm_up(gateway))]
    if load is not None:
        background.append(asyncio.create_task(_follow(gateway, load)))
    try:
        await asyncio.wait(main, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (*main, *background):
            task.cancel()
        outcomes = await asyncio.gather(*main, *background, return_exceptions=True)
        front.close()
        await gateway.close()
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome


def _on_signal(stopped: asyncio.Event) -> None:
    """Shut down in order; at the second signal, exit immediately: the guardian ends the servers."""
    if stopped.is_set():
        os._exit(1)
    stopped.set()


async def _serve_stdio(server: Server[Any]) -> None:
    # Nothing else in this process may read stdin; the library protects stdout in the same way.
    stdin, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    lines = cast("anyio.AsyncFile[str]", _Lines(stdin))
    try:
        async with stdio_server(lines) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    except* BrokenPipeError:
        pass  # the client has left


class _Lines:
    """Lines from a file descriptor, read in a daemon thread.

    The library's reader cannot be interrupted: after a signal, the process would wait for the client's next message.
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


async def _warm_up(gateway: Gateway) -> None:
    await asyncio.sleep(_WARM_UP_AFTER_SECONDS)
    try:
        await gateway.warm_up()
    except HalflapError as error:
        logger.error("%s", error)  # noqa: TRY400 -- the message is complete


async def _follow(gateway: Gateway, load: Load) -> None:
    """Apply changes of the configuration files; clients stay connected."""
    seen = now = await asyncio.to_thread(_stamps, gateway.config)
    while True:
        await asyncio.sleep(_POLL_SECONDS)
        before, now = now, await asyncio.to_thread(_stamps, gateway.config)
        if now == seen or now != before:
            # Unchanged, or perhaps still being written.
            continue
        seen = now
        try:
            config = await asyncio.to_thread(load)
            await gateway.reload(config)
        except HalflapError as error:
            logger.warning("The configuration changed, but can't be used: %s", error)
        else:
            logger.warning("The configuration changed and was reloaded.")
            # The set of files may be another now. For those it had before, changes since `seen` still count.
            stamps = await asyncio.to_thread(_stamps, config)
            seen = now = {file: seen.get(file, stamp) for file, stamp in stamps.items()}


def _stamps(config: Config) -> dict[Path, tuple[int, ...] | None]:
    """Return a stamp of each configuration file that changes with it; None where no file exists."""
    stamps: dict[Path, tuple[int, ...] | None] = {}
    for file in config.sources or tuple(user_config_dir() / name for name in ("config.yaml", "config.json")):
        try:
            state = file.stat()
            stamps[file] = (state.st_mtime_ns, state.st_size, state.st_ino)
        except OSError:
            stamps[file] = None
    return stamps
