"""Write records to the store or, while it fails, to a journal that is replayed later."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import math
import os
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.core.errors import StoreError
from halflap.store import Breach, CallRecord, RunRecord

if TYPE_CHECKING:
    from halflap.store import AnyRecord, Store

__all__ = ["Journal", "Writer"]

logger = logging.getLogger(__name__)

MAX_JOURNAL_BYTES = 64 * 1024 * 1024
"""Maximum size of the journal; further records are counted and lost."""
_BATCH_BYTES = 4 * 1024 * 1024
"""How much of the journal is replayed per transaction."""
_RETRY_SECONDS = 1.0
"""Wait before a failed store is tried again."""


class Journal:
    """A file for one store, shared by all processes that use it. Every method blocks on the disk."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def size(self) -> int:
        try:
            return self.file.stat().st_size
        except OSError:
            return 0

    def add(self, records: Sequence[CallRecord | RunRecord]) -> int:
        """Append records as long as there is room; return how many were written."""
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                start = file.seek(0, os.SEEK_END)
                text, count = bytearray(), 0
                for record in records:
                    line = _line(record)
                    if start + len(text) + len(line) <= MAX_JOURNAL_BYTES:
                        text += line
                        count += 1
                if os.pwrite(file.fileno(), text, start) == len(text):
                    os.fsync(file.fileno())
                    return count
                file.truncate(start)
        except OSError as error:
            logger.debug("the journal cannot be written: %s", error)
        return 0

    def batches(self) -> Generator[list[AnyRecord]]:
        """Yield all records in batches, then empty the file.

        Yields nothing while another process replays the journal.
        """
        with suppress(OSError), self.file.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            while lines := file.readlines(_BATCH_BYTES):
                yield [record for line in lines for record in self._read(line)]
            file.truncate(0)

    def _read(self, line: bytes) -> Iterator[AnyRecord]:
        if line.strip():
            try:
                kind, values = json.loads(line)
                yield {"call": CallRecord, "run": RunRecord}[kind](**values)
            except (ValueError, LookupError, TypeError):
                logger.warning("A damaged line of %s was left out.", self.file)


def _line(record: CallRecord | RunRecord) -> bytes:
    # The line break comes first, because a process may have been killed while it wrote the previous line.
    kind = "call" if isinstance(record, CallRecord) else "run"
    return b"\n" + json.dumps([kind, asdict(record)], separators=(",", ":")).encode()


class Writer:
    """Writes to the store while it works, otherwise to the journal; also if the store is a replacement in memory."""

    def __init__(
        self,
        store: Store,
        journal: Journal | None = None,
        on_written: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        """Create a writer; `on_written` receives the number of bytes written to the store."""
        self.problem: str | None = None
        """Why the store cannot be written to at the moment."""
        self.lost = 0
        """Number of lost records that the store has not counted yet."""
        self._store = store
        self._journal = journal
        self._on_written = on_written
        self._may_replay = True
        self._failed_at = -math.inf
        self._has_warned = False

    async def write(self, records: Sequence[AnyRecord]) -> bool:
        """Write records; return whether they are in the store."""
        is_stored = self.problem is None and await self._to_store(records)
        if not is_stored or self._store.trouble is not None:
            await self._to_journal(records)
        return is_stored

    def count_lost(self, count: int) -> None:
        """Count records that could be written nowhere."""
        if count and not self.lost:
            logger.warning("Calls are not recorded until the store works again.")
        self.lost += count

    async def retry(self) -> None:
        """Check whether a failed store works again; may take as long as the store waits for a lock."""
        if self.problem is None or time.monotonic() - self._failed_at < _RETRY_SECONDS:
            return
        try:
            await self._store.check_writable()
            self.problem = None
        except StoreError:
            self._failed_at = time.monotonic()

    async def replay(self) -> None:
        """Move the journal into the store, if it works."""
        if self.problem is not None or self._store.trouble is not None:
            return
        if self._journal is not None and self._may_replay:
            self._may_replay = False
            await self._replay(self._journal)
        if self.lost and self.problem is None:
            logger.warning("%d records were lost while the store could not be written to.", self.lost)
            with suppress(StoreError):
                await self._store.add_counters({"records_lost": self.lost})
            self.lost = 0

    async def journal_bytes(self) -> int:
        """Return the size of the journal."""
        return 0 if self._journal is None else await asyncio.to_thread(self._journal.size)

    async def _replay(self, journal: Journal) -> None:
        batches, count = journal.batches(), 0
        while (batch := await asyncio.to_thread(next, batches, None)) is not None:
            if not await self._to_store(batch, is_late=True):
                self._may_replay = True
                batches.close()
                return
            count += len(batch)
        if count:
            logger.warning("%d records from %s were written to the store.", count, journal.file)

    async def _to_store(self, records: Sequence[AnyRecord], *, is_late: bool = False) -> bool:
        # A record may be there as begun and as ended: the later one counts.
        calls = {record.id: record for record in records if isinstance(record, CallRecord)}
        runs = {record.id: record for record in records if isinstance(record, RunRecord)}
        breaches = [record for record in records if isinstance(record, Breach)]
        try:
            size = await self._store.record(
                calls=list(calls.values()), runs=list(runs.values()), breaches=breaches, is_late=is_late
            )
        except Exception as error:
            if not isinstance(error, StoreError):
                logger.exception("records could not be written to the store")
            if not self._has_warned:
                self._has_warned = True
                where = "nowhere" if self._journal is None else f"in {self._journal.file}"
                logger.warning("%s Until it works again, runs and calls are recorded %s.", error, where)
            self.problem, self._failed_at = str(error), time.monotonic()
            return False
        self._has_warned = False
        if self._on_written is not None:
            await self._on_written(size)
        return True

    async def _to_journal(self, records: Sequence[AnyRecord]) -> None:
        # Breaches are only counted.
        lasting = [record for record in records if not isinstance(record, Breach)]
        if lasting:
            self._may_replay = True
            kept = 0 if self._journal is None else await asyncio.to_thread(self._journal.add, lasting)
            self.count_lost(len(lasting) - kept)
