"""One run of a backfill: find the logs, read them in parallel, store what was learned with how far was read.

All logs are first cut into parts, and the parts into batches. Workers read the batches in parallel, but what they found
is added in order, so at any time everything before some position in the sequence of parts is learned, and nothing behind.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.backfill.learner import Knowledge, learn_recorded
from halflap.backfill.logfile import UNREADABLE, LogFile, Mark, marks_from_text, marks_to_text
from halflap.backfill.report import Counts, SourceReport, State, Summary, drift_of, tool_reports
from halflap.backfill.sources import Source, find_sources, spooled
from halflap.backfill.workers import Part, Progress, cores, pool, reason_of, submit
from halflap.store import WatermarkChange

if TYPE_CHECKING:
    from halflap.backfill.rules import Rules
    from halflap.store import Store

__all__ = ["LEARNED_ORIGIN", "Backfill"]

LEARNED_ORIGIN = "backfill"
"""All logs add to one origin, so that what is known stays in few rows; their watermarks are separate."""
_PARALLEL_BYTES = 16 << 20
"""Less is read in one thread: starting processes would take longer."""
_MIN_BATCH, _MAX_BATCH = 8 << 20, 256 << 20
"""Bytes read by a worker before it hands over what it learned, which takes about as long as reading 10 MB."""
_FOLLOWED_BYTES = 100_000_000
"""If there is more to read, values are followed in this much of it: that takes as long as the rest of the work."""
_MAX_MARKS = 1_000
"""Marks kept of the logs with one first line, the newest."""
_RECORDED_CALLS = 500
"""Recorded calls learned from at a time."""
_SECONDS_BETWEEN_PROGRESS = 0.1
_KILLED = (
    "A worker process was killed, perhaps because memory ran out. What was learned before is kept; run the command "
    "again to continue, perhaps with --jobs 1."
)


@dataclass(slots=True)
class _Log:
    """A log that is being read."""

    source: Source
    file: LogFile
    start: int
    """How far it was counted before."""
    mark: Mark | None = None
    """How far it was counted in this run."""
    problem: str = ""
    counts: Counts = field(default_factory=Counts)

    def report(self) -> SourceReport:
        state: State = "counted" if self.mark and self.mark.bytes == self.file.end else "stopped"
        problem = self.problem
        if problem:
            state = "failed"
        elif self.counts.is_nameless:
            state = "refused"
            problem = "It names tools without their server. Say which server they belong to: --server NAME"
        return SourceReport(self.source.name, state, self.counts, self.start, problem or None)


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
        """What the watermarks will be once what was found is stored."""

    def stop(self) -> None:
        """End soon; what is done is stored."""
        self._progress.stop()

    async def run(self, names: Sequence[str]) -> Summary:
        """Read every source that is asked for."""
        began = time.monotonic()
        sources = await asyncio.to_thread(find_sources, names)
        before = await self._store.learned()
        watermarks = await self._store.watermarks()
        self._marks = {origin: marks_from_text(text) for origin, text in watermarks.items()}
        reports: dict[str, SourceReport] = {}
        for source in sources:
            if source.kind == "store":
                reports[source.name] = await self._read_recorded(source)
        logs: list[_Log] = []
        spools: list[str] = []
        try:
            await asyncio.to_thread(self._plan, sources, logs, reports, spools)
            await self._read(logs)
        finally:
            await self._write(watermarks)
            for path in spools:
                await asyncio.to_thread(Path(path).unlink, missing_ok=True)
        reports |= {log.source.name: log.report() for log in logs}
        learned = (await asyncio.to_thread(self._recorded.merge, self._found)).shapes
        drift = await asyncio.to_thread(drift_of, before, learned, self._rules.values, LEARNED_ORIGIN)
        if not self._dry_run:
            await self._store.add_drift(drift)
        return Summary(
            tuple(reports[source.name] for source in sources),
            await asyncio.to_thread(tool_reports, before, learned),
            time.monotonic() - began,
            self._progress.is_stopped,
            self._dry_run,
            drift,
        )

    def _plan(
        self,
        sources: Sequence[Source],
        logs: list[_Log],
        reports: dict[str, SourceReport],
        spools: list[str],
    ) -> None:
        """Add the logs with something new in them; for the others, add reports."""
        planned = {origin: list(marks) for origin, marks in self._marks.items()}
        for source in sources:
            path = source.name
            try:
                if source.kind == "store":
                    continue
                if source.kind == "stream":
                    path = spooled(path, lambda: self._progress.is_stopped)
                    spools.append(path)
                file = LogFile(path)
                marks = planned.setdefault(file.origin, [])
                start = file.known(marks)
                if start == file.end:
                    reports[source.name] = SourceReport(source.name, "known", skipped_bytes=start)
                else:
                    marks.append(file.mark(file.end))
                    logs.append(_Log(source, file, start))
            except UNREADABLE as error:
                reports[source.name] = SourceReport(source.name, "failed", problem=reason_of(error))

    async def _read(self, logs: Sequence[_Log]) -> None:
        """Have workers read all logs, and take what they found in order."""
        size = sum(log.file.end - log.start for log in logs)
        jobs = self._jobs or cores()
        processes = jobs if size >= _PARALLEL_BYTES or self._jobs else 0
        executor = await asyncio.to_thread(pool, self._progress, processes)
        batches = await asyncio.to_thread(list, _batches(logs, size, jobs))
        reporting = asyncio.create_task(self._report_progress(size))
        try:
            parts = [[part for _, part in batch] for batch in batches]
            shared = None if processes else self._progress
            reading = await asyncio.to_thread(submit, executor, parts, self._rules, shared)
            for batch, future in zip(batches, reading, strict=True):
                try:
                    found = await asyncio.wrap_future(future)
                except BrokenExecutor:
                    for log, _ in batch:
                        log.problem = _KILLED
                    continue
                if found is not None:
                    await asyncio.to_thread(self._add, batch, *found)
                if self._progress.is_stopped:
                    break
        except BaseException:
            self._progress.stop()
            raise
        finally:
            reporting.cancel()
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
        """Store what was learned together with how far was read."""
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
            self._show_progress(self._progress.done, size)
            await asyncio.sleep(_SECONDS_BETWEEN_PROGRESS)

    async def _read_recorded(self, source: Source) -> SourceReport:
        observed = incomplete = 0
        after: str | None = None
        while calls := await self._store.unobserved_calls(after, _RECORDED_CALLS):
            after = calls[-1].id
            knowledge, used = await asyncio.to_thread(learn_recorded, calls, self._rules)
            incomplete += len(calls) - len(used)
            while used and not self._dry_run:
                taken = await self._store.add_learned(
                    LEARNED_ORIGIN, knowledge.shapes, lineage=knowledge.lineage, observed_calls=used
                )
                if not taken:
                    break
                # A gateway was faster with some of them.
                calls = [call for call in calls if call.id not in taken]
                knowledge, used = await asyncio.to_thread(learn_recorded, calls, self._rules)
            self._recorded = self._recorded.merge(knowledge)
            observed += len(used)
            if self._progress.is_stopped:
                break
        notes = (f"{incomplete} recorded results are incomplete and were left out.",) if incomplete else ()
        state: State = "stopped" if self._progress.is_stopped else "counted" if observed else "known"
        return SourceReport(source.name, state, Counts(observations=observed), notes=notes)


def _batches(logs: Sequence[_Log], size: int, jobs: int) -> Iterator[list[tuple[_Log, Part]]]:
    """Cut logs into parts and put those together that one worker reads."""
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
