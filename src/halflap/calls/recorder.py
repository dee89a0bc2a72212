"""Record runs and calls: redacted, in batches, in the background. Callers wait only for what must be on disk first."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from halflap.calls.liveness import Liveness
from halflap.calls.redact import Redactor
from halflap.calls.writer import Writer
from halflap.catalog import matches, namespaced
from halflap.config import TracesConfig
from halflap.core.errors import HalflapError, StoreError
from halflap.store import Breach, CallRecord, RunRecord

if TYPE_CHECKING:
    from halflap.config import Record
    from halflap.core.values import Tool
    from halflap.store import AnyRecord, Store

__all__ = ["Recorder", "new_id"]

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.2
"""How long records are collected before a batch is written."""
_MAX_WAITING_BYTES = 64 * 1024 * 1024
"""If more is waiting, records are queued without their values; beyond twice as much, they are lost."""
_BATCH_BYTES = 2_000_000
"""Maximum size of a batch; `traces.keep_mb` may be exceeded by as much."""
_SMALL = 4_096
"""Larger batches are redacted in a thread."""
_LARGE_RUN = 262_144
"""Larger runs are redacted in the background, which may take seconds."""
_COMMIT_SECONDS = 5.0
_COMMIT_SECONDS_WHILE_FAILING = 0.25
_PROCESS_GONE = "Its process ended first: it was killed, or the machine went down."


def new_id() -> str:
    """Return an identifier that sorts by time."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(8)}"


class _Waiting(NamedTuple):
    record: AnyRecord
    level: Record | None
    """How much of it is recorded; None if it is already redacted."""
    size: int
    """Approximate size in bytes."""


class Recorder:
    """Queues records and writes them redacted."""

    def __init__(
        self,
        store: Store,
        redactor: Redactor | None = None,
        traces: TracesConfig | None = None,
        running: Path | None = None,
        writer: Writer | None = None,
    ) -> None:
        """Create a recorder; `running` is the folder of `Liveness`."""
        self.writer = Writer(store) if writer is None else writer
        self._store = store
        self._liveness = None if running is None else Liveness(running)
        self._redactor = Redactor() if redactor is None else redactor
        self._traces = TracesConfig() if traces is None else traces
        self._waiting: deque[_Waiting] = deque()
        self._waiting_bytes = 0
        self._has_waiting = asyncio.Event()
        self._writing = asyncio.Lock()
        self._repeating: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_slow = False

    @property
    def is_required(self) -> bool:
        """Whether nothing may be done that cannot be recorded."""
        return self._traces.required

    def start(self) -> None:
        """Replay the journal in the background."""
        self._start(self._flush())

    def level(self, tool: Tool) -> Record:
        """Return how much of a tool's calls is recorded, by its name or the one it would have without a collision."""
        names = (tool.name, namespaced(tool.server, tool.original_name))
        for glob, level in self._traces.per_tool.items():
            if any(matches(name, (glob,)) is not None for name in names):
                return level
        return self._traces.record

    def add(self, record: AnyRecord, level: Record | None = None) -> None:
        """Queue a record, which is on disk within a second. The default `level` is that of runs."""
        level = self._traces.record if level is None else level
        if level != "off":
            self._enqueue(record, level)

    async def commit(self, record: CallRecord | RunRecord, level: Record | None = None) -> None:
        """Write what is about to happen, and wait for it.

        A store that fails or hangs prevents nothing, unless `traces.required` is set: then the error `record-failed` is raised.
        """
        level = self._traces.record if level is None else level
        is_written = level == "off" or await self._write_now(record, level)
        if self.is_required and level != "off" and (not is_written or self._store.trouble is not None):
            reason = self._store.trouble or self.writer.problem or "The store is too slow."
            raise HalflapError(
                f"This was not done: it cannot be recorded, and `traces.required` is set. {reason} "
                "See `halflap doctor`.",
                code="record-failed",
            )

    async def end_run(self, record: RunRecord) -> bool:
        """Write a finished run; return whether its output is recorded. Large output follows in the background."""
        level = self._traces.record
        if level == "off":
            return False
        is_large = level == "full" and _size(record) > _LARGE_RUN
        is_written = await self._write_now(replace(record, output=None) if is_large else record, level)
        if is_large and is_written:
            self._start(self._write_large(record))
        return is_written and level == "full"

    async def flush(self) -> None:
        """Write all queued records."""
        # In a task, so that it completes even if the caller is cancelled.
        await asyncio.shield(self._start(self._flush()))

    async def mark_interrupted(self) -> None:
        """Mark the runs of processes that ended as interrupted."""
        if self._liveness is None:
            return
        for process in await asyncio.to_thread(self._liveness.ended):
            try:
                await self._store.interrupt_runs(process, _PROCESS_GONE)
                await asyncio.to_thread(self._liveness.forget, process)
            except (StoreError, OSError) as error:
                logger.debug("interrupted runs cannot be recorded: %s", error)

    async def close(self) -> None:
        """Write the rest."""
        if self._repeating is not None:
            self._repeating.cancel()
            await asyncio.wait([self._repeating])
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._flush()
        if self._liveness is not None:
            await asyncio.to_thread(self._liveness.close)
            await self.mark_interrupted()

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="record")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _enqueue(self, record: AnyRecord, level: Record | None) -> None:
        if self._waiting and self._waiting_bytes + _size(record) > _MAX_WAITING_BYTES:
            self._warn_slow()
            if self._waiting_bytes > 2 * _MAX_WAITING_BYTES:
                self.writer.count_lost(1)
                return
            record = record if isinstance(record, Breach) else _without_values(record)
        self._waiting.append(_Waiting(record, level, _size(record)))
        self._waiting_bytes += self._waiting[-1].size
        self._has_waiting.set()
        if self._repeating is None:
            self._repeating = asyncio.create_task(self._repeat(), name="record calls")

    async def _repeat(self) -> None:
        while True:
            await self._has_waiting.wait()
            await asyncio.sleep(_PAUSE_SECONDS)
            await self.writer.retry()
            await self.flush()

    async def _write_now(self, record: CallRecord | RunRecord, level: Record) -> bool:
        """Write a record and everything queued before it; return whether that succeeded."""
        self._enqueue(record, level)
        is_failing = self._is_slow or self.writer.problem is not None
        patience = _COMMIT_SECONDS_WHILE_FAILING if is_failing else _COMMIT_SECONDS
        done, _ = await asyncio.wait([self._start(self._flush())], timeout=patience)
        if not done:
            self._warn_slow()
        return bool(done) and self.writer.problem is None

    async def _write_large(self, run: RunRecord) -> None:
        self._enqueue(await asyncio.to_thread(_redact, run, "full", self._redactor, 0), None)
        await self._flush()

    async def _flush(self) -> None:
        """Write everything queued so far."""
        async with self._writing:
            await self.writer.replay()
            left = len(self._waiting)
            while left > 0:
                left -= await self._write_batch()
            if not self._waiting and self.writer.problem is None:
                # Otherwise `_repeat` tries again.
                self._has_waiting.clear()

    async def _write_batch(self) -> int:
        batch, size = [], 0
        while self._waiting and size < _BATCH_BYTES:
            batch.append(self._waiting.popleft())
            size += batch[-1].size
        if self._liveness is not None and self._liveness.process is None:
            await asyncio.to_thread(self._liveness.start)

        def redacted() -> list[AnyRecord]:
            return [self._redacted(one.record, one.level) for one in batch]

        records = redacted() if size <= _SMALL else await asyncio.to_thread(redacted)
        is_written = await self.writer.write(records)
        self._is_slow = self._is_slow and not is_written
        self._waiting_bytes -= size
        return len(batch)

    def _redacted(self, record: AnyRecord, level: Record | None) -> AnyRecord:
        if isinstance(record, RunRecord) and self._liveness is not None:
            record = replace(record, process=self._liveness.process)
        if level is None or isinstance(record, Breach):
            return record
        return _redact(record, level, self._redactor, self._traces.max_value_bytes)

    def _warn_slow(self) -> None:
        """Log a warning, once until a batch is written."""
        if not self._is_slow:
            logger.warning("The store is too slow. Calls may be recorded in part until it keeps up.")
        self._is_slow = True


