"""Keep the catalogue up to date: which server is asked for its tools, when, and who waits for it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from halflap.catalog.naming import namespaced
from halflap.core.errors import ServerNotFoundError, ToolNotFoundError, UpstreamError
from halflap.core.values import OWN

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from halflap.catalog.catalog import Catalog
    from halflap.core.errors import HalflapError
    from halflap.core.values import Changes, Listing, Tool
    from halflap.upstream import Pool, Upstream

__all__ = ["Listings"]

logger = logging.getLogger(__name__)

QUIET_SECONDS = 2.0
"""When there is something to say, and for so long no further server has come up, the rest is left out."""


class Listings:
    """Asks each server once, however many want to know."""

    def __init__(
        self,
        catalog: Catalog,
        servers: Sequence[str],
        connections: Callable[[], Awaitable[Pool]],
        own: Mapping[str, Callable[[], Awaitable[Mapping[str, HalflapError]]]],
    ) -> None:
        self._catalog = catalog
        self._servers = servers
        self._connections = connections
        self._own = own
        """Of each source of our own what takes it in as it is now; gives those of its tools that cannot be used, and why."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._asked_at: dict[str, float] = {}
        self._failures: dict[str, str] = {}

    async def settle(self, *, wait_seconds: float, behind: bool) -> None:
        """List the servers that were never listed, and wait for them; `behind` that, the stale ones too.

        The time counts from when a server was asked, so one that hangs is waited for once, not by
        everybody who comes after.
        """
        for look in self._own.values():
            await look()
        awaited: dict[asyncio.Task[None], float] = {}
        for name in self._servers:
            listed = self._catalog.is_listed(name)
            if listed and not (behind and self._catalog.is_stale(name)):
                continue
            again = name in self._failures
            task = self.ask(name)
            if not (again or listed):
                awaited[task] = self._asked_at[name]
        loop = asyncio.get_running_loop()
        last = max(awaited.values(), default=0.0)
        pending = set(awaited)
        while pending:
            until = max(awaited[task] for task in pending) + wait_seconds
            if self._catalog.snapshot.servers.keys() - OWN:
                until = min(until, last + QUIET_SECONDS)
            done, pending = await asyncio.wait(
                pending, timeout=max(0.0, until - loop.time()), return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                break
            last = loop.time()

    def ask_unlisted(self) -> None:
        """Ask the servers that nothing is known of yet."""
        for name in self._servers:
            if not self._catalog.is_listed(name):
                self.ask(name)

    async def refresh(self, server: str | None) -> Changes:
        """List one server or all of them anew, and say what was added, removed and changed."""
        before = self._catalog.snapshot
        names = [*self._servers, *self._own]
        if server is not None:
            if server not in names:
                raise ServerNotFoundError(server, tuple(self._servers))
            names = [server]
        for name in self._own.keys() & names:
            await self._own[name]()
        if asked := [self.ask(name) for name in names if name not in self._own]:
            await asyncio.wait(asked)
        if server is not None and server in self._failures:
            raise UpstreamError(server, self._failures[server])
        return before.changes_to(self._catalog.snapshot, names)

    async def find(self, name: str, running: Iterable[Upstream]) -> Tool:
        """Look a tool up; a miss lists the servers that it may belong to, once, before it is an error."""
        for own, look in self._own.items():
            if name.startswith(namespaced(own, "")) and name in (broken := await look()):
                raise broken[name]
        snapshot = self._catalog.snapshot
        try:
            return snapshot.find(name, self._servers, self.unavailable(running))
        except ToolNotFoundError:
            candidates = [server for server in self._servers if name.startswith(namespaced(server, ""))]
            missed = [self.ask(server) for server in candidates]
            if missed:
                await asyncio.wait(missed)
            return self._catalog.snapshot.find(name, self._servers, self.unavailable(running))

    def unavailable(self, running: Iterable[Upstream]) -> dict[str, str]:
        """Say which servers cannot be reached at the moment, and why."""
        reasons = dict(self._failures)
        for upstream in running:
            status = upstream.status()
            if status.state == "ready":
                reasons.pop(upstream.name, None)
            elif status.state in {"failed", "needs-sign-in"} and status.reason is not None:
                reasons[upstream.name] = status.reason
            elif status.state == "starting" and upstream.name not in self._catalog.snapshot.servers:
                reasons.setdefault(upstream.name, "it is still starting.")
        return reasons

    async def absorb(self, listing: Listing) -> None:
        """Take in what a server listed, asked or not."""
        await self._catalog.absorb(listing)
        self._failures.pop(listing.server, None)

    def ask(self, server: str) -> asyncio.Task[None]:
        """Ask a server for its tools; if that is under way already, join it."""
        task = self._tasks.get(server)
        if task is None or task.done():
            task = asyncio.create_task(self._list(server), name=f"list {server}")
            self._tasks[server] = task
            self._asked_at[server] = asyncio.get_running_loop().time()
        return task

    async def _list(self, server: str) -> None:
        upstream = (await self._connections()).get(server)
        assert upstream is not None
        try:
            await upstream.list()
        except UpstreamError as error:
            self._failures[server] = error.reason
            logger.warning("%s", error)

    async def close(self) -> None:
        """Stop asking."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
