"""Writes records to the store; while it fails, to the journal, which is replayed once it works again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from halflap.calls.journal import Journal, JournalStatus, Records
from halflap.core.errors import StoreError

if TYPE_CHECKING:
    from halflap.store import Store

__all__ = ["Writer"]

logger = logging.getLogger(__name__)

_PROBE_SECONDS = 1.0
"""How often a store that failed is tried again."""


class Writer:
    """Knows whether the store works. A store in memory, used because the configured one cannot be opened, does not."""

    def __init__(
        self,
        store: Store,
        journal: Journal | None = None,
        on_written: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        """Create a writer; `on_written` learns how many bytes the store received."""
        self.problem: str | None = None
        """Why the store cannot be written to at present."""
        self._store = store
        self._journal = journal
        self._on_written = on_written
        self._may_replay = journal is not None and store.trouble is None
        self._writing = asyncio.Lock()
        self._probing: asyncio.Task[None] | None = None
        self._has_warned = False
        self._is_losing = False

    async def write(self, records: Records, dropped: int = 0) -> bool:
        """Write records, and return whether the store has them; `dropped` counts those that were lost before."""
        async with self._writing:
            is_stored = self.problem is None and await self._to_store(records)
            if not is_stored or self._store.trouble is not None:
                await self._to_journal(records, dropped)
            elif dropped:
                await self._count_lost(dropped)
            return is_stored

    async def replay(self) -> None:
        """Write to the store what is in the journal, and empty it if all of that succeeds."""
        async with self._writing:
            if self._may_replay and self.problem is None:
                await self._replay()

    async def journal_status(self) -> JournalStatus:
        return JournalStatus(0, 0) if self._journal is None else await asyncio.to_thread(self._journal.status)

    async def close(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])

    async def _to_store(self, records: Records) -> bool:
        try:
            size = await self._store.record(
                calls=records.calls,
                runs=[run for run, _ in records.runs],
                breaches=records.breaches,
                process=next((process for _, process in records.runs), None),
            )
        except StoreError as error:
            self._fail(str(error))
            return False
        except Exception as error:
            logger.exception("records could not be written to the store")
            self._fail(f"The store crashed: {error}.")
            return False
        self._has_warned = self._is_losing = False
        if self._on_written is not None:
            await self._on_written(size)
        return True

    async def _to_journal(self, records: Records, lost: int) -> None:
        lines = await asyncio.to_thread(records.lines)
        if self._journal is None:
            lost += len(lines)
        else:
            lost = await asyncio.to_thread(self._journal.add, lines, lost)
            self._may_replay = self._store.trouble is None
        if lost and not self._is_losing:
            self._is_losing = True
            room = "" if self._journal is None else f"There is no room in {self._journal.file}. "
            logger.warning("%sCalls are not recorded until the store works again.", room)

    async def _replay(self) -> None:
        assert self._journal is not None
        self._may_replay = False
        if not await asyncio.to_thread(self._journal.begin_replay):
            return
        is_stored, count = False, 0
        try:
            while records := await asyncio.to_thread(self._journal.read):
                await self._store.replay(records.calls, records.runs, records.breaches)
                count += len(records.calls) + len(records.runs)
            is_stored = True
        except StoreError as error:
            self._may_replay = True
            self._fail(str(error))
        finally:
            lost = await asyncio.to_thread(self._journal.end_replay, is_stored=is_stored)
        if is_stored:
            self._has_warned = self._is_losing = False
            logger.warning("%d records that waited in %s are in the store now.", count, self._journal.file)
            await self._count_lost(lost)

    async def _count_lost(self, lost: int) -> None:
        if lost:
            logger.warning("%d records were lost while the store could not be written to.", lost)
            with suppress(StoreError):
                await self._store.add_counters({"records_lost": lost})

    def _fail(self, problem: str) -> None:
        self.problem = problem
        if not self._has_warned:
            self._has_warned = True
            where = "nowhere" if self._journal is None else f"in {self._journal.file}"
            logger.warning("%s Until it works again, runs and calls are recorded %s.", problem, where)
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._probe(), name="try the store again")

    async def _probe(self) -> None:
        while self.problem is not None:
            await asyncio.sleep(_PROBE_SECONDS)
            with suppress(StoreError):
                await self._store.check_writable()
                self.problem = None
                await self.replay()
