"""A backfill run: find the logs, read them in parallel, and store what was learned together with the read positions.

Logs are cut into parts, and parts are grouped into batches. Workers read batches in parallel, but their results are added
in order. So at any moment, everything up to some position has been learned and nothing after it.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.backfill.learner import Knowledge, Rules, learn_recorded
from halflap.backfill.logfile import UNREADABLE, LogFile, Mark, marks_from_text, marks_to_text, reason_of
from halflap.backfill.sources import STDIN, STORE, find_sources, spool
from halflap.backfill.summary import Counts, SourceReport, State, Summary, tool_reports
from halflap.backfill.workers import Part, Progress, cores, submit
from halflap.store import WatermarkChange

if TYPE_CHECKING:
    from halflap.store import Store

LEARNED_ORIGIN = "backfill"
"""One origin for all logs keeps the number of rows small. Each log still has a watermark."""
_PARALLEL_BYTES = 16 << 20
"""Smaller inputs are read in one thread, because starting processes would take longer."""
_MIN_BATCH, _MAX_BATCH = 8 << 20, 256 << 20
"""Bytes per batch. Handing over the results of a batch takes about as long as reading 10 MB."""
_FOLLOWED_BYTES = 100_000_000
"""Lineage is tracked in at most this many bytes, because that doubles the time per byte."""
_MAX_MARKS = 1_000
"""Newest marks kept per origin."""
_RECORDED_CALLS = 500
"""Recorded calls per batch."""
_SECONDS_BETWEEN_PROGRESS = 0.1
_NAMELESS = "It names tools without their server. Add --server NAME."
_KILLED = (
    "A worker process was killed, perhaps because memory ran out. What was learned before is kept; run the command "
    "again to continue, perhaps with --jobs 1."
)


@dataclass(slots=True)
class _Log:
    """A log that is being read."""

    name: str
    file: LogFile
    start: int
    """Position up to which earlier runs read it."""
    mark: Mark | None = None
    """Position up to which this run has read it."""
    problem: str | None = None
    counts: Counts = field(default_factory=Counts)

    def report(self) -> SourceReport:
        state: State = "counted" if self.mark and self.mark.bytes == self.file.end else "stopped"
        problem = self.problem
        if problem is not None:
            state = "failed"
        elif self.counts.is_nameless:
            state, problem = "refused", _NAMELESS
        return SourceReport(self.name, state, self.counts, self.start, problem)


class Backfill:
    """Learns from logs."""

    def __init__(
        self,
        store: Store,
        rules: Rules,
        *,
        jobs: int | None = None,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """`progress` is called with the bytes read so far and in total."""
        self._store = store
        self._rules = rules
        self._jobs = jobs
        self._dry_run = dry_run
        self._show_progress = progress
        self._progress = Progress()
        self._recorded = Knowledge()
        self._found = Knowledge()
        self._marks: dict[str, list[Mark]] = {}
        """The watermarks to store together with the results."""

    def stop(self) -> None:
        """Stop soon; what was learned so far is stored."""
        self._progress.is_stopped.value = 1

    @property
    def _is_stopped(self) -> bool:
        return bool(self._progress.is_stopped.value)

    async def run(self, names: Sequence[str]) -> Summary:
        """Read all sources."""
        began = time.monotonic()
        sources = await asyncio.to_thread(find_sources, names)
        before = await self._store.learned()
        watermarks = await self._store.watermarks()
        self._marks = {origin: marks_from_text(text) for origin, text in watermarks.items()}
        reports: dict[str, SourceReport] = {}
        if STORE in sources:
            reports[STORE] = await self._read_recorded()
        logs: list[_Log] = []
        async with AsyncExitStack() as closing:
            spooled = await asyncio.to_thread(tempfile.TemporaryDirectory, prefix="halflap-backfill-")
            closing.push_async_callback(asyncio.to_thread, spooled.cleanup)
            closing.push_async_callback(self._write, watermarks)
            await asyncio.to_thread(self._plan, sources, Path(spooled.name), logs, reports)
            await self._read(logs)
        reports |= {log.name: log.report() for log in logs}
        learned = await asyncio.to_thread(self._recorded.merge, self._found)
        return Summary(
            tuple(reports[name] for name in sources),
            await asyncio.to_thread(tool_reports, before, learned.shapes),
            time.monotonic() - began,
            self._is_stopped,
            self._dry_run,
        )

    def _plan(
        self, sources: Sequence[str], spooled: Path, logs: list[_Log], reports: dict[str, SourceReport]
    ) -> None:
        """Collect the logs that have new lines, and reports for the rest."""
        planned = {origin: list(marks) for origin, marks in self._marks.items()}
        for number, name in enumerate(sources):
            if name in reports:
                continue
            path = Path(name)
            try:
                if name == STDIN or not path.is_file():
                    path = spooled / str(number)
                    spool(name, path, lambda: self._is_stopped)
                file = LogFile(str(path))
                marks = planned.setdefault(file.origin, [])
                start = file.known(marks)
                if start == file.end:
                    reports[name] = SourceReport(name, "known", skipped_bytes=start)
                else:
                    marks.append(file.mark(file.end))
                    logs.append(_Log(name, file, start))
            except UNREADABLE as error:
                reports[name] = SourceReport(name, "failed", problem=reason_of(error))

    async def _read(self, logs: Sequence[_Log]) -> None:
        """Let workers read all logs, and add their results in order."""
        size = sum(log.file.end - log.start for log in logs)
        jobs = self._jobs or cores()
        processes = jobs if size >= _PARALLEL_BYTES or self._jobs else 0
        batches = await asyncio.to_thread(list, _batches(logs, size, jobs))
        parts = [[part for _, part in batch] for batch in batches]
        executor, reading = await asyncio.to_thread(submit, parts, self._rules, self._progress, processes)
        reporting = asyncio.create_task(self._report_progress(size))
        collects_garbage = gc.isenabled()
        # What was learned is a great many objects without cycles; looking for cycles would take longer than all else.
        gc.disable()
        try:
            for batch, future in zip(batches, reading, strict=True):
                try:
                    found = await asyncio.wrap_future(future)
                except BrokenExecutor:
                    for log, _ in batch:
                        log.problem = _KILLED
                    continue
                if found is not None:
                    await asyncio.to_thread(self._add, batch, *found)
                if self._is_stopped:
                    break
        except BaseException:
            self.stop()
            raise
        finally:
            reporting.cancel()
            if collects_garbage:
                gc.enable()
            await asyncio.to_thread(executor.shutdown, cancel_futures=True)

    def _add(
        self, batch: Sequence[tuple[_Log, Part]], found: Sequence[Counts | str], knowledge: Knowledge
    ) -> None:
        self._found = self._found.merge(knowledge)
        for (log, part), counts in zip(batch, found, strict=True):
            if isinstance(counts, str):
                log.problem = log.problem or counts
                continue
            log.counts.add(counts)
            if log.problem or log.counts.is_nameless:
                continue
            marks = self._marks.setdefault(log.file.origin, [])
            if log.mark in marks:
                marks.remove(log.mark)  # of an earlier part
            log.mark = log.file.mark(part.end)
            marks.append(log.mark)

    async def _write(self, before: Mapping[str, str]) -> None:
        """Store what was learned, and the positions read up to, in one transaction."""
        changes = {
            origin: WatermarkChange(before.get(origin), marks_to_text(marks[-_MAX_MARKS:]))
            for origin, marks in self._marks.items()
            if marks != marks_from_text(before.get(origin, ""))
        }
        if changes and not self._dry_run:
            found = self._found
            await self._store.add_learned(
                LEARNED_ORIGIN, found.shapes, lineage=found.lineage, sources=changes
            )

    async def _report_progress(self, size: int) -> None:
        while self._show_progress is not None:
            self._show_progress(self._progress.done.value, size)
            await asyncio.sleep(_SECONDS_BETWEEN_PROGRESS)

    async def _read_recorded(self) -> SourceReport:
        observed = incomplete = 0
        after: str | None = None
        while not self._is_stopped and (calls := await self._store.unobserved_calls(after, _RECORDED_CALLS)):
            after = calls[-1].id
            knowledge, used = await asyncio.to_thread(learn_recorded, calls, self._rules)
            incomplete += len(calls) - len(used)
            while used and not self._dry_run:
                taken = await self._store.add_learned(
                    LEARNED_ORIGIN, knowledge.shapes, lineage=knowledge.lineage, observed_calls=used
                )
                if not taken:
                    break
                # A running gateway has learned from some of them in the meantime.
                calls = [call for call in calls if call.id not in taken]
                knowledge, used = await asyncio.to_thread(learn_recorded, calls, self._rules)
            self._recorded = self._recorded.merge(knowledge)
            observed += len(used)
        notes = (f"{incomplete} recorded results are incomplete and were left out.",) if incomplete else ()
        state: State = "stopped" if self._is_stopped else "counted" if observed else "known"
        return SourceReport(STORE, state, Counts(observations=observed), notes=notes)


def _batches(logs: Sequence[_Log], size: int, jobs: int) -> Iterator[list[tuple[_Log, Part]]]:
    """Cut logs into parts and group them into batches, one for each worker task."""
    most = min(max(size // (2 * jobs), _MIN_BATCH), _MAX_BATCH)
    followed = size if size <= _FOLLOWED_BYTES else _FOLLOWED_BYTES // len(logs)
    batch: list[tuple[_Log, Part]] = []
    filled = 0
    for log in logs:
        position, end = log.start, log.file.end
        while position < end:
            stop = log.file.line_start(position + most) if log.file.can_split else end
            batch.append((log, Part(log.file.path, position, stop, followed - (position - log.start))))
            filled += stop - position
            position = stop
            if filled >= most:
                yield batch
                batch, filled = [], 0
    if batch:
        yield batch
