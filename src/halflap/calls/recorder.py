"""Records runs and calls: redacted, in batches, in the background; what must be on disk first is waited for."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.calls.journal import JournalStatus, Records
from halflap.calls.liveness import Liveness
from halflap.calls.redact import Redactor
from halflap.calls.writer import Writer
from halflap.catalog import matches, namespaced
from halflap.config import TracesConfig
from halflap.core.errors import RecordFailedError, StoreError
from halflap.store import Breach, CallRecord, RunRecord

if TYPE_CHECKING:
    from halflap.config import Record
    from halflap.core.values import Tool
    from halflap.store import Store

__all__ = ["Recorder", "new_id"]

logger = logging.getLogger(__name__)

_PAUSE_SECONDS = 0.2
"""How long records gather before a batch is written."""
_MAX_WAITING = 10_000
_MAX_WAITING_BYTES = 64 * 1024 * 1024
_BATCH_BYTES = 2_000_000
"""How much is written at once; more would exceed `traces.keep_mb` by more."""
_SMALL = 4_096
"""Batches up to this many bytes are redacted on the event loop, larger ones in a thread."""
_LARGE_RUN = 262_144
"""Runs above this size are redacted in the background: that takes seconds."""
_COMMIT_SECONDS = 5.0
_COMMIT_SECONDS_WHILE_FAILING = 0.25
_PROCESS_GONE = "The process that ran it ended before it did: it was killed, or the machine went down."


def new_id() -> str:
    """Return an identifier that sorts by time."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(8)}"


@dataclass(slots=True)
class _Entry:
    """A record to be written, with what is to be redacted for it."""

    record: CallRecord | RunRecord | Breach
    level: Record = "full"
    arguments: str | None = None
    result: str | None = None
    is_redacted: bool = False
    written: asyncio.Future[bool] | None = None
    """Resolved after the attempt to write, with its success; None if nothing waits for that."""

    @property
    def size(self) -> int:
        texts = [self.arguments, self.result]
        if isinstance(self.record, RunRecord):
            texts += [self.record.code, self.record.output]
        return sum(len(text) for text in texts if text is not None)

    def reduce(self) -> None:
        """Keep only the metadata."""
        self.level, self.arguments, self.result = "metadata", None, None
        if isinstance(self.record, RunRecord):
            self.record = replace(self.record, code=None, output=None)


