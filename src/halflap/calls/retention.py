"""Delete old traces and removed tools: at the start and every hour; by size also while traces are written."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from halflap.core.errors import StoreError

if TYPE_CHECKING:
    from halflap.config import TracesConfig
    from halflap.store import Purged, Store

__all__ = ["Retention"]

logger = logging.getLogger(__name__)

_SECONDS_PER_DAY = 86_400
_REMOVED_DAYS = 30
"""How long a removed tool is remembered."""
_BYTES_PER_MB = 1_000_000
_HOUR = 3_600.0
_SHARE = 0.05
"""The size is enforced each time a process has written this part of it."""


class Retention:
    """Enforces the configured age and size of traces."""

    def __init__(self, store: Store, traces: TracesConfig, named_tools: Collection[str] = ()) -> None:
        """`named_tools` are never forgotten, however long ago they were removed."""
        self._store = store
        self._named_tools = named_tools
        self._traces = traces
        self._keep_bytes = int(traces.keep_mb * _BYTES_PER_MB)
        self._written = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._repeat(), name="delete old traces")

    async def _repeat(self) -> None:
        while True:
            try:
                gone = await self.enforce()
                await self._store.forget_removed(
                    time.time() - _REMOVED_DAYS * _SECONDS_PER_DAY, self._named_tools
                )
                if gone:
                    logger.info("deleted %d runs and %d calls", gone.runs, gone.calls)
            except StoreError as error:
                logger.info("old traces are not deleted for now: %s", error)
            except Exception:
                logger.exception("old traces could not be deleted")
            await asyncio.sleep(_HOUR)

    async def enforce(self) -> Purged:
        """Delete traces that are too old or exceed the size, in small steps."""
        return await self._store.purge(
            older_than=time.time() - self._traces.keep_days * _SECONDS_PER_DAY, keep_bytes=self._keep_bytes
        )

    async def note_written(self, size: int) -> None:
        """Enforce the size if enough was written since the last time."""
        self._written += size
        if self._written >= _SHARE * self._keep_bytes:
            self._written = 0
            with suppress(StoreError):
                # Free space is reused, so the file need not shrink.
                await self._store.purge(keep_bytes=int((1 - _SHARE) * self._keep_bytes), shrink=False)

    async def close(self) -> None:
        """Stop; the next start deletes the rest."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
