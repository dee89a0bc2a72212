"""Which declarations were broken by results: the check before a run no longer relies on those."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.core.errors import StoreError
from halflap.store import Breach

if TYPE_CHECKING:
    from halflap.core.errors import ArgumentProblem
    from halflap.core.values import Tool
    from halflap.store import Store

__all__ = ["Breaches"]

logger = logging.getLogger(__name__)

_LONGEST_PATH = 500
_MOST_PATHS = 100
"""Per definition; more would tell nothing new."""
_PAUSE_SECONDS = 1.0


class Breaches:
    """Known breaches, in memory at once and in the store soon after."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._paths: dict[tuple[str, str], set[str]] = {}
        self._new: dict[tuple[str, str, str, str], Breach] = {}
        self._writer: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Read what earlier gateways saw."""
        for one in await self._store.breaches():
            self._paths.setdefault((one.server, one.definition_hash), set()).add(one.path)

    def has(self, tool: Tool) -> bool:
        """Return whether a result broke what this tool declares now."""
        return (tool.server, tool.schema_hash) in self._paths

    def note(self, tool: Tool, problem: ArgumentProblem) -> None:
        """Record where a declaration was broken; the problem must not quote data (see `Validators.breach`)."""
        path = problem.path[:_LONGEST_PATH]
        known = self._paths.setdefault((tool.server, tool.schema_hash), set())
        if path not in known:
            if len(known) >= _MOST_PATHS:
                return
            known.add(path)
            logger.info(
                "A result of %s is not what the tool declares: %s: expected %s.",
                tool.name,
                path or "(the whole)",
                problem.expected,
            )
        key, now = (tool.server, tool.original_name, tool.schema_hash, path), time.time()
        waiting = self._new.get(key)
        self._new[key] = (
            Breach(*key, expected=problem.expected[:_LONGEST_PATH], first_at=now, last_at=now, times=1)
            if waiting is None
            else replace(waiting, last_at=now, times=waiting.times + 1)
        )
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write(), name="record breaches")

    async def _write(self) -> None:
        while self._new:
            await self.flush()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def flush(self) -> None:
        """Write what is not in the store yet."""
        new, self._new = self._new, {}
        try:
            await self._store.add_breaches(list(new.values()))
        except StoreError as error:
            # It stays known in memory and will be seen again.
            logger.warning("Broken declarations could not be stored: %s", error)

    async def close(self) -> None:
        if self._writer is not None:
            self._writer.cancel()
            with suppress(asyncio.CancelledError):
                await self._writer
        if self._new:
            await self.flush()
