"""What is known of all tools: read from the store when it is asked for, and kept up with what passes."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import StoreError
from halflap.learn import Learned
from halflap.observe.known import known_of, merged
from halflap.store import ToolKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.core.values import Tool
    from halflap.observe.known import Known
    from halflap.store import Store, StoredShape

__all__ = ["Knowledge", "key_of"]

logger = logging.getLogger(__name__)

_MANY = 8
_MOST_KEPT = 2_000
"""So many tools' knowledge is held in memory."""
_FRESH_SECONDS = 30.0
"""After so long it is read again: a backfill or another gateway may have added to it."""


def key_of(tool: Tool) -> ToolKey:
    """Return the key of what is learned of a tool: as long as its schemas stay, it is the same tool."""
    return ToolKey(tool.server, tool.original_name, tool.schema_hash)


@dataclass(slots=True)
class _Entry:
    learned: Learned
    read_at: float
    known: Known | None = None
    is_known: bool = False
    """Whether `known` is of `learned` as it is."""


class Knowledge:
    """Merged over all origins; of each tool, what was learned of it as it is defined now."""

    def __init__(self, store: Store, *, enums: bool = False) -> None:
        self._store = store
        self._enums = enums
        self._entries: OrderedDict[ToolKey, _Entry] = OrderedDict()
        self._reading: dict[ToolKey, asyncio.Lock] = {}

    async def of(self, tool: Tool) -> Known | None:
        """Say what is known of a tool."""
        entry = await self._entry(key_of(tool))
        if entry is None:
            return None
        if not entry.is_known:
            learned = entry.learned
            known = await asyncio.to_thread(known_of, key_of(tool), learned, enums=self._enums)
            if entry.learned is not learned:
                # More came meanwhile; it is said the next time.
                return known
            entry.known, entry.is_known = known, True
        return entry.known

    async def of_all(self, tools: Iterable[Tool]) -> dict[str, Known]:
        """Say what is known of many tools, by their names; those of which nothing is are left out."""
        listed = list(tools)
        if len(listed) > _MANY:
            known = await self._read_all({key_of(tool) for tool in listed})
            listed = [tool for tool in listed if known is None or key_of(tool) in known]
        found = {tool.name: await self.of(tool) for tool in listed}
        return {name: known for name, known in found.items() if known is not None}

    async def _read_all(self, keys: set[ToolKey]) -> set[ToolKey] | None:
        """Read everything at once, where tool by tool would take long; gives those of which there is anything."""
        now = asyncio.get_running_loop().time()
        if all(key in self._entries and now - self._entries[key].read_at <= _FRESH_SECONDS for key in keys):
            return None
        try:
            rows = await self._store.learned()
        except StoreError:
            return None
        by_tool: dict[tuple[str, str], list[StoredShape]] = {}
        for row in rows:
            by_tool.setdefault((row.server, row.tool), []).append(row)
        # In so large a catalogue little is known of most, and there is no room for what is not.
        known = {key for key in keys if (key.server, key.tool) in by_tool}
        for key in keys if len(keys) <= _MOST_KEPT else known:
            self._keep(key, await self._merged(key, by_tool.get((key.server, key.tool), ())), now)
        return known

    async def learned(self, key: ToolKey) -> Learned:
        """Give the shapes that are known under a key."""
        entry = await self._entry(key)
        return Learned() if entry is None else entry.learned

    def put(self, key: ToolKey, learned: Learned) -> None:
        """Keep what is known now, after something was added and written."""
        entry = self._entries.get(key)
        if entry is not None and entry.learned != learned:
            entry.learned, entry.is_known = learned, False

    def forget(self) -> None:
        """Have everything read anew."""
        self._entries.clear()

    async def _entry(self, key: ToolKey) -> _Entry | None:
        lock = self._reading.setdefault(key, asyncio.Lock())
        async with lock:
            now = asyncio.get_running_loop().time()
            entry = self._entries.get(key)
            if entry is None or now - entry.read_at > _FRESH_SECONDS:
                try:
                    rows = await self._store.learned(server=key.server, tool=key.tool)
                except StoreError as error:
                    logger.warning(
                        "What was learned of %s.%s cannot be read: %s", key.server, key.tool, error
                    )
                    return entry
                entry = self._keep(key, await self._merged(key, rows), now)
            self._entries.move_to_end(key)
            return entry

    async def _merged(self, key: ToolKey, rows: Iterable[StoredShape]) -> Learned:
        counting = [row for row in rows if row.definition_hash in {key.definition_hash, ""}]
        if not counting:
            return Learned()
        # What is still there from when values were kept is not shown.
        return await asyncio.to_thread(
            lambda: merged(counting) if self._enums else merged(counting).without_values()
        )

    def _keep(self, key: ToolKey, learned: Learned, now: float) -> _Entry:
        entry = self._entries.get(key)
        if entry is None or entry.learned != learned:
            entry = _Entry(learned, now)
        entry.read_at = now
        self._entries[key] = entry
        while len(self._entries) > _MOST_KEPT:
            gone, _ = self._entries.popitem(last=False)
            self._reading.pop(gone, None)
        return entry