class Recorder:
    """Takes records with all their secrets; nothing is written that was not redacted."""

    def __init__(
        self,
        store: Store,
        redactor: Redactor | None = None,
        traces: TracesConfig | None = None,
        running: Path | None = None,
        writer: Writer | None = None,
    ) -> None:
        """Create a recorder; `running` is the folder in which processes show that they are alive."""
        self._store = store
        self._liveness = None if running is None else Liveness(running)
        self._redactor = Redactor() if redactor is None else redactor
        self._traces = TracesConfig() if traces is None else traces
        self._writer = Writer(store) if writer is None else writer
        self._waiting: list[_Entry] = []
        self._waiting_bytes = 0
        self._some = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._repeating: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_slow = False
        self._dropped = 0
        """Records that were not even taken since the last batch."""

    @property
    def is_required(self) -> bool:
        """Whether only what is recorded may be done."""
        return self._traces.required

    def start(self) -> None:
        """Write to the store what earlier processes left in the journal, in the background."""
        self._start(self._flush())

    def level(self, tool: Tool) -> Record:
        """Return what is recorded of a tool's calls, by its name or the one it would have without a collision."""
        names = (tool.name, namespaced(tool.server, tool.original_name))
        for glob, level in self._traces.per_tool.items():
            if any(matches(name, (glob,)) is not None for name in names):
                return level
        return self._traces.record

    def add(
        self,
        record: CallRecord,
        *,
        arguments: str | None = None,
        result: str | None = None,
        level: Record = "full",
    ) -> None:
        """Take a call with its arguments and result as JSON; it is on disk within a second."""
        self._take(_Entry(record, level, arguments, result))

    def add_breach(self, breach: Breach) -> None:
        self._take(_Entry(breach, is_redacted=True))

    async def commit(
        self, record: CallRecord, *, arguments: str | None = None, level: Record = "full"
    ) -> CallRecord | None:
        """Write a call before it is sent and return it as stored.

        A store that fails or hangs does not prevent it, unless `traces.required` is set: then `RecordFailedError`.
        """
        entry = _Entry(record, level, arguments)
        self._require(is_written=await self._write_now(entry))
        stored = entry.record
        return stored if entry.is_redacted and isinstance(stored, CallRecord) else None

    def begin_run(self, record: RunRecord) -> None:
        """Take a run that begins; it is on disk before any of its calls that is committed."""
        if self._traces.record != "off":
            self._take(_Entry(record, self._traces.record))

    async def commit_run(self, record: RunRecord) -> None:
        """Write a run before it continues, likewise."""
        if self._traces.record != "off":
            self._require(is_written=await self._write_now(_Entry(record, self._traces.record)))

    def _require(self, *, is_written: bool) -> None:
        if self.is_required and (not is_written or self._store.trouble is not None):
            raise RecordFailedError(self._store.trouble or self._writer.problem or "The store is too slow.")

    async def end_run(self, record: RunRecord) -> bool:
        """Write a run that ended and return whether its whole output is kept. Much output follows in the background."""
        entry = _Entry(record, self._traces.record)
        if entry.level == "off":
            return False
        if entry.level == "metadata" or entry.size <= _LARGE_RUN:
            return await self._write_now(entry) and entry.level == "full"
        if not await self._write_now(_Entry(replace(record, output=None), entry.level)):
            return False
        self._start(self._write_large(entry))
        return True

    async def flush(self) -> None:
        """Write what is waiting."""
        # In a task, so that it is finished even if the caller is cancelled.
        await asyncio.shield(self._start(self._flush()))

    async def mark_interrupted(self) -> None:
        """Record that runs whose process is gone were interrupted."""
        if self._liveness is None:
            return
        for process in await asyncio.to_thread(self._liveness.ended):
            try:
                await self._store.interrupt_runs(process, _PROCESS_GONE)
                await asyncio.to_thread(self._liveness.forget, process)
            except (StoreError, OSError) as error:
                logger.debug("interrupted runs cannot be recorded: %s", error)

    async def journal_status(self) -> JournalStatus:
        """Return what waits for the store to work again."""
        return await self._writer.journal_status()

    async def close(self) -> None:
        """Write what is left."""
        if self._repeating is not None:
            self._repeating.cancel()
            await asyncio.wait([self._repeating])
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._flush()
        await self._writer.close()
        if self._liveness is not None:
            await asyncio.to_thread(self._liveness.close)
            await self.mark_interrupted()

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="record")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _take(self, entry: _Entry) -> bool:
        if len(self._waiting) >= _MAX_WAITING:
            self._warn_slow()
            self._dropped += 1
            return False
        if self._waiting and self._waiting_bytes + entry.size > _MAX_WAITING_BYTES:
            self._warn_slow()
            entry.reduce()
        self._waiting.append(entry)
        self._waiting_bytes += entry.size
        self._some.set()
        if self._repeating is None:
            self._repeating = asyncio.create_task(self._write(), name="record calls")
        return True

    async def _write(self) -> None:
        while True:
            await self._some.wait()
            await asyncio.sleep(_PAUSE_SECONDS)
            await self.flush()

    async def _write_now(self, entry: _Entry) -> bool:
        """Write an entry, with everything that waits, and return whether that succeeded."""
        entry.written = asyncio.get_running_loop().create_future()
        if not self._take(entry):
            return False
        self._start(self._flush())
        is_failing = self._is_slow or self._writer.problem is not None
        patience = _COMMIT_SECONDS_WHILE_FAILING if is_failing else _COMMIT_SECONDS
        await asyncio.wait([entry.written], timeout=patience)
        if not entry.written.done():
            self._warn_slow()
            return False
        return entry.written.result()

    async def _write_large(self, entry: _Entry) -> None:
        await asyncio.to_thread(self._redact, [entry])
        if self._take(entry):
            await self._flush()

    async def _flush(self) -> None:
        async with self._flushing:
            self._some.clear()
            await self._writer.replay()
            while batch := self._next_batch():
                is_written = await self._keep(batch)
                for entry in batch:
                    if entry.written is not None and not entry.written.done():
                        entry.written.set_result(is_written)

    def _next_batch(self) -> list[_Entry]:
        size, count = 0, 0
        for entry in self._waiting:
            if count and size + entry.size > _BATCH_BYTES:
                break
            size += entry.size
            count += 1
        batch, self._waiting = self._waiting[:count], self._waiting[count:]
        self._waiting_bytes -= size
        return batch

    async def _keep(self, batch: Sequence[_Entry]) -> bool:
        """Write a batch to the store or else to the journal, and return whether the store has it."""
        if sum(entry.size for entry in batch) <= _SMALL:
            self._redact(batch)
        else:
            await asyncio.to_thread(self._redact, batch)
        is_written = await self._writer.write(await self._records(batch), self._dropped)
        self._dropped = 0
        self._is_slow = self._is_slow and not is_written
        return is_written

    async def _records(self, batch: Sequence[_Entry]) -> Records:
        # A record may be there as begun and as ended: the later one counts.
        records = [entry.record for entry in batch]
        calls = {record.id: record for record in records if isinstance(record, CallRecord)}
        runs = {record.id: record for record in records if isinstance(record, RunRecord)}
        process = None
        if self._liveness is not None and runs:
            process = await asyncio.to_thread(self._liveness.start)
        breaches = [record for record in records if isinstance(record, Breach)]
        return Records(list(calls.values()), [(run, process) for run in runs.values()], breaches)

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

    def _stored(self, entry: _Entry) -> CallRecord | RunRecord | Breach:
        """Return a record as it is stored."""
        if isinstance(entry.record, RunRecord):
            return self._stored_run(entry.record, entry.level)
        if isinstance(entry.record, CallRecord):
            return self._stored_call(entry.record, entry)
        return entry.record

    def _stored_run(self, run: RunRecord, level: Record) -> RunRecord:
        if level == "metadata":
            return replace(run, code=None, output=None, error=None)
        code = None if run.code is None else self._redactor.code(run.code)
        # Output is kept whole, however much it is.
        return replace(run, code=code, output=self._text(run.output), error=self._text(run.error))

    def _stored_call(self, call: CallRecord, entry: _Entry) -> CallRecord:
        arguments, result = entry.arguments, entry.result
        # Without a definition there is no such tool, so the name may be anything.
        call = replace(
            call,
            tool=call.tool if call.definition_hash else self._redactor.text(call.tool),
            argument_bytes=call.argument_bytes if arguments is None else _bytes(arguments),
            result_bytes=call.result_bytes if result is None else _bytes(result),
        )
        if entry.level == "metadata":
            # The place of a breach is metadata, the value found there is not.
            breach = None if call.breach is None else call.breach.partition(", received")[0]
            return replace(call, breach=breach, error=None)
        call = replace(call, breach=self._text(call.breach), error=self._text(call.error))
        limit = self._traces.max_value_bytes
        if arguments is not None:
            value, cut = self._redactor.value_within(json.loads(arguments), limit)
            call = replace(call, arguments=_json(value), arguments_cut=cut)
        if result is not None:
            value, cut = self._result_within(json.loads(result), limit)
            call = replace(call, result=_json(value), result_cut=cut)
        return call

    def _text(self, text: str | None) -> str | None:
        return None if text is None else self._redactor.text(text)

    def _result_within(self, wire: dict[str, Any], limit: int) -> tuple[dict[str, Any], bool]:
        """Redact and cut a result so that half of the room is left for its structured content."""
        if "structuredContent" not in wire:
            return self._redactor.value_within(wire, limit)
        structured, cut = self._redactor.value_within(wire.pop("structuredContent"), limit // 2)
        others, cut_too = self._redactor.value_within(
            wire, limit - min(_bytes(_json(structured)), limit // 2)
        )
        return {**others, "structuredContent": structured}, cut or cut_too

    def _warn_slow(self) -> None:
        """Log it once, until a batch is written."""
        if not self._is_slow:
            logger.warning("The store is too slow. Calls may be recorded in part until it keeps up.")
        self._is_slow = True


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
