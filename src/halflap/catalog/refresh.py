"""Keeps the catalogue up to date: which server is asked for its tools, when, and who waits for the answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from halflap.catalog.naming import namespaced
from halflap.core.errors import HalflapError, ServerNotFoundError, UpstreamError
from halflap.core.values import OWN, Changes, Listing, Tool

if TYPE_CHECKING:
    from halflap.catalog.catalog import Catalog
    from halflap.upstream import Pool, Upstream

logger = logging.getLogger(__name__)

FIRST_LISTING_SECONDS = 10.0
"""How long an answer waits for servers that were never listed. Doubled, a hanging server delays it twice as long."""
QUIET_SECONDS = 2.0
"""Once some server is listed, stop waiting for the others when this long passes without another."""
RECHECK_SECONDS = 10.0
"""How often unknown names make a server list its tools again. Half as long means twice as many listings at most."""


class OwnSource(Protocol):
    """A source of tools that needs no server: saved scripts, DSPy programs."""

    @property
    def name(self) -> str: ...

    async def look(self) -> Mapping[str, HalflapError]:
        """Read it again, and return the tools that cannot be called, and why."""


class Refresher:
    """Asks servers for their tools, each at most once at a time.

    `refresh_stale` asks servers whose list is stale in the background; not worth it for a process that ends soon.
    """

    def __init__(
        self,
        catalog: Catalog,
        servers: Sequence[str],
        connections: Callable[[], Awaitable[Pool]],
        running: Callable[[], Iterable[Upstream]],
        *,
        refresh_stale: bool = True,
    ) -> None:
        self._catalog = catalog
        self.servers = servers
        self._connections = connections
        self._running = running
        self._refresh_stale = refresh_stale
        self._own: dict[str, OwnSource] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._asked_at: dict[str, float] = {}
        self._rechecked_at: dict[str, float] = {}
        self._failures: dict[str, str] = {}

    def register(self, source: OwnSource) -> None:
        """Add one of Halflap's own sources of tools, which is read again for every question."""
        self._own[source.name] = source

    async def look(self) -> None:
        """Read Halflap's own sources again."""
        for source in self._own.values():
            await source.look()

    async def ensure_listed(self, wait_seconds: float = FIRST_LISTING_SECONDS) -> None:
        """Ask the servers that were never listed, and wait for them.

        The time counts from when a server was asked, so one that hangs delays the first caller only.
        """
        await self.look()
        awaited: dict[asyncio.Task[None], float] = {}
        for name in self.servers:
            listed = self._catalog.is_listed(name)
            if listed and not (self._refresh_stale and self._catalog.is_stale(name)):
                continue
            failed_before = name in self._failures
            task = self.ask(name)
            if not (failed_before or listed):
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
        """Ask the servers that were never listed, without waiting."""
        for name in self.servers:
            if not self._catalog.is_listed(name):
                self.ask(name)

    async def refresh(self, server: str | None) -> Changes:
        """List one server or all of them again, and return what was added, removed and changed."""
        before = self._catalog.snapshot
        names = [*self.servers, *self._own]
        if server is not None:
            if server not in names:
                raise ServerNotFoundError(server, tuple(self.servers))
            names = [server]
        for name in self._own.keys() & names:
            await self._own[name].look()
        if asked := [self.ask(name) for name in names if name not in self._own]:
            await asyncio.wait(asked)
        if server is not None and server in self._failures:
            raise UpstreamError(server, self._failures[server])
        return before.changes_to(self._catalog.snapshot, names)

    async def find(self, name: str) -> Tool:
        """Return the tool of this name; before raising, list the servers that it may belong to again."""
        for own, source in self._own.items():
            if name.startswith(namespaced(own, "")) and name in (broken := await source.look()):
                raise broken[name]
        if name not in self._catalog.snapshot.tools:
            await self._recheck(server for server in self.servers if name.startswith(namespaced(server, "")))
        return self.known(name)

    def known(self, name: str) -> Tool:
        """Return the tool of this name from the catalogue as it is now."""
        return self._catalog.snapshot.find(name, self.servers, self.unavailable())

    async def _recheck(self, servers: Iterable[str]) -> None:
        """List servers again, except those that were just asked: a program may try very many names."""
        now = asyncio.get_running_loop().time()
        asked = []
        for server in servers:
            if now - self._rechecked_at.get(server, -RECHECK_SECONDS) >= RECHECK_SECONDS:
                self._rechecked_at[server] = now
                asked.append(self.ask(server))
            elif (task := self._tasks.get(server)) is not None and not task.done():
                asked.append(task)
        if asked:
            await asyncio.wait(asked)

    def is_stale(self, tool: Tool) -> bool:
        """Return whether a tool's definition is stale; if so, list its server again in the background."""
        is_stale = self._catalog.is_stale_schema(tool)
        if is_stale and self._refresh_stale:
            self.ask(tool.server)
        return is_stale

    def unavailable(self) -> dict[str, str]:
        """Return the servers that cannot be reached right now, with the reason."""
        reasons = dict(self._failures)
        for upstream in self._running():
            status = upstream.status()
            if status.state == "ready":
                reasons.pop(upstream.name, None)
            elif status.state in {"failed", "needs-sign-in"} and status.reason is not None:
                reasons[upstream.name] = status.reason
            elif status.state == "starting" and upstream.name not in self._catalog.snapshot.servers:
                reasons.setdefault(upstream.name, "it is still starting.")
        return reasons

    async def absorb(self, listing: Listing) -> None:
        """Merge a server's listing into the catalogue, whether it was asked for or not."""
        await self._catalog.absorb(listing)
        self._failures.pop(listing.server, None)

    def ask(self, server: str) -> asyncio.Task[None]:
        """Ask a server for its tools, or join the question that is under way."""
        task = self._tasks.get(server)
        if task is None or task.done():
            task = asyncio.create_task(self._list(server), name=f"list {server}")
            self._tasks[server] = task
            self._asked_at[server] = asyncio.get_running_loop().time()
        return task

    async def _list(self, server: str) -> None:
        upstream = (await self._connections())[server]
        try:
            await upstream.list()
        except UpstreamError as error:
            # Said once until it works again: it may be asked with every request, and stderr may be a pipe that fills up.
            logger.log(logging.DEBUG if server in self._failures else logging.WARNING, "%s", error)
            self._failures[server] = error.reason

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
