"""The catalogue asks servers for their tools, merges the answers into the store, and always has a current snapshot."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from halflap.catalog.listing import absorb, absorb_features, accept_prompts, choose_name, namespaced
from halflap.catalog.snapshot import Snapshot, build_snapshot, matches
from halflap.core.errors import (
    HalflapError,
    ServerNotFoundError,
    StoreBrokenError,
    StoreError,
    UpstreamError,
)
from halflap.core.text import join, visible
from halflap.core.values import (
    DSPY,
    OWN,
    SCRIPTS,
    Changes,
    Features,
    Listing,
    Tool,
    ToolSource,
    definition_hash,
)
from halflap.store import ServerRows

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.store import Store
    from halflap.upstream import Pool

logger = logging.getLogger(__name__)
server_logger = logging.getLogger("halflap.catalog.servers")
"""Commands report the state of servers themselves, and silence this logger."""

MIN_TTL_SECONDS = 60.0
"""Shortest lifetime that a server can give its own list. Many servers send `ttlMs: 0`, the default of their library, and
would be listed again for every question. Doubling it halves the number of listings."""
FIRST_LISTING_SECONDS = 10.0
"""How long an answer waits for servers that were never listed. Doubling it doubles the delay that a hanging server causes."""
QUIET_SECONDS = 2.0
"""Once some server is listed, stop waiting for the others when this long passes without another."""
RECHECK_SECONDS = 10.0
"""How often unknown names make a server list its tools again. Halving it doubles the number of listings at most."""
_MAX_NAMED = 3
_MAX_SHOWN = 100


class Servers(Protocol):
    """The connections to servers, opened when first needed."""

    @property
    def made(self) -> Pool | None: ...

    async def get(self) -> Pool: ...


class OwnSource(ToolSource, Protocol):
    """A source of tools that needs no server: saved scripts, DSPy programs."""

    async def reread(self) -> Mapping[str, HalflapError]:
        """Read it again. Return the tools that cannot be called, with the reasons."""


class Catalog:
    """The tools of one gateway. When the store fails, the catalogue continues in memory.

    With `refresh_stale`, stale lists are refreshed in the background. Processes that end soon do without.
    """

    def __init__(
        self,
        config: Config,
        store: Store,
        pool: Servers,
        *,
        refresh_stale: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.snapshot = Snapshot()
        self._config = config
        self._store = store
        self._pool = pool
        self._refresh_stale = refresh_stale
        self._clock = clock
        enabled = [server for server in config.servers if not server.disabled]
        self.configured = tuple(server.name for server in enabled)
        """The enabled servers, including those that have not listed their tools yet."""
        self._disabled = {one.name: one.blocked or "" for one in config.servers if one.disabled}
        self._fingerprints = {server.name: server.fingerprint for server in enabled}
        # Saved scripts do not depend on any setting.
        self._fingerprints[SCRIPTS] = SCRIPTS
        if config.uses_programs:
            self._fingerprints[DSPY] = DSPY
        self._rows: dict[str, ServerRows] = {}
        self._names: dict[str, tuple[str, str]] = {}
        """All names ever given, in case the store fails."""
        self.own: dict[str, OwnSource] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._asked_at: dict[str, float] = {}
        self._rechecked_at: dict[str, float] = {}
        self._failures: dict[str, str] = {}

    # The current state

    @property
    def servers(self) -> tuple[str, ...]:
        """The enabled servers, and Halflap's own sources that have tools."""
        return tuple(
            name for name in self._fingerprints if name not in OWN or name in self.snapshot.by_server
        )

    def serves(self, _server: str) -> bool:
        """Return whether a server is visible. In a view, some are not."""
        return True

    async def load(self) -> None:
        """Read the stored tools of the configured servers whose settings are still the same."""
        try:
            kept = await self._store.load_catalog()
        except StoreBrokenError:
            raise
        except StoreError as error:
            logger.warning("%s The stored catalogue cannot be used, so every server is listed again.", error)
            return
        self._names.update(kept.names)
        for name, fingerprint in self._fingerprints.items():
            server = kept.servers.get(name)
            if server is not None and server.fingerprint == fingerprint:
                tools = [tool for tool in kept.tools if tool.server == name]
                self._rows[name] = ServerRows(server, tools, kept.names)
        self._publish()

    async def absorb(self, listing: Listing) -> None:
        """Merge a server's listing, requested or not, and publish a new snapshot."""
        self._failures.pop(listing.server, None)
        fingerprint = self._fingerprints.get(listing.server, "")
        now = self._clock()
        before = {tool.original_name: tool for tool in self._rows.get(listing.server, ServerRows()).tools}
        listed = {str(one["name"]): definition_hash(one) for one in listing.tools}
        if listing.server in OWN and listed == {
            name: tool.hash for name, tool in before.items() if not tool.removed
        }:
            # Every command lists its own sources, and they have rarely changed.
            return
        await self._update(listing.server, lambda rows: absorb(rows, listing, fingerprint, now))
        changed = []
        for tool in self._rows[listing.server].tools:
            old = before.get(tool.original_name)
            if old is None and tool.name != choose_name(tool.server, tool.original_name, {}):
                message = "server %r: tool %r is known as %r, because its plain name belongs to another tool"
                logger.warning(message, tool.server, visible(tool.original_name, _MAX_SHOWN), tool.name)
            if tool.hash not in {tool.accepted_hash, old and old.hash}:
                changed.append(tool.name)
        if self._config.tools.pin != "off" and changed:
            message = "server %r: tools changed since they were accepted: %s. See `halflap doctor`."
            logger.warning(message, listing.server, join(sorted(changed), limit=_MAX_NAMED))

    async def absorb_features(self, server: str, features: Features) -> bool:
        """Store what a server offers besides tools, and return whether that has changed."""
        before = self.snapshot.features.get(server)
        await self._update(server, lambda rows: absorb_features(rows, features))
        return before != self.snapshot.features.get(server)

    async def accept(self, names: Iterable[str]) -> tuple[str, ...]:
        """Accept the current definitions of these tools, and return the names of those that had changed."""
        seen = self.snapshot
        known = {**seen.prompts, **seen.tools}
        wanted = {name: known[name].hash for name in names if name in seen.changed}

        def change(server: str, before: ServerRows) -> ServerRows:
            # Only the definition that was shown: another process may have stored a newer one.
            tools = [
                replace(tool, accepted=tool.definition, accepted_hash=tool.hash)
                if wanted.get(tool.name) == tool.hash
                else tool
                for tool in before.tools
            ]
            prompts = [
                one.original_name
                for name, one in seen.prompts.items()
                if one.server == server and wanted.get(name) == one.hash
            ]
            return accept_prompts(replace(before, tools=tools), prompts)

        for server in {known[name].server for name in wanted}:
            await self._update(server, partial(change, server))
        return tuple(sorted(name for name in wanted if name not in self.snapshot.changed))

    async def _update(self, server: str, change: Callable[[ServerRows], ServerRows]) -> None:
        before = self._rows.get(server, ServerRows())
        try:
            after = await self._store.update_server(server, change)
        except StoreError as error:
            logger.warning("%s The catalogue continues in memory.", error)
            after = change(replace(before, names=self._names))
        self._rows[server] = after
        self._names.update(after.names)
        # An unchanged listing makes no new snapshot, so nothing derived from it is rebuilt.
        if _shown(before) != _shown(after):
            self._publish()

    def _publish(self) -> None:
        self.snapshot = build_snapshot(
            self.snapshot.number + 1,
            (tool for rows in self._rows.values() for tool in rows.tools),
            {name: rows.server for name, rows in self._rows.items() if rows.server is not None},
            self._config.tools,
        )

    # Listing servers

    def register(self, source: OwnSource) -> None:
        """Add one of Halflap's own sources of tools. It is read again for every question."""
        self.own[source.name] = source

    async def reread(self) -> None:
        """Read Halflap's own sources again."""
        for source in self.own.values():
            await source.reread()

    async def ensure_listed(self, wait_seconds: float = FIRST_LISTING_SECONDS) -> None:
        """List the servers that were never listed, and wait for them.

        The wait is measured from the request, so a server that hangs delays only the first caller.
        """
        await self.reread()
        loop, until = asyncio.get_running_loop(), 0.0
        pending: set[asyncio.Task[None]] = set()
        for name in self.configured:
            is_listed, has_failed = name in self._rows, name in self._failures
            if is_listed and not (
                self._refresh_stale and self._is_older(name, self._config.ttl.list_seconds)
            ):
                continue
            task = self.relist(name)
            if not (has_failed or is_listed):
                pending.add(task)
                until = max(until, self._asked_at[name] + wait_seconds)
        while pending:
            is_any_listed = bool(self.snapshot.servers.keys() - OWN)
            timeout = min(until - loop.time(), QUIET_SECONDS if is_any_listed else wait_seconds)
            done, pending = await asyncio.wait(
                pending, timeout=max(0.0, timeout), return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                break

    def ask_unlisted(self) -> None:
        """List the servers that were never listed, without waiting."""
        for name in self.configured:
            if name not in self._rows:
                self.relist(name)

    async def refresh(self, server: str | None) -> Changes:
        """List one server or all of them again, and return what was added, removed and changed."""
        before = self.snapshot
        names = [*self.configured, *self.own]
        if server is not None:
            if server not in names:
                raise ServerNotFoundError(server, tuple(self.configured))
            names = [server]
        for name in self.own.keys() & names:
            await self.own[name].reread()
        if asked := [self.relist(name) for name in names if name not in self.own]:
            await asyncio.wait(asked)
        if server is not None and server in self._failures:
            raise UpstreamError(server, self._failures[server])
        return before.changes_to(self.snapshot, names)

    async def find(self, name: str) -> Tool:
        """Return the tool of this name. If it is unknown, list the servers that it may belong to again before raising."""
        for own, source in self.own.items():
            if name.startswith(namespaced(own, "")) and name in (broken := await source.reread()):
                raise broken[name]
        if name not in self.snapshot.tools:
            await self._recheck(
                server for server in self.configured if name.startswith(namespaced(server, ""))
            )
        return self.known(name)

    def known(self, name: str) -> Tool:
        """Return the tool of this name from the current snapshot."""
        return self.snapshot.find(name, self.configured, self.without_tools())

    async def _recheck(self, servers: Iterable[str]) -> None:
        """List servers again, except those that were just listed: a program may try very many names."""
        now = asyncio.get_running_loop().time()
        asked = []
        for server in servers:
            if now - self._rechecked_at.get(server, -RECHECK_SECONDS) >= RECHECK_SECONDS:
                self._rechecked_at[server] = now
                asked.append(self.relist(server))
            elif (task := self._tasks.get(server)) is not None and not task.done():
                asked.append(task)
        if asked:
            await asyncio.wait(asked)

    def is_stale(self, tool: Tool) -> bool:
        """Return whether a tool's definition is older than its `ttl`. If so, refresh it in the background."""
        own = matches(tool.name, self._config.ttl.per_tool)
        ttl = self._config.ttl.schema_seconds if own is None else self._config.ttl.per_tool[own]
        # Our own sources' files are checked for every question.
        is_stale = tool.server not in OWN and self._is_older(tool.server, ttl)
        if is_stale and self._refresh_stale:
            self.relist(tool.server)
        return is_stale

    def _is_older(self, server: str, ttl: float) -> bool:
        """Return whether a listing is older than `ttl`, or than the server's own lifetime if that is shorter."""
        kept = self._rows.get(server, ServerRows()).server
        if kept is None:
            return True
        if kept.ttl_seconds is not None:
            ttl = min(max(kept.ttl_seconds, MIN_TTL_SECONDS), ttl)
        # A listing from the future means that a clock was wrong.
        return not 0 <= self._clock() - kept.listed_at < ttl

    def unavailable(self) -> dict[str, str]:
        """Return the servers that cannot be reached now, with the reasons."""
        reasons = dict(self._failures)
        for upstream in self._pool.made or ():
            status = upstream.status()
            if status.state == "ready":
                reasons.pop(upstream.name, None)
            elif status.state in {"failed", "needs-sign-in"} and status.reason is not None:
                reasons[upstream.name] = status.reason
            elif status.state == "starting" and upstream.name not in self.snapshot.servers:
                reasons.setdefault(upstream.name, "it is still starting.")
        return reasons

    def without_tools(self) -> dict[str, str]:
        """Return the servers whose tools may be unknown, with the reasons: unavailable and disabled ones."""
        return self._disabled | self.unavailable()

    def relist(self, server: str) -> asyncio.Task[None]:
        """Request a server's tools, or join the request under way."""
        task = self._tasks.get(server)
        if task is None or task.done():
            task = asyncio.create_task(self._list(server), name=f"list {server}")
            self._tasks[server] = task
            self._asked_at[server] = asyncio.get_running_loop().time()
        return task

    async def _list(self, server: str) -> None:
        upstream = (await self._pool.get())[server]
        try:
            await upstream.list()
        except UpstreamError as error:
            # Logged once until it works again: it may fail with every request, and stderr may be a pipe that fills up.
            server_logger.log(logging.DEBUG if server in self._failures else logging.WARNING, "%s", error)
            self._failures[server] = error.reason

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)


def _shown(rows: ServerRows) -> Any:
    """Return the parts of a server's rows that a snapshot shows: all but the times."""
    about = rows.server and replace(rows.server, listed_at=0.0, ttl_seconds=None)
    return about, [(tool.name, tool.definition, tool.accepted_hash, tool.removed) for tool in rows.tools]
