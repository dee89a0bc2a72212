"""Children forked ahead of time, from a fork server that is replaced when it is lost or old."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from halflap.sandbox.jail.fork_server import Child, ForkServer

__all__ = ["Pool"]

_MAX_FORKS = 2_000
"""Then a fork server is replaced: all its children share one memory layout."""
_RETRY_SECONDS = 10.0


class Pool:
    """Forks children of one profile. The server starts with the first; `orders` is called when it does."""

    def __init__(self, profile: str, orders: Callable[[], Mapping[str, Any]]) -> None:
        self._profile = profile
        self._orders = orders
        self._servers: list[ForkServer] = []
        """The last one is in use; the others end with their last child."""
        self._starting: asyncio.Task[ForkServer] | None = None
        self._tried_at = 0.0
        self._idle: deque[Child] = deque()
        self._closed = False

    @property
    def server(self) -> ForkServer | None:
        return self._servers[-1] if self._servers else None

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def start(self) -> ForkServer:
        """Return the server; start one if there is none, or if it is old. Raises `OSError`."""
        if self._closed:
            raise OSError("the gateway is closing")
        if self._starting is None or self._is_due(self._starting):
            self._tried_at = time.monotonic()
            self._starting = asyncio.create_task(self._start(), name="start a fork server")
        # A caller may be cancelled; the start continues, for the next.
        return await asyncio.shield(self._starting)

    def _is_due(self, last: asyncio.Task[ForkServer]) -> bool:
        """Return whether another server has to be started."""
        if not last.done():
            return False
        if last.cancelled() or last.exception() is not None:
            return time.monotonic() - self._tried_at > _RETRY_SECONDS
        return last.result().is_lost or last.result().forked >= _MAX_FORKS

    async def _start(self) -> ForkServer:
        server = ForkServer(self._profile, await asyncio.to_thread(self._orders))
        await server.start()
        self._drop_idle()
        for old in self._servers:
            old.retire()
        self._servers = [*(old for old in self._servers if not old.is_lost), server]
        return server

    async def take(self) -> Child:
        """Return a waiting child, or a new one; raise `OSError` if none can be forked."""
        server = await self.start()
        while self._idle:
            child = self._idle.popleft()
            if child.is_alive:
                return child
            child.channel.close()
        return server.fork()

    def refill(self, count: int) -> None:
        """Fork until `count` children wait. If that fails, the next caller of `take` gets the error."""
        while self.server is not None and not self._closed and len(self._idle) < count:
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
        """End the servers and everything that they forked."""
        self._closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        self._drop_idle()
        for server in self._servers:
            await server.close()
