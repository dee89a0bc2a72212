"""Write down the calls, off their path: a slow or broken store delays none."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from typing import TYPE_CHECKING

from halflap.errors import StoreError

if TYPE_CHECKING:
    from halflap.store import CallRecord, RunRecord, Store

__all__ = ["Recorder", "new_id"]

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.2
_MOST_WAITING = 10_000


def new_id() -> str:
    """Give an identifier that sorts by time."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(8)}"


class Recorder:
    """Gathers records and writes them in batches."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[CallRecord] = []
        self._some = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._failing = False

    def add(self, record: CallRecord) -> None:
        """Take a record; it is on disk within the second, or when the recorder is closed."""
        if len(self._waiting) >= _MOST_WAITING:
            self._complain("The store is too slow.")
            return
        self._waiting.append(record)
        self._some.set()
        if self._writer is None:
            self._writer = asyncio.create_task(self._write(), name="record calls")

    def begin_run(self, record: RunRecord) -> None:
        """Take the beginning of a run."""

    async def end_run(self, record: RunRecord) -> None:
        """Write the end of a run before anybody hears of it."""
        await self._store.record_runs([record])

    async def _write(self) -> None:
        while True:
            await self._some.wait()
            await asyncio.sleep(_PAUSE_SECONDS)
            await self.flush()

    async def flush(self) -> None:
        """Write what is waiting."""
        self._some.clear()
        batch, self._waiting = self._waiting, []
        if not batch:
            return
        try:
            await self._store.record_calls(batch)
        except asyncio.CancelledError:
            # It may or may not be written; to write it again does no harm.
            self._waiting[:0] = batch
            self._some.set()
            raise
        except StoreError as error:
            self._complain(str(error))
        except Exception:
            # A crash of the store costs this batch, not the ones to come.
            logger.exception("%d calls could not be recorded", len(batch))
        else:
            self._failing = False

    def _complain(self, trouble: str) -> None:
        """Say it once, until it has worked again."""
        if not self._failing:
            logger.warning("%s Calls are not recorded until it works again.", trouble)
        self._failing = True

    async def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.wait([self._writer])
        await self.flush()
