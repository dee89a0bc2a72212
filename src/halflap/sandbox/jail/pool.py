"""Children forked ahead for whatever comes next, from a fork server that is replaced when it is lost or old."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from halflap.sandbox.jail.fork_server import Child, ForkServer

__all__ = ["Pool"]

_MOST_FORKS = 2_000
"""Then a fork server is replaced: all its children share one memory layout."""
_TRY_AGAIN_SECONDS = 10.0


class Pool:
    """Forks children of one profile. The server starts with the first; `orders` are asked for when it does."""

    def __init__(self, profile: str, orders: Callable[[], Mapping[str, Any]]) -> None:
        self._profile = profile
        self._orders = orders
        self.server: ForkServer | None = None
        self._tried_at = 0.0
        self._idle: deque[Child] = deque()
        self._starting: asyncio.Task[ForkServer] | None = None
        self._retiring: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> ForkServer:
        """Return the server; raise `OSError` if it does not start. An old one is replaced in the background."""
        if self._closed:
            raise OSError("the gateway is closing")
        server = self.server
        is_needed = server is None or server.is_lost or server.forked > _MOST_FORKS
        if is_needed and not self._is_starting():
            self._tried_at = time.monotonic()
            self._starting = asyncio.create_task(self._replace(), name="start a fork server")
        if server is not None and not server.is_lost:
            return server
        assert self._starting is not None
        # A caller may give up; the start continues, for the next.
        return await asyncio.shield(self._starting)

    def _is_starting(self) -> bool:
        """Return whether a start is under way, or failed so recently that another would fail, too."""
        if self._starting is None or not self._starting.done():
            return self._starting is not None
        has_failed = self._starting.cancelled() or self._starting.exception() is not None
        return has_failed and time.monotonic() - self._tried_at < _TRY_AGAIN_SECONDS

    async def _replace(self) -> ForkServer:
        fresh = ForkServer(self._profile, await asyncio.to_thread(self._orders))
        await fresh.start()
        old, self.server = self.server, fresh
        self._drop_idle()
        if old is not None:
            task = asyncio.create_task(old.retire(), name="retire a fork server")
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)
        return fresh

    async def take(self) -> Child:
        """Return a child that waits already, or a new one; raise `OSError` if there can be none."""
        server = await self.start()
        while self._idle:
            child = self._idle.popleft()
            if child.is_alive:
                return child
            child.channel.close()
        return server.fork()

    @property
    def idle(self) -> int:
        return len(self._idle)

    def refill(self, most: int) -> None:
        """Fork until `most` children wait. If that fails, the next caller of `take` gets the error."""
        while self.server is not None and not self._closed and len(self._idle) < most:
            try:
                self._idle.append(self.server.fork())
            except OSError:
                return

    def _drop_idle(self) -> None:
        while self._idle:
            child = self._idle.popleft()
            child.kill()
            child.channel.close()

    async def close(self) -> None:
        """End the server and everything that it forked."""
        self._closed = True
        tasks = [*self._retiring, *([self._starting] if self._starting is not None else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._drop_idle()
        if self.server is not None:
            await self.server.close()
