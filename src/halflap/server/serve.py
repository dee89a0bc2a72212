"""Run the server: one client over stdio, or many over HTTP, until told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from typing import TYPE_CHECKING

from halflap.core.errors import HalflapError
from halflap.gateway import Gateway
from halflap.server.app import Front
from halflap.server.bearer import principal_of_person, principal_of_token
from halflap.server.stdio import serve_stdio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from halflap.config import Config

__all__ = ["run_http", "run_stdio"]

logger = logging.getLogger(__name__)

_WARM_UP_AFTER_SECONDS = 1.0
"""The first answer has the machine to itself; after it, or so long, the rest is loaded."""


async def run_stdio(config: Config) -> None:
    """Serve one client over stdin and stdout."""
    gateway = Gateway(config)
    front = Front(gateway)
    front.forward_roots()
    await _run(gateway, front, serve_stdio(front.server))


async def run_http(config: Config, address: str, say: Callable[[str], None]) -> None:
    """Serve any number of clients over HTTP; `say` tells the user where, and how to get in."""
    from halflap.server.http import PATH, bind, keep_token, parse_address, serve_http  # noqa: PLC0415 -- not for stdio

    host, port = parse_address(address)
    listener = bind(host, port)
    if config.http.tokens:
        tokens = {principal_of_person(name): token for name, token in config.http.tokens.items()}
        how = f"Let in with a token of their own: {', '.join(config.http.tokens)}"
    else:
        token, file, made = keep_token(config.data_dir)
        tokens = {principal_of_token(token): token}
        how = (
            f"Bearer token, made now and kept in {file}:\n  {token}"
            if made
            else f"The bearer token is in {file}"
        )
    gateway = Gateway(config)
    front = Front(gateway)

    def ready() -> None:
        where = f"[{host}]" if ":" in host else host
        say(f"Serving at http://{where}:{listener.getsockname()[1]}{PATH}")
        say(how)

    serving = serve_http(front.server, listener, tokens, config.http, on_ready=ready, metrics=gateway.metrics)
    await _run(gateway, front, serving)


async def _run(gateway: Gateway, front: Front, serving: Awaitable[None]) -> None:
    """Serve, warm up beside it, and leave nothing behind whichever way it ends."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, _told_to_stop, stopped)
    tasks = [
        asyncio.ensure_future(serving),
        asyncio.create_task(stopped.wait()),
    ]
    warming = asyncio.create_task(_warm_up(gateway, front))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (*tasks, warming):
            task.cancel()
        outcomes = await asyncio.gather(*tasks, warming, return_exceptions=True)
        await gateway.close()
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome


def _told_to_stop(stopped: asyncio.Event) -> None:
    """Stop in order; told again, stop now: the guardian ends the servers."""
    if stopped.is_set():
        os._exit(1)
    stopped.set()


async def _warm_up(gateway: Gateway, front: Front) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_WARM_UP_AFTER_SECONDS):
            await front.answered.wait()
    try:
        await gateway.warm_up()
    except HalflapError as error:
        # Whoever calls a tool is told the same; here it is for the person who reads our log.
        logger.error("%s", error)  # noqa: TRY400 -- the message says it all
