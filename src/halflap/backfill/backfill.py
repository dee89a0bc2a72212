"""One run of a backfill: find the logs, read them in parallel, store what was learned with how far was read.

All logs are first cut into parts, and the parts into batches. Workers read the batches in parallel, but what they found
is added in order, so at any time everything before some position in the sequence of parts is learned, and nothing behind.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.backfill.found import Counts, Knowledge
from halflap.backfill.logfile import UNREADABLE, LogFile, reason_of
from halflap.backfill.recorded import learn_recorded, recorded_calls
from halflap.backfill.report import SourceReport, State, Summary, tool_reports
from halflap.backfill.sources import Source, find_sources, spooled
from halflap.backfill.watermarks import Mark, find_mark, marks_from_text, marks_to_text, origin_of
from halflap.backfill.workers import Part, Progress, Workers, cores
from halflap.core.errors import BackfillError
from halflap.observe import compare, merged
from halflap.store import WatermarkChange

if TYPE_CHECKING:
    from halflap.backfill.rules import Rules
    from halflap.learn import Learned
    from halflap.store import DriftEvent, Store, StoredShape, ToolKey

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
_SECONDS_BETWEEN_WRITES = 60.0
_SECONDS_BETWEEN_PROGRESS = 0.1


@dataclass(slots=True)
class _Log:
    """A log that is being read."""

    source: Source
    file: LogFile
    origin: str
    mark: Mark | None
    """How far it was counted before this run, then how far it is."""
    start: int
    problem: str = ""
    counts: Counts = field(default_factory=Counts)

    @property
    def position(self) -> int:
        return self.mark.bytes if self.mark else 0

    def report(self) -> SourceReport:
        if self.problem:
            return SourceReport(self.source.name, "failed", self.counts, self.start, self.problem)
        if self.counts.is_nameless:
            problem = "It names tools without their server. Say which server they belong to: --server NAME"
            return SourceReport(self.source.name, "refused", self.counts, self.start, problem)
        if self.file.damage:
            self.counts.blame(self.file.line_number(self.file.end), self.file.damage)
        state: State = "counted" if self.position == self.file.end else "stopped"
        return SourceReport(self.source.name, state, self.counts, self.start)


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
        self._learned = Knowledge()
        self._unwritten = Knowledge()
        self._watermarks: dict[str, str] = {}
        self._marks: dict[str, list[Mark]] = {}
        """What the watermarks will be once everything unwritten is written."""

    def stop(self) -> None:
        """End soon; what is done is stored."""
        self._progress.stop()

    async def run(self, names: Sequence[str]) -> Summary:
        """Read every source that is asked for."""
        began = time.monotonic()
        sources = await asyncio.to_thread(find_sources, names)
        before = await self._store.learned()
        self._watermarks = dict(await self._store.watermarks())
        self._marks = {origin: list(marks_from_text(text)) for origin, text in self._watermarks.items()}
        reports: dict[str, SourceReport] = {}
        for source in sources:
            if source.kind == "store":
                reports[source.name] = await self._read_recorded(source)
        spools: list[str] = []
        try:
            logs = await self._plan(sources, reports, spools)
            await self._read(logs)
        finally:
            await self._write()
            for path in spools:
                await asyncio.to_thread(Path(path).unlink, missing_ok=True)
        reports |= {log.source.name: await asyncio.to_thread(log.report) for log in logs}
        drift = await asyncio.to_thread(_drift, before, self._learned.shapes, self._rules)
        if not self._dry_run:
            await self._store.add_drift(drift)
        return Summary(
            tuple(reports[source.name] for source in sources if source.name in reports),
            await asyncio.to_thread(tool_reports, before, self._learned.shapes),
            time.monotonic() - began,
            self._progress.is_stopped,
            self._dry_run,
            drift,
        )

    async def _plan(
        self, sources: Sequence[Source], reports: dict[str, SourceReport], spools: list[str]
    ) -> list[_Log]:
        """Return the logs with something new in them; for the others, add reports."""
        logs: list[_Log] = []
        planned = {origin: list(marks) for origin, marks in self._marks.items()}
        for source in sources:
            path = source.name
            try:
                if source.kind == "store":
                    continue
                if source.kind == "stream":
                    path = await asyncio.to_thread(spooled, path, lambda: self._progress.is_stopped)
                    spools.append(path)
                found = await asyncio.to_thread(self._look_at, source, path, planned)
            except UNREADABLE as error:
                found = SourceReport(source.name, "failed", problem=reason_of(error))
            if isinstance(found, _Log):
                logs.append(found)
            else:
                reports[source.name] = found
        return logs

    def _look_at(self, source: Source, path: str, planned: dict[str, list[Mark]]) -> _Log | SourceReport:
        """Find out what is new in a log, and plan to read it."""
        file = LogFile(path)
        origin = origin_of(file)
        marks = planned.setdefault(origin, [])
        known = find_mark(file, marks)
        start, server = (known.bytes, known.server) if known else (0, "")
        if self._rules.server and server not in {"", self._rules.server}:
            problem = (
                f"Its tools were counted as those of {server!r}. To count them as those of {self._rules.server!r}, run "
                "`halflap schema forget --origin backfill` and read all logs again."
            )
            return SourceReport(source.name, "refused", skipped_bytes=start, problem=problem)
        if start == file.end and not file.damage:
            return SourceReport(source.name, "known", skipped_bytes=start)
        marks.append(self._mark(file, file.end, server))
        return _Log(source, file, origin, known, start)

    def _mark(self, file: LogFile, position: int, server: str) -> Mark:
        return Mark(position, next(file.digests([position])), self._rules.server or server)

    async def _read(self, logs: Sequence[_Log]) -> None:
        """Have workers read all logs, and take what they found in order."""
        size = sum(log.file.end - log.start for log in logs)
        jobs = self._jobs or cores()
        processes = jobs if size >= _PARALLEL_BYTES or self._jobs else 0
        workers = await asyncio.to_thread(Workers, self._rules, self._progress, processes=processes)
        batches = await asyncio.to_thread(list, _batches(logs, size, jobs))
        reading: deque[tuple[list[tuple[_Log, Part]], asyncio.Task[Any]]] = deque()
        reporting = asyncio.create_task(self._report_progress(size))
        written_at = time.monotonic()
        try:
            while (batches or reading) and not self._progress.is_stopped:
                while batches and len(reading) <= jobs:
                    batch = batches.pop(0)
                    learning = workers.learn([part for _, part in batch])
                    reading.append((batch, asyncio.create_task(learning)))
                batch, task = reading.popleft()
                try:
                    learned = await task
                except BackfillError as error:
                    for log, _ in batch:
                        log.problem = str(error)
                    continue
                if learned is not None:
                    await asyncio.to_thread(self._add, batch, *learned)
                if time.monotonic() - written_at > _SECONDS_BETWEEN_WRITES:
                    await self._write()
                    written_at = time.monotonic()
        finally:
            reporting.cancel()
            if reading:
                self._progress.stop()
            for _, task in reading:
                task.cancel()
            await asyncio.gather(*(task for _, task in reading), return_exceptions=True)
            await asyncio.to_thread(workers.close)

    def _add(
        self, batch: Sequence[tuple[_Log, Part]], found: Sequence[Counts | str], knowledge: Knowledge
    ) -> None:
        self._unwritten = self._unwritten.merge(knowledge)
        for (log, part), counts in zip(batch, found, strict=True):
            if isinstance(counts, str):
                log.problem = log.problem or counts
                continue
            log.counts.add(counts)
            if log.problem or log.counts.is_nameless:
                continue
            marks = self._marks.setdefault(log.origin, [])
            if log.mark in marks and log.position > log.start:
                marks.remove(log.mark)  # of an earlier part
            log.mark = self._mark(log.file, part.end, log.mark.server if log.mark else "")
            marks.append(log.mark)

    async def _write(self) -> None:
        """Store what was learned together with how far was read."""
        unwritten, self._unwritten = self._unwritten, Knowledge()
        self._learned = await asyncio.to_thread(self._learned.merge, unwritten)
        texts = {origin: marks_to_text(marks[-_MAX_MARKS:]) for origin, marks in self._marks.items()}
        changes = {
            origin: WatermarkChange(self._watermarks.get(origin), text)
            for origin, text in texts.items()
            if text != self._watermarks.get(origin)
        }
        if changes and not self._dry_run:
            await self._store.add_learned(
                LEARNED_ORIGIN, unwritten.shapes, lineage=unwritten.lineage, sources=changes
            )
            self._watermarks |= texts

    async def _report_progress(self, size: int) -> None:
        while self._show_progress is not None:
            self._show_progress(self._progress.done, size)
            await asyncio.sleep(_SECONDS_BETWEEN_PROGRESS)

    async def _read_recorded(self, source: Source) -> SourceReport:
        observed = incomplete = 0
        async for calls in recorded_calls(self._store):
            batch = await asyncio.to_thread(learn_recorded, calls, self._rules)
            incomplete += batch.incomplete
            while batch.calls and not self._dry_run:
                taken = await self._store.add_learned(
                    LEARNED_ORIGIN,
                    batch.knowledge.shapes,
                    lineage=batch.knowledge.lineage,
                    observed_calls=batch.calls,
                )
                if not taken:
                    break
                # A gateway was faster with some of them.
                left = [call for call in calls if call.id not in taken]
                batch = await asyncio.to_thread(learn_recorded, left, self._rules)
            self._learned = self._learned.merge(batch.knowledge)
            observed += len(batch.calls)
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
            part = Part(log.file.path, position, stop, followed - (position - log.start))
            batch.append((log, part))
            filled += stop - position
            position = stop
            if filled >= most:
                yield batch
                batch, filled = [], 0
    if batch:
        yield batch


def _drift(
    before: Sequence[StoredShape], learned: Mapping[ToolKey, Learned], rules: Rules
) -> tuple[DriftEvent, ...]:
    """Return where the logs contradict what had settled before."""
    rows: defaultdict[tuple[str, str], list[StoredShape]] = defaultdict(list)
    for row in before:
        rows[row.server, row.tool].append(row)
    known = {
        key: merged(row for row in rows[key[:2]] if row.definition_hash in {key.definition_hash, ""})
        for key in learned
    }
    return compare(known, learned, enums=rules.values, origin=LEARNED_ORIGIN).drift
