"""Send one call and wait for its answer, as long as it may take."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

from halflap.core.errors import CallTimeoutError
from halflap.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.config import ServerConfig
    from halflap.core.values import CallContext
    from halflap.upstream.session import Session

__all__ = ["send"]

_LONGEST_SHOWN = 200
_GIVING_UP_SECONDS = 0.3
"""How long a call that is given up may take to tell the server so; it goes on behind if it takes longer."""

_behind: set[asyncio.Task[dict[str, Any]]] = set()
"""Calls that are still being given up: the event loop alone would not keep them alive."""


async def send(
    session: Session, server: ServerConfig, tool: str, arguments: Mapping[str, Any], context: CallContext
) -> dict[str, Any]:
    """Call a tool; progress extends the time that it may take, up to a maximum and the deadline."""
    clock = asyncio.get_running_loop().time
    start = clock()
    limit = server.call_timeout_seconds
    last = min(start + server.max_call_timeout_seconds, context.deadline or math.inf)
    until = min(start + limit, last)

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        nonlocal until
        until = min(clock() + limit, last)
        if context.progress is not None:
            await context.progress(progress, total, message)

    # In a task of its own: a server that reads nothing could hold up even its being given up.
    sending = asyncio.create_task(
        session.call(tool, arguments, progressed), name=f"call {tool[:_LONGEST_SHOWN]}"
    )
    _behind.add(sending)
    sending.add_done_callback(_ended)
    try:
        while not sending.done() and clock() < until:
            await asyncio.wait([sending], timeout=until - clock())
        if sending.done():
            return sending.result()
    finally:
        if not sending.done():
            sending.cancel()
            await asyncio.wait([sending], timeout=_GIVING_UP_SECONDS)
    took = f"{clock() - start:.1f} s"
    tool = visible(tool, _LONGEST_SHOWN)
    if context.deadline is not None and clock() >= context.deadline:
        raise CallTimeoutError(server.name, f"it did not answer {tool!r} before the deadline ({took}).")
    setting = "max_call_timeout_seconds" if until == last else "call_timeout_seconds"
    raise CallTimeoutError(
        server.name,
        f"it did not answer {tool!r} within {took}, and the call was given up. "
        f"If it needs longer, raise `{setting}` for it.",
    )


def _ended(sending: asyncio.Task[dict[str, Any]]) -> None:
    _behind.discard(sending)
    if not sending.cancelled():
        # Whoever waited for it may have been cancelled just as it failed, or have given it up: nobody else asks.
        sending.exception()
