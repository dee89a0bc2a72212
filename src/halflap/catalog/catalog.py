"""The catalogue: merges listings into the store, and always has a current snapshot."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.catalog.listing import Absorbed, absorb, absorb_features, accept_prompts
from halflap.catalog.snapshot import Snapshot, build_snapshot, matches
from halflap.core.errors import StoreBrokenError, StoreError
from halflap.core.text import join, visible
from halflap.core.values import DSPY, OWN, SCRIPTS, Features, Listing, Tool, definition_hash
from halflap.store import ServerRows

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.store import Store

logger = logging.getLogger(__name__)

MIN_TTL_SECONDS = 60.0
"""Shortest lifetime that a server can give its own list; twice as long means half as many listings. Many servers send
`ttlMs: 0`, the default of their library, and would be listed again for every question."""
_MAX_NAMED = 3
_MAX_SHOWN = 100


class Catalog:
    """The tools of one gateway. When the store fails, it continues in memory."""

    def __init__(self, config: Config, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.snapshot = Snapshot()
        self._config = config
        self._store = store
        self._clock = clock
        self._fingerprints = {
            server.name: server.fingerprint for server in config.servers if not server.disabled
        }
        # Saved scripts do not depend on any setting.
        self._fingerprints[SCRIPTS] = SCRIPTS
        if config.uses_programs:
            self._fingerprints[DSPY] = DSPY
        self._rows: dict[str, ServerRows] = {}
        self._names: dict[str, tuple[str, str]] = {}
        """Every name ever given, for when the store fails."""

    @property
    def servers(self) -> tuple[str, ...]:
        """The enabled servers, and Halflap's own sources that have tools."""
        return tuple(
            name for name in self._fingerprints if name not in OWN or name in self.snapshot.by_server
        )

    async def load(self) -> None:
        """Read the stored tools of the configured servers whose settings are still the same."""
        try:
            kept = await self._store.load_catalog()
        except StoreBrokenError:
            raise
        except StoreError as error:
            logger.warning("%s The stored catalogue is unknown, so every server is listed again.", error)
            return
        self._names.update(kept.names)
        for name, fingerprint in self._fingerprints.items():
            server = kept.servers.get(name)
            if server is not None and server.fingerprint == fingerprint:
                tools = [tool for tool in kept.tools if tool.server == name]
                self._rows[name] = ServerRows(server, tools, kept.names)
        self._publish()

    async def absorb(self, listing: Listing) -> None:
        """Merge a server's listing; afterwards the snapshot has it."""
        fingerprint = self._fingerprints.get(listing.server, "")
        now = self._clock()
        absorbed: list[Absorbed] = []

        def change(before: ServerRows) -> ServerRows:
            absorbed.append(absorb(before, listing, fingerprint, now))
            return absorbed[-1].rows

        await self._update(listing.server, change)
        last = absorbed[-1]
        for original, name in last.renamed:
            shown = visible(original, _MAX_SHOWN)
            message = "server %r: tool %r is known as %r, because its plain name belongs to another tool"
            logger.warning(message, listing.server, shown, name)
        if self._config.tools.pin != "off" and last.unaccepted:
            message = "server %r: tools changed since they were accepted: %s. See `halflap doctor`."
            logger.warning(message, listing.server, join(last.unaccepted, limit=_MAX_NAMED))

    async def absorb_changed(self, listing: Listing) -> None:
        """Merge a listing unless the catalogue has exactly these definitions already."""
        rows = self._rows.get(listing.server, ServerRows())
        kept = {tool.original_name: tool.hash for tool in rows.tools if not tool.removed}
        if kept != {str(one["name"]): definition_hash(one) for one in listing.tools}:
            await self.absorb(listing)

    async def absorb_features(self, server: str, features: Features) -> bool:
        """Store what a server offers besides tools, and return whether that is something else than before."""
        before = self.snapshot.features.get(server)
        await self._update(server, lambda rows: absorb_features(rows, features))
        return before != self.snapshot.features.get(server)

    async def accept(self, names: Iterable[str]) -> tuple[str, ...]:
        """Accept the current definitions of these tools, and return the names of those that had changed."""
        seen = self.snapshot
        known = {**seen.prompts, **seen.tools}
        wanted = {name: known[name].hash for name in names if name in seen.changed}

        def change(server: str, before: ServerRows) -> ServerRows:
            # Only the definition that was seen: another process may have stored yet another one.
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
        # The same listing again makes no new snapshot, so that nothing is built from it again.
        if _shown(before) != _shown(after):
            self._publish()

    def _publish(self) -> None:
        self.snapshot = build_snapshot(
            self.snapshot.number + 1,
            (tool for rows in self._rows.values() for tool in rows.tools),
            {name: rows.server for name, rows in self._rows.items() if rows.server is not None},
            self._config.tools,
        )

    def is_listed(self, server: str) -> bool:
        return server in self._rows

    def is_stale(self, server: str) -> bool:
        return self._is_older(server, self._config.ttl.list_seconds)

    def is_stale_schema(self, tool: Tool) -> bool:
        """Return whether a tool's definition is older than `ttl.per_tool` or `ttl.schema_seconds` allows."""
        if tool.server in OWN:
            # Their files are checked for every question.
            return False
        own = matches(tool.name, self._config.ttl.per_tool)
        ttl = self._config.ttl.schema_seconds if own is None else self._config.ttl.per_tool[own]
        return self._is_older(tool.server, ttl)

    def _is_older(self, server: str, ttl: float) -> bool:
        """Compare the age of a server's listing with a time, or with the server's own where that is shorter."""
        kept = self._rows.get(server, ServerRows()).server
        if kept is None:
            return True
        if kept.ttl_seconds is not None:
            ttl = min(max(kept.ttl_seconds, MIN_TTL_SECONDS), ttl)
        # A listing from the future means that a clock was wrong.
        return not 0 <= self._clock() - kept.listed_at < ttl


def _shown(rows: ServerRows) -> Any:
    """Return what a snapshot shows of a server: all but the times."""
    about = rows.server and replace(rows.server, listed_at=0.0, ttl_seconds=None)
    return about, [(tool.name, tool.definition, tool.accepted_hash, tool.removed) for tool in rows.tools]
