"""Records runs and calls: redacted, in batches, in the background; what must be on disk first is waited for."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halflap.calls.payload import Payload, stored_call, stored_run, weight
from halflap.calls.redact import Redactor
from halflap.calls.running import RunningFile
from halflap.catalog import matches, namespaced
from halflap.config import TracesConfig
from halflap.core.errors import StoreError, UsageError
from halflap.store import INTERRUPTED, RUNNING, CallRecord, RunRecord

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence
    from pathlib import Path

    from halflap.config import Record
    from halflap.core.values import Tool
    from halflap.store import Store

__all__ = ["Recorder", "new_id"]

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.2
"""How long records gather before a batch is written."""
_MOST_WAITING = 10_000
_MOST_WAITING_BYTES = 64 * 1024 * 1024
_SMALL = 4_096
"""Batches up to this many bytes are redacted on the event loop, larger ones in a thread."""
_LARGE_RUN = 262_144
_LONGEST_REDACTION_SECONDS = 1.0
_LONGEST_COMMIT_SECONDS = 5.0
_COMMIT_SECONDS_WHILE_FAILING = 0.25
_BYTES_PER_SECOND = 500_000
"""A commit may take longer by its size over this speed of redaction."""
_PROCESS_GONE = "The process that ran it ended before it did: it was killed, or the machine went down."


def new_id() -> str:
    """Return an identifier that sorts by time."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(8)}"


@dataclass(slots=True)
class _Entry:
    """A record to be written, with what is to be redacted for it."""

    record: CallRecord | RunRecord
    weight: int
    level: Record = "full"
    arguments: Payload = None
    result: Payload = None
    is_redacted: bool = False
    written: asyncio.Future[bool] | None = None
    """Resolved after the attempt to write, with its success; None if nothing waits for that."""

    def reduce(self) -> None:
        """Keep only the metadata."""
        self.level = "metadata"
        self.arguments = self.result = None
        self.weight = 0


