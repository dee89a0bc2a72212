"""Write down runs and calls, redacted, off their path; what must be on disk before it goes on is waited for."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halflap.calls.keep import Raw, keep_call, keep_run, weight
from halflap.calls.redact import Redactor
from halflap.calls.underway import Underway
from halflap.catalog import matches, namespaced
from halflap.config import TracesConfig
from halflap.core.errors import StoreError, UsageError
from halflap.store import INTERRUPTED, RUNNING, CallRecord, RunRecord

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from halflap.config import Record
    from halflap.core.values import Tool
    from halflap.store import Store

__all__ = ["Recorder", "new_id"]

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.2
_MOST_WAITING = 10_000
_MOST_WAITING_BYTES = 64 * 1024 * 1024
_SMALL = 4_096
"""So many bytes are redacted where we are; more in a thread, for it takes milliseconds."""
_LARGE_RUN = 262_144
_LONGEST_REDACTION_SECONDS = 1.0
_LONGEST_COMMIT_SECONDS = 5.0
_COMMIT_SECONDS_WHILE_FAILING = 0.25
_GONE = "The process that ran it ended before it did: it was killed, or the machine went down."
_BYTES_PER_SECOND = 500_000
"""At least so fast is redaction, which is waited for in addition."""


def new_id() -> str:
    """Give an identifier that sorts by time."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(8)}"


@dataclass(slots=True)
class _Waiting:
    """A record that is to be written, and what is to be redacted for it."""

    record: CallRecord | RunRecord
    weight: int
    level: Record = "full"
    arguments: Raw = None
    result: Raw = None
    ready: bool = False
    written: asyncio.Future[bool] | None = None
    """Done when it has been tried to write it, with whether that worked; None if nobody waits for that."""


