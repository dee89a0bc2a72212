"""A cache of what is known of all tools, read from the store on demand and updated by the learner."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from halflap.core.errors import StoreError
from halflap.learn import Learned
from halflap.observe.known import Known, known_of
from halflap.store import ToolKey

if TYPE_CHECKING:
    from halflap.core.values import Tool
    from halflap.store import Store, StoredShape

logger = logging.getLogger(__name__)

_MANY = 8
"""For more tools than this, one query reads everything."""
_FRESH_SECONDS = 30.0
"""An entry older than this is read again: a backfill or another gateway may have added to it."""


def key_of(tool: Tool) -> ToolKey:
    """Return the key of what is learned of a tool. A tool with the same schemas is the same tool."""
    return ToolKey(tool.server, tool.original_name, tool.schema_hash)


@dataclass(slots=True)
class _Entry:
    learned: Learned
    read_at: float
    known: Known | None = None
    """Computed from `learned` on demand."""


class Knowledge:
    """What was learned of each tool as it is defined now, merged over all origins; nothing if learning is off."""

    def __init__(self, store: Store, *, values: bool = False, is_used: bool = True) -> None:
        self.is_used = is_used
        self._store = store
        self._values = values
        self._entries: dict[ToolKey, _Entry] = {}
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
        learned = entry.learned
        if entry.known is not None or not learned.results.observations:
            return entry.known
        known = await asyncio.to_thread(known_of, learned)
        if entry.learned is learned:
            entry.known = known
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
            if not old:
                return fresh
            try:
                learned = await asyncio.to_thread(self._merged, old, await self._rows(old))
            except StoreError as error:
                logger.warning("What was learned cannot be read: %s", error)
                return fresh | {key: self._entries[key] for key in old if key in self._entries}
            for key in old:
                entry = self._entries.get(key)
                if entry is None or entry.learned != learned[key]:
                    entry = self._entries[key] = _Entry(learned[key], now)
                entry.read_at = now
                fresh[key] = entry
            return fresh

    async def _rows(self, keys: Collection[ToolKey]) -> Sequence[StoredShape]:
        if len(keys) > _MANY:
            return await self._store.learned()
        names = dict.fromkeys(key[:2] for key in keys)
        return [row for name in names for row in await self._store.learned(server=name[0], tool=name[1])]

    def _merged(self, keys: Iterable[ToolKey], rows: Iterable[StoredShape]) -> dict[ToolKey, Learned]:
        """Merge what all origins learned of each tool, also before its definition was known."""
        shapes: defaultdict[ToolKey, Learned] = defaultdict(Learned)
        for row in rows:
            # Values that were stored while `learning.values` was on are not shown.
            learned = row.learned if self._values else row.learned.without_values()
            shapes[row.key] = shapes[row.key].merge(learned)
        return {
            key: reduce(Learned.merge, (shapes[one] for one in {key, key._replace(definition_hash="")}))
            for key in keys
        }