class Recorder:
    """Takes records with all their secrets; nothing is written that was not redacted."""

    def __init__(
        self,
        store: Store,
        redactor: Redactor | None = None,
        traces: TracesConfig | None = None,
        running: Path | None = None,
    ) -> None:
        """Create a recorder; `running` is the folder for the lists of runs in progress."""
        self._store = store
        self._running = None if running is None else RunningFile(running)
        self._redactor = Redactor() if redactor is None else redactor
        self._traces = TracesConfig() if traces is None else traces
        self._waiting: list[_Entry] = []
        self._waiting_bytes = 0
        self._some = asyncio.Event()
        self._urgent = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._writer: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_failing = False

    def level(self, tool: Tool) -> Record:
        """Return what is recorded of a tool's calls, by its name or the one it would have without a collision."""
        names = (tool.name, namespaced(tool.server, tool.original_name))
        for glob, level in self._traces.per_tool.items():
            if any(matches(name, (glob,)) is not None for name in names):
                return level
        return self._traces.record

    def add(
        self, record: CallRecord, *, arguments: Payload = None, result: Payload = None, level: Record = "full"
    ) -> None:
        """Take a call; it is on disk within a second, or when the recorder is closed."""
        self._take(_Entry(record, weight(arguments) + weight(result), level, arguments, result))

    async def commit(
        self, record: CallRecord, *, arguments: Payload = None, level: Record = "full"
    ) -> CallRecord | None:
        """Write a call before it is sent and return it as stored; a store that fails or hangs does not prevent it."""
        entry = _Entry(record, weight(arguments), level, arguments)
        await self._write_now(entry)
        stored = entry.record
        return stored if entry.is_redacted and isinstance(stored, CallRecord) else None

    def begin_run(self, record: RunRecord) -> None:
        """Take a run that begins; it is on disk before any of its calls that is committed."""
        if self._traces.record != "off":
            self._take(self._run_entry(record))

    async def commit_run(self, record: RunRecord) -> None:
        """Write a run before it continues; a store that fails or hangs does not prevent it."""
        if self._traces.record != "off":
            await self._write_now(self._run_entry(record))

    async def end_run(self, record: RunRecord) -> bool:
        """Write a run that ended and return whether its whole output is kept.

        Redacting much output takes seconds: then the outcome is written first, and the output follows.
        """
        if self._traces.record == "off":
            return False
        entry = self._run_entry(record)
        if entry.weight <= _LARGE_RUN or self._traces.record != "full":
            return await self._write_now(entry) and entry.level == "full"
        if not await self._write_now(self._run_entry(replace(record, output=None))):
            return False
        following = self._start(self._write_large(entry))
        await asyncio.wait([following], timeout=_LONGEST_REDACTION_SECONDS)
        return entry.level == "full"

    async def _write_large(self, entry: _Entry) -> None:
        await asyncio.to_thread(self._redact, [entry])
        if self._take(entry):
            await self.flush()

    def _run_entry(self, record: RunRecord) -> _Entry:
        size = sum(len(text) for text in (record.code, record.output, record.error) if text is not None)
        return _Entry(record, size, self._traces.record)

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="record")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _take(self, entry: _Entry) -> bool:
        if len(self._waiting) >= _MOST_WAITING:
            self._warn("The store is too slow.")
            return False
        if self._waiting_bytes + entry.weight > _MOST_WAITING_BYTES and self._waiting:
            self._warn("The store is too slow.")
            entry.reduce()
        self._waiting.append(entry)
        self._waiting_bytes += entry.weight
        self._some.set()
        if not isinstance(entry.arguments or entry.result or "", str):
            # It is still in use by others, who may change it.
            self._urgent.set()
        if self._writer is None:
            self._writer = asyncio.create_task(self._write(), name="record calls")
        return True

    async def _write_now(self, entry: _Entry) -> bool:
        """Write an entry, with everything that waits, and return whether that succeeded."""
        entry.written = asyncio.get_running_loop().create_future()
        if not self._take(entry):
            return False
        # In a task, so that it is finished even if the caller is cancelled.
        self._start(self.flush())
        patience = _COMMIT_SECONDS_WHILE_FAILING if self._is_failing else _LONGEST_COMMIT_SECONDS
        await asyncio.wait([entry.written], timeout=patience + entry.weight / _BYTES_PER_SECOND)
        if not entry.written.done():
            self._warn("The store is too slow.")
            return False
        return entry.written.result()

    async def _write(self) -> None:
        while True:
            await self._some.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE_SECONDS):
                    await self._urgent.wait()
            await self.flush()

    async def flush(self) -> None:
        """Write what is waiting."""
        async with self._flushing:
            batch = self._take_all()
            if not batch:
                return
            is_written = False
            try:
                await self._store_batch(batch)
            except asyncio.CancelledError:
                # Writing it twice does no harm.
                self._waiting[:0] = batch
                self._waiting_bytes += sum(entry.weight for entry in batch)
                self._some.set()
                self._urgent.set()
                raise
            except StoreError as error:
                self._warn(str(error))
            except Exception:
                # A crash of the store loses this batch, not the following ones.
                logger.exception("%d calls could not be recorded", len(batch))
            else:
                is_written, self._is_failing = True, False
            for entry in batch:
                if entry.written is not None and not entry.written.done():
                    entry.written.set_result(is_written)

    def _take_all(self) -> list[_Entry]:
        self._some.clear()
        self._urgent.clear()
        batch, self._waiting, self._waiting_bytes = self._waiting, [], 0
        return batch

    async def _store_batch(self, batch: Sequence[_Entry]) -> None:
        if sum(entry.weight for entry in batch) <= _SMALL:
            self._redact(batch)
        else:
            await asyncio.to_thread(self._redact, batch)
        # A record may be there as begun and as ended: the later one counts.
        records = [entry.record for entry in batch if entry.is_redacted]
        calls = {record.id: record for record in records if isinstance(record, CallRecord)}
        runs = {record.id: record for record in records if isinstance(record, RunRecord)}
        begun = [run.id for run in runs.values() if run.outcome == RUNNING]
        if self._running is not None and begun:
            await asyncio.to_thread(self._running.add, begun)
        await self._store.record(calls=list(calls.values()), runs=list(runs.values()))
        if self._running is not None:
            # A run whose end was not written stays listed, and is found later to be interrupted.
            self._running.forget(runs.keys() - begun)

    async def mark_interrupted(self) -> None:
        """Record that runs whose process is gone were interrupted."""
        if self._running is None:
            return
        abandoned = self._running.abandoned()
        while (left := await asyncio.to_thread(next, abandoned, None)) is not None:
            file, runs = left
            try:
                for run in runs:
                    await self._mark_interrupted(run)
                await asyncio.to_thread(file.unlink, missing_ok=True)
            except (StoreError, OSError) as error:
                logger.debug("interrupted runs cannot be recorded: %s", error)

    async def _mark_interrupted(self, run: str) -> None:
        try:
            found = await self._store.run(run)
        except UsageError:
            # Not an identifier of one run.
            return
        if found is not None and found.id == run and found.outcome == RUNNING:
            calls = len(await self._store.calls_of_run(run))
            await self._store.record(
                runs=[replace(found, outcome=INTERRUPTED, calls=calls, error=_PROCESS_GONE)]
            )

    def _redact(self, batch: Sequence[_Entry]) -> None:
        """Redact what is not redacted yet; what cannot be redacted is reduced to its metadata."""
        for entry in batch:
            if entry.is_redacted:
                continue
            try:
                entry.record = self._stored(entry)
            except Exception:
                logger.exception("a record could not be redacted; only its metadata is kept")
                entry.reduce()
                entry.record = self._stored(entry)
            entry.is_redacted = True
            entry.arguments = entry.result = None

    def _stored(self, entry: _Entry) -> CallRecord | RunRecord:
        if isinstance(entry.record, RunRecord):
            return stored_run(entry.record, self._redactor, entry.level)
        limit = self._traces.max_value_bytes
        return stored_call(
            entry.record, entry.arguments, entry.result, self._redactor, level=entry.level, limit=limit
        )

    def _warn(self, problem: str) -> None:
        """Log a problem once, until writing works again."""
        if not self._is_failing:
            logger.warning("%s Calls are not recorded until it works again.", problem)
        self._is_failing = True

    async def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.cancel()
            await asyncio.wait([self._writer])
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.flush()
        if self._running is not None:
            await asyncio.to_thread(self._running.close)
