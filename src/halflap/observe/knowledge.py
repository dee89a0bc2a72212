"""A cache of what is known of all tools, read from the store on demand and updated by the learner."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import StoreError
from halflap.learn import Learned
from halflap.observe.known import Known, known_of, merged
from halflap.store import ToolKey

if TYPE_CHECKING:
    from halflap.core.values import Tool
    from halflap.store import Store, StoredShape

logger = logging.getLogger(__name__)

_MANY = 8
"""For more tools than this, one query reads everything."""
_MAX_CACHED = 2_000
_FRESH_SECONDS = 30.0
"""An entry older than this is read again: a backfill or another gateway may have added to it."""


def key_of(tool: Tool) -> ToolKey:
    """Return the key of what is learned of a tool. A tool with the same schemas is the same tool."""
    return ToolKey(tool.server, tool.original_name, tool.schema_hash)


@dataclass(slots=True)
class _Entry:
    learned: Learned
    read_at: float
    known: tuple[Known | None] | None = None
    """Computed from `learned` on demand."""


class Knowledge:
    """What was learned of each tool as it is defined now, merged over all origins; nothing if learning is off."""

    def __init__(self, store: Store, *, values: bool = False, is_used: bool = True) -> None:
        self.is_used = is_used
        self._store = store
        self._values = values
        self._entries: OrderedDict[ToolKey, _Entry] = OrderedDict()
        self._lock = asyncio.Lock()

    async def of(self, tool: Tool) -> Known | None:
        return (await self.of_all([tool])).get(tool.name)

    async def of_all(self, tools: Iterable[Tool]) -> dict[str, Known]:
        """Return what is known of tools, by name; tools without results are left out."""
        keys = {tool.name: key_of(tool) for tool in tools} if self.is_used else {}
        entries = await self._read(set(keys.values()))
        found = {name: await self._known(entries[key]) for name, key in keys.items() if key in entries}
        return {name: known for name, known in found.items() if known is not None}

    async def learned(self, key: ToolKey) -> Learned:
        """Return the shapes known under a key."""
        entries = await self._read({key})
        return entries[key].learned if key in entries else Learned()

    def put(self, key: ToolKey, learned: Learned) -> None:
        """Update what is cached, after something was added to the store."""
        entry = self._entries.get(key)
        if entry is not None and entry.learned != learned:
            entry.learned, entry.known = learned, None

    def forget(self) -> None:
        """Clear the cache, so that everything is read again."""
        self._entries.clear()

    async def _known(self, entry: _Entry) -> Known | None:
        if entry.known is not None:
            return entry.known[0]
        learned = entry.learned
        known = await asyncio.to_thread(known_of, learned)
        if entry.learned is learned:
            entry.known = (known,)
        return known

    async def _read(self, keys: Collection[ToolKey]) -> dict[ToolKey, _Entry]:
        """Return the entries of these keys; those that are missing or old are read from the store."""
        async with self._lock:
            now = asyncio.get_running_loop().time()
            fresh = {
                key: entry
                for key in keys
                if (entry := self._entries.get(key)) is not None and now - entry.read_at <= _FRESH_SECONDS
            }
            old = [key for key in keys if key not in fresh]
            try:
                rows = await self._rows(old)
            except StoreError as error:
                logger.warning("What was learned cannot be read: %s", error)
                return fresh | {key: self._entries[key] for key in old if key in self._entries}
            for key in old:
                entry = fresh[key] = await self._entry(key, rows.get(key[:2], ()), now)
                # In a very large catalogue, tools without results are not cached.
                if len(keys) <= _MAX_CACHED or entry.learned.observations:
                    self._entries[key] = entry
            for key in keys & self._entries.keys():
                self._entries.move_to_end(key)
            while len(self._entries) > _MAX_CACHED:
                self._entries.popitem(last=False)
            return fresh

    async def _rows(self, keys: Collection[ToolKey]) -> dict[tuple[str, str], list[StoredShape]]:
        if len(keys) > _MANY:
            rows = list(await self._store.learned())
        else:
            names = dict.fromkeys(key[:2] for key in keys)
            rows = [row for name in names for row in await self._store.learned(server=name[0], tool=name[1])]
        by_tool: dict[tuple[str, str], list[StoredShape]] = {}
        for row in rows:
            by_tool.setdefault((row.server, row.tool), []).append(row)
        return by_tool

    async def _entry(self, key: ToolKey, rows: Iterable[StoredShape], now: float) -> _Entry:
        counting = [row for row in rows if row.definition_hash in {key.definition_hash, ""}]
        learned = Learned()
        if counting:
            learned = await asyncio.to_thread(merged, counting)
            # Values that were stored while `learning.values` was on are not shown.
            learned = learned if self._values else learned.without_values()
        entry = self._entries.get(key)
        if entry is None or entry.learned != learned:
            return _Entry(learned, now)
        entry.read_at = now
        return entry
