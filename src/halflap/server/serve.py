"""Run the server: one client over stdio, or many over HTTP, until it is stopped."""

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
from halflap.server.audit import Audit
from halflap.server.front import Front
from halflap.server.tokens import Tokens, configured_tokens

if TYPE_CHECKING:
    import anyio
    from mcp.server.lowlevel import Server

    from halflap.config import Config
    from halflap.server.http import Page

logger = logging.getLogger(__name__)

Load: TypeAlias = "Callable[[], Config]"
MakePage: TypeAlias = "Callable[[Gateway, Tokens, frozenset[str]], Page]"

_WARM_UP_AFTER_SECONDS = 1.0
"""The rest is loaded after this time, in which clients usually list the tools."""
_POLL_SECONDS = 1.0
"""How often the configuration files are checked for changes."""


async def run_stdio(config: Config, load: Load | None = None, *, only: str | None = None) -> None:
    """Serve one client over stdin and stdout: everything, or `only` one server as it is.

    `load` reads the configuration again after a change.
    """
    names = tuple(server.name for server in config.servers if not server.disabled)
    if only is not None and only not in names:
        raise ServerNotFoundError(only, names)
    gateway = Gateway(config)
    front = Front(gateway, only)
    front.forward_roots()
    await _run(gateway, front, _serve_stdio(front.server), load)


async def run_http(
    config: Config,
    address: str,
    say: Callable[[str], None],
    load: Load | None = None,
    make_page: MakePage | None = None,
) -> None:
    """Serve any number of clients over HTTP; `say` gets the address, and where the token is.

    `make_page` makes the web page, from the gateway, the tokens, and the host names it is served under.
    """
    from halflap.server.http import (  # noqa: PLC0415 -- not for stdio
        PATH,
        bind,
        is_loopback,
        page_hosts,
        parse_address,
        serve_http,
    )

    host, port = parse_address(address)
    listener = bind(host, port)
    hashes, how = configured_tokens(config)
    tokens = Tokens(hashes)
    audit = Audit(config.data_dir / "audit.jsonl" if config.http.audit else None)
    gateway = Gateway(config)
    front = Front(gateway, audit=audit)
    page, hosts = None, page_hosts(host, config)
    if make_page is not None and hosts:
        page = await asyncio.to_thread(make_page, gateway, tokens, hosts)

    def load_with_tokens() -> Config:
        assert load is not None
        changed = load()
        loop.call_soon_threadsafe(tokens.replace, configured_tokens(changed)[0])
        return changed

    def ready() -> None:
        where = f"[{host}]" if ":" in host else host
        url = f"http://{where}:{listener.getsockname()[1]}"
        say(f"Serving at {url}{PATH}")
        if page is not None:
            say(page.invite(url))
        say(how)
        if not is_loopback(host):
            say(
                "Other machines can reach this address, and what they send is not encrypted: put a proxy with TLS in front."
            )

    loop = asyncio.get_running_loop()
    serving = serve_http(gateway, front, listener, tokens, audit=audit, on_ready=ready, page=page)
    try:
        await _run(gateway, front, serving, None if load is None else load_with_tokens)
    finally:
        await asyncio.to_thread(audit.close)


async def _serve_stdio(server: Server[Any]) -> None:
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


async def _run(gateway: Gateway, front: Front, serving: Awaitable[None], load: Load | None) -> None:
    """Serve until the client leaves or a signal comes, and leave nothing behind."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, _told_to_stop, stopped)
    tasks = [
        asyncio.ensure_future(serving),
        asyncio.create_task(stopped.wait()),
    ]
    beside = [asyncio.create_task(_warm_up(gateway))]
    if load is not None:
        beside.append(asyncio.create_task(_follow(gateway, load)))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (*tasks, *beside):
            task.cancel()
        outcomes = await asyncio.gather(*tasks, *beside, return_exceptions=True)
        front.close()
        await gateway.close()
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome


def _told_to_stop(stopped: asyncio.Event) -> None:
    """Stop in order; at the second signal, stop at once: the guardian ends the servers."""
    if stopped.is_set():
        os._exit(1)
    stopped.set()


async def _warm_up(gateway: Gateway) -> None:
    await asyncio.sleep(_WARM_UP_AFTER_SECONDS)
    try:
        await gateway.warm_up()
    except HalflapError as error:
        logger.error("%s", error)  # noqa: TRY400 -- the message says it all


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
            # It may consist of other files now. Of those that it had before, changes since then count.
            stamps = await asyncio.to_thread(_stamps, config)
            seen = now = {file: seen.get(file, stamp) for file, stamp in stamps.items()}


def _stamps(config: Config) -> dict[Path, tuple[int, ...] | None]:
    """Return what changes when a configuration file does; a file that may appear counts, too."""
    stamps: dict[Path, tuple[int, ...] | None] = {}
    for file in config.sources or tuple(user_config_dir() / name for name in ("config.yaml", "config.json")):
        try:
            state = file.stat()
            stamps[file] = (state.st_mtime_ns, state.st_size, state.st_ino)
        except OSError:
            stamps[file] = None
    return stamps