class Recorder:
    """Gathers records, and redacts and writes them in batches.

    Records are given as they are, with all that is secret in them; nothing is written that was not redacted.
    """

    def __init__(
        self,
        store: Store,
        redactor: Redactor | None = None,
        traces: TracesConfig | None = None,
        underway: Path | None = None,
    ) -> None:
        """Begin; `underway` is the folder in which it is said which runs are under way."""
        self._store = store
        self._underway = None if underway is None else Underway(underway)
        self._redactor = Redactor() if redactor is None else redactor
        self._traces = TracesConfig() if traces is None else traces
        self._waiting: list[_Waiting] = []
        self._waiting_bytes = 0
        self._some = asyncio.Event()
        self._urgent = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._writer: asyncio.Task[None] | None = None
        self._now: set[asyncio.Task[None]] = set()
        self._failing = False

    def level(self, tool: Tool) -> Record:
        """Say what is recorded of a tool's calls; also by the name that it would have had."""
        names = (tool.name, namespaced(tool.server, tool.original_name))
        for glob, level in self._traces.per_tool.items():
            if any(matches(name, (glob,)) is not None for name in names):
                return level
        return self._traces.record

    def add(
        self, record: CallRecord, *, arguments: Raw = None, result: Raw = None, level: Record = "full"
    ) -> None:
        """Take a call; it is on disk within the second, or when the recorder is closed."""
        self._take(_Waiting(record, weight(arguments) + weight(result), level, arguments, result))

    async def commit(
        self, record: CallRecord, *, arguments: Raw = None, level: Record = "full"
    ) -> CallRecord | None:
        """Write a call down before it goes on; gives it as it was written, if it came to that.

        A store that fails or hangs does not keep it from going on.
        """
        waiting = _Waiting(record, weight(arguments), level, arguments)
        await self._written(waiting)
        kept = waiting.record
        return kept if waiting.ready and isinstance(kept, CallRecord) else None

    def begin_run(self, record: RunRecord) -> None:
        """Take a run that begins; it is on disk before any call of it that is committed."""
        if self._traces.record != "off":
            self._take(self._run(record))

    async def commit_run(self, record: RunRecord) -> None:
        """Write a run down before it goes on; a store that fails or hangs does not keep it from that."""
        if self._traces.record != "off":
            await self._written(self._run(record))

    async def end_run(self, record: RunRecord) -> bool:
        """Write a run down as it ended; says whether its whole output is kept. How its last calls ended follows.

        To redact much output takes seconds. How the run ended is on disk before they are waited for, and whoever
        waits for the answer waits for a moment of them; the output follows.
        """
        if self._traces.record == "off":
            return False
        waiting = self._run(record)
        if waiting.weight <= _LARGE_RUN or self._traces.record != "full":
            # Written with less than was asked for, if there is no room for more.
            return await self._written(waiting) and waiting.level == "full"
        if not await self._written(self._run(replace(record, output=None))):
            return False
        following = asyncio.create_task(self._follow(waiting), name="record output")
        self._now.add(following)
        following.add_done_callback(self._now.discard)
        await asyncio.wait([following], timeout=_LONGEST_REDACTION_SECONDS)
        return waiting.level == "full"

    async def _follow(self, waiting: _Waiting) -> None:
        """Redact beside the others, which must not wait for it, and write."""
        await asyncio.to_thread(self._make_ready, [waiting])
        if self._take(waiting):
            await self.flush()

    def _run(self, record: RunRecord) -> _Waiting:
        size = sum(len(text) for text in (record.code, record.output, record.error) if text is not None)
        return _Waiting(record, size, self._traces.record)

    def _take(self, waiting: _Waiting) -> bool:
        if len(self._waiting) >= _MOST_WAITING:
            self._complain("The store is too slow.")
            return False
        if self._waiting_bytes + waiting.weight > _MOST_WAITING_BYTES and self._waiting:
            self._complain("The store is too slow.")
            waiting.level = "metadata"
            waiting.arguments = waiting.result = None
            waiting.weight = 0
        self._waiting.append(waiting)
        self._waiting_bytes += waiting.weight
        self._some.set()
        if not isinstance(waiting.arguments or waiting.result or "", str):
            # It is still in the hands of others, who may change it.
            self._urgent.set()
        if self._writer is None:
            self._writer = asyncio.create_task(self._write(), name="record calls")
        return True

    async def _written(self, waiting: _Waiting) -> bool:
        """Have it written before anything else happens; says whether it is.

        A call is written together with all that waits. A run's answer need not wait for that.
        """
        waiting.written = asyncio.get_running_loop().create_future()
        if not self._take(waiting):
            return False
        alone = waiting if isinstance(waiting.record, RunRecord) else None
        # Not by way of the writer, which may just be resting; and it goes on should we be cancelled.
        flushing = asyncio.create_task(self.flush(alone), name="record now")
        self._now.add(flushing)
        flushing.add_done_callback(self._now.discard)
        patience = _COMMIT_SECONDS_WHILE_FAILING if self._failing else _LONGEST_COMMIT_SECONDS
        patience += waiting.weight / _BYTES_PER_SECOND
        await asyncio.wait([waiting.written], timeout=patience)
        if not waiting.written.done():
            self._complain("The store is too slow.")
            return False
        return waiting.written.result()

    async def _write(self) -> None:
        while True:
            await self._some.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(_PAUSE_SECONDS):
                    await self._urgent.wait()
            await self.flush()

    async def flush(self, alone: _Waiting | None = None) -> None:
        """Write what is waiting, or one of it."""
        async with self._flushing:
            batch, size = self._all() if alone is None else self._of_run(alone)
            if not batch:
                return
            is_written = False
            try:
                await self._flush(batch, size)
            except asyncio.CancelledError:
                # It may or may not be written; to write it again does no harm.
                self._waiting[:0] = batch
                self._waiting_bytes += size
                self._some.set()
                self._urgent.set()
                raise
            except StoreError as error:
                self._complain(str(error))
            except Exception:
                # A crash of the store costs this batch, not the ones to come.
                logger.exception("%d calls could not be recorded", len(batch))
            else:
                is_written, self._failing = True, False
            for waiting in batch:
                if waiting.written is not None and not waiting.written.done():
                    waiting.written.set_result(is_written)

    def _all(self) -> tuple[list[_Waiting], int]:
        self._some.clear()
        self._urgent.clear()
        batch, self._waiting = self._waiting, []
        size, self._waiting_bytes = self._waiting_bytes, 0
        return batch, size

    def _of_run(self, ended: _Waiting) -> tuple[list[_Waiting], int]:
        """Take a run out of what is waiting, as it ended; as it began it is not to be written over that."""
        same = [one for one in self._waiting if one.record.id == ended.record.id]
        self._waiting = [one for one in self._waiting if one.record.id != ended.record.id]
        self._waiting_bytes -= sum(one.weight for one in same)
        # What is left is written right after, while nobody waits, and not with the next call, which would.
        self._urgent.set()
        return same[-1:], sum(one.weight for one in same[-1:])

    async def _flush(self, batch: Sequence[_Waiting], size: int) -> None:
        if size <= _SMALL:
            self._make_ready(batch)
        else:
            await asyncio.to_thread(self._make_ready, batch)
        # Of what is there twice, as begun and as ended, the later counts.
        records = [waiting.record for waiting in batch if waiting.ready]
        calls = {record.id: record for record in records if isinstance(record, CallRecord)}
        runs = {record.id: record for record in records if isinstance(record, RunRecord)}
        if self._underway is None or not runs:
            await self._store.record(calls=list(calls.values()), runs=list(runs.values()))
            return
        begun = [run.id for run in runs.values() if run.outcome == RUNNING]
        if begun:
            await asyncio.to_thread(self._underway.hold, begun)
        is_written = False
        try:
            await self._store.record(calls=list(calls.values()), runs=list(runs.values()))
            is_written = True
        finally:
            # Of what ended and could not be written, whoever looks next finds that it is over.
            await asyncio.to_thread(self._underway.let_go, runs.keys() - begun, forget=is_written)

    async def tell_interrupted(self) -> None:
        """Write down of the runs whose process is gone that they were interrupted, with the calls that they made."""
        if self._underway is None:
            return
        for run in await asyncio.to_thread(self._underway.left):
            is_told = False
            try:
                found = await self._store.run(run)
                if found is not None and found.id == run and found.outcome == RUNNING:
                    calls = await self._store.calls_of_run(run)
                    await self._store.record(
                        runs=[replace(found, outcome=INTERRUPTED, calls=len(calls), error=_GONE)]
                    )
                is_told = True
            except UsageError:
                # It begins several, so it is none.
                is_told = True
            except StoreError as error:
                logger.debug("that %s was interrupted cannot be recorded: %s", run, error)
            finally:
                await asyncio.to_thread(self._underway.let_go, [run], forget=is_told)

    def _make_ready(self, batch: Sequence[_Waiting]) -> None:
        """Redact what is not redacted yet. What cannot be is written without it."""
        for waiting in batch:
            if waiting.ready:
                continue
            try:
                waiting.record = self._kept(waiting)
            except Exception:
                logger.exception("a record could not be redacted; it is kept without what was in it")
                waiting.level = "metadata"
                waiting.arguments = waiting.result = None
                waiting.record = self._kept(waiting)
            waiting.ready = True
            waiting.arguments = waiting.result = None

    def _kept(self, waiting: _Waiting) -> CallRecord | RunRecord:
        record = waiting.record
        if isinstance(record, RunRecord):
            return keep_run(record, self._redactor, waiting.level)
        return keep_call(
            record,
            waiting.arguments,
            waiting.result,
            self._redactor,
            level=waiting.level,
            limit=self._traces.max_value_bytes,
        )

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
        if self._now:
            await asyncio.wait(self._now)
        await self.flush()
