"""Send one call and wait for its answer, within its time limits."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

from halflap.core.errors import CallTimeoutError
from halflap.core.text import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.config import ServerConfig
    from halflap.core.values import CallContext
    from halflap.upstream.session import Session

__all__ = ["send"]

_CANCEL_SECONDS = 0.3
"""How long a cancelled call may take to notify the server; after that it continues in the background."""

_running: set[asyncio.Task[dict[str, Any]]] = set()
"""Keeps cancelled calls alive until they end: the event loop holds only weak references to tasks."""


async def send(
    session: Session, server: ServerConfig, tool: str, arguments: Mapping[str, Any], context: CallContext
) -> dict[str, Any]:
    """Call a tool. Each progress message restarts the time limit, up to the maximum and the deadline."""
    clock = asyncio.get_running_loop().time
    start = clock()
    end = min(start + server.max_call_timeout_seconds, context.deadline or math.inf)
    limit = min(start + server.call_timeout_seconds, end)

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        nonlocal limit
        limit = min(clock() + server.call_timeout_seconds, end)
        if context.progress is not None:
            await context.progress(progress, total, message)

    # In a separate task: with a server that reads nothing, even cancelling can block.
    call = asyncio.create_task(session.call(tool, arguments, on_progress), name=f"call {quote(tool)}")
    _running.add(call)
    call.add_done_callback(_ended)
    try:
        while not call.done() and clock() < limit:
            await asyncio.wait([call], timeout=limit - clock())
        if call.done():
            return call.result()
    finally:
        if not call.done():
            call.cancel()
            await asyncio.wait([call], timeout=_CANCEL_SECONDS)
    seconds = f"{clock() - start:.1f} s"
    if context.deadline is not None and clock() >= context.deadline:
        raise CallTimeoutError(
            server.name, f"it did not answer {quote(tool)} before the deadline ({seconds})."
        )
    setting = "max_call_timeout_seconds" if limit == end else "call_timeout_seconds"
    raise CallTimeoutError(
        server.name,
        f"it did not answer {quote(tool)} within {seconds}, and the call was cancelled. "
        f"If it needs longer, raise `{setting}` for it.",
    )


def _ended(call: asyncio.Task[dict[str, Any]]) -> None:
    _running.discard(call)
    if not call.cancelled():
        # Its caller may be gone; asyncio complains about exceptions that are never retrieved.
        call.exception()
