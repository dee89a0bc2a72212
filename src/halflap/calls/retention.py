"""Deletes old traces in the background, at the start and then every hour."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from halflap.core.errors import StoreError

if TYPE_CHECKING:
    from halflap.config import TracesConfig
    from halflap.store import Purged, Store

__all__ = ["Retention"]

logger = logging.getLogger(__name__)

_SECONDS_PER_DAY = 86_400
_BYTES_PER_MB = 1_000_000
_HOUR = 3_600.0


class Retention:
    """Keeps the traces within the configured age and size."""

    def __init__(self, store: Store, traces: TracesConfig) -> None:
        self._store = store
        self._traces = traces
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._repeat(), name="delete old traces")

    async def _repeat(self) -> None:
        while True:
            try:
                gone = await self.enforce()
                if gone:
                    logger.info("deleted %d runs and %d calls", gone.runs, gone.calls)
            except StoreError as error:
                logger.info("old traces are not deleted for now: %s", error)
            except Exception:
                logger.exception("old traces could not be deleted")
            await asyncio.sleep(_HOUR)

    async def enforce(self) -> Purged:
        """Delete what is too old or too much, in small steps."""
        return await self._store.purge(
            older_than=time.time() - self._traces.keep_days * _SECONDS_PER_DAY,
            keep_bytes=int(self._traces.keep_mb * _BYTES_PER_MB),
        )

    async def close(self) -> None:
        """Stop, even half-way: the next run deletes the rest."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