def _redact(
    record: CallRecord | RunRecord, level: Record, redactor: Redactor, limit: int
) -> CallRecord | RunRecord:
    """Return the part of a record that is stored; a call's arguments and result are cut to `limit` bytes each."""
    if isinstance(record, CallRecord):
        if record.arguments is not None:
            record = replace(record, argument_bytes=len(record.arguments.encode(errors="replace")))
        if record.result is not None:
            record = replace(record, result_bytes=len(record.result.encode(errors="replace")))
    try:
        return _without_secrets(record if level == "full" else _without_values(record), redactor, limit)
    except Exception:
        logger.exception("a record could not be redacted; only its metadata is kept")
        return _without_values(record)


def _without_secrets(
    record: CallRecord | RunRecord, redactor: Redactor, limit: int
) -> CallRecord | RunRecord:
    def text(text: str | None) -> str | None:
        return text and redactor.text(text)

    if isinstance(record, RunRecord):
        # Output is never cut.
        code = record.code and redactor.code(record.code)
        return replace(record, code=code, output=text(record.output), error=text(record.error))
    arguments, arguments_cut = redactor.value_within(record.arguments, limit)
    result, result_cut = redactor.value_within(record.result, limit)
    return replace(
        record,
        # The name of a tool that does not exist may be anything.
        tool=record.tool if record.definition_hash else redactor.text(record.tool),
        arguments=arguments,
        arguments_cut=arguments_cut,
        result=result,
        result_cut=result_cut,
        breach=text(record.breach),
        error=text(record.error),
    )


def _without_values(record: CallRecord | RunRecord) -> CallRecord | RunRecord:
    """Return a record reduced to its metadata."""
    if isinstance(record, RunRecord):
        return replace(record, code=None, output=None, error=None)
    # The place of a breach is metadata, the value found there is not.
    breach = record.breach and record.breach.partition(", received")[0]
    return replace(record, arguments=None, result=None, breach=breach, error=None)


def _size(record: AnyRecord) -> int:
    values: tuple[str | None, ...] = ()
    if isinstance(record, CallRecord):
        values = (record.arguments, record.result)
    elif isinstance(record, RunRecord):
        values = (record.code, record.output)
    return 500 + sum(map(len, filter(None, values)))
