"""What is run and takes a while can be ended in order, by the person or by the system."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import typer

if TYPE_CHECKING:
    from collections.abc import Coroutine

__all__ = ["run_in_order"]

_T = TypeVar("_T")
_TERMINATED = 128 + signal.SIGTERM


def run_in_order(work: Coroutine[object, object, _T]) -> _T:
    """Run it. SIGTERM ends it as Ctrl-C does, so that it can still tell what was done; a second one ends it at once."""
    ended: list[int] = []

    async def watched() -> _T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None

        def end() -> None:
            ended.append(signal.SIGTERM)
            loop.remove_signal_handler(signal.SIGTERM)
            task.cancel()

        # Not where another thread than the first runs it, or the system has no such signals.
        with suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(signal.SIGTERM, end)
        return await work

    try:
        return asyncio.run(watched())
    except asyncio.CancelledError:
        if ended:
            raise typer.Exit(_TERMINATED) from None
        raise
