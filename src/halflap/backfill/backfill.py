"""One run of a backfill: find the logs, read them in parallel, store what was learned with how far was read."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.backfill.found import Counts, Knowledge
from halflap.backfill.logfile import LogFile, line_start, reason_of, unreadable
from halflap.backfill.recorded import learn_recorded, recorded_calls
from halflap.backfill.report import SourceReport, Summary, tool_reports
from halflap.backfill.sources import Source, find_sources, spooled
from halflap.backfill.watermarks import Mark, find_mark, marks_from_text, marks_to_text, origin_of, with_mark
from halflap.backfill.worker import LogJob, LogRead, digest_range, read_logs, read_range
from halflap.backfill.workers import Workers, cores
from halflap.core.errors import BackfillError
from halflap.observe import compare, merged
from halflap.store import WatermarkChange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.backfill.report import State
    from halflap.backfill.rules import Rules
    from halflap.learn import Learned
    from halflap.store import DriftEvent, Store, StoredShape, ToolKey

__all__ = ["LEARNED_ORIGIN", "Backfill"]

LEARNED_ORIGIN = "backfill"
"""All logs add to one origin, so that what is known stays in few rows; their watermarks are separate."""
_PARALLEL_BYTES = 16 << 20
"""Less is read in one thread: starting processes would take longer."""
_RANGE = 32 << 20
_BATCH_BYTES, _BATCH_FILES = 8 << 20, 200
_SECONDS_BETWEEN_WRITES = 5.0
_SECONDS_BETWEEN_PROGRESS = 0.1
_STRICT = "There is a line that cannot be read; nothing of this source was stored (--strict)."


@dataclass(slots=True)
class _Log:
    source: Source
    path: str
    log: LogFile

    @property
    def origin(self) -> str:
        return origin_of(self.log.first_line)


@dataclass(slots=True)
class _Unwritten:
    knowledge: Knowledge = field(default_factory=Knowledge)
    marks: dict[str, tuple[Mark, ...]] = field(default_factory=dict)


class Backfill:
    """Learns from logs."""

    def __init__(
        self,
        store: Store,
        rules: Rules,
        *,
        jobs: int | None = None,
        strict: bool = False,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """`progress` is called with the bytes read so far and in total."""
        self._store = store
        self._rules = rules
        self._jobs = jobs
        self._strict = strict
        self._dry_run = dry_run
        self._progress = progress
        self._workers: Workers | None = None
        self._is_stopped = False
        self._watermarks: dict[str, str] = {}
        self._marks: dict[str, tuple[Mark, ...]] = {}
        self._unwritten = _Unwritten()
        self._written_at = time.monotonic()
        self._writing = asyncio.Lock()
        self._learned = Knowledge()

    def stop(self) -> None:
        """End soon; what is done is stored."""
        self._is_stopped = True
        if self._workers is not None:
            self._workers.control.stop()

    async def run(self, names: Sequence[str]) -> Summary:
        """Read every source that is asked for."""
        began = time.monotonic()
        sources = await asyncio.to_thread(find_sources, names)
        before = await self._store.learned()
        self._watermarks = dict(await self._store.watermarks())
        self._marks = {origin: marks_from_text(text) for origin, text in self._watermarks.items()}
        size = sum(source.size for source in sources)
        jobs = self._jobs or (cores() if size >= _PARALLEL_BYTES else 1)
        self._workers = await asyncio.to_thread(Workers, jobs)
        if self._is_stopped:
            self.stop()
        reporting = asyncio.create_task(self._report_progress(size))
        try:
            reports = await self._read_all(sources)
        finally:
            reporting.cancel()
            await asyncio.to_thread(self._workers.close)
            await self._write()
        drift = await asyncio.to_thread(_drift, before, self._learned.shapes, self._rules)
        if not self._dry_run:
            await self._store.add_drift(drift)
        return Summary(
            tuple(reports),
            await asyncio.to_thread(tool_reports, before, self._learned.shapes),
            time.monotonic() - began,
            self._is_stopped,
            self._dry_run,
            drift,
        )

    async def _report_progress(self, size: int) -> None:
        while self._progress is not None and self._workers is not None:
            self._progress(self._workers.control.done, size)
            await asyncio.sleep(_SECONDS_BETWEEN_PROGRESS)

    async def _read_all(self, sources: Sequence[Source]) -> list[SourceReport]:
        """Read all sources; logs of one origin are read in order, because one may be a copy of another."""
        reports: dict[str, SourceReport] = {}
        groups: defaultdict[str, list[_Log]] = defaultdict(list)
        spools: list[str] = []
        try:
            for source in sources:
                if source.kind == "store":
                    reports[source.name] = await self._read_recorded(source)
                    continue
                try:
                    path = source.name
                    if source.kind == "stream":
                        path = await asyncio.to_thread(spooled, source.name, lambda: self._is_stopped)
                        spools.append(path)
                    log = _Log(source, path, await asyncio.to_thread(LogFile, path))
                    groups[log.origin].append(log)
                except unreadable() as error:
                    reports[source.name] = SourceReport(source.name, "failed", problem=reason_of(error))
            async with asyncio.TaskGroup() as tasks:
                for batch in self._batches(list(groups.values())):
                    tasks.create_task(self._read_batch(batch, reports))
        finally:
            for path in spools:
                await asyncio.to_thread(Path(path).unlink, missing_ok=True)
        return [reports[source.name] for source in sources if source.name in reports]

    def _batches(self, groups: Sequence[list[_Log]]) -> list[list[_Log]]:
        """Put small groups together: to pass many small results between processes costs more than reading."""
        batches: list[list[_Log]] = []
        size = 0
        for group in groups:
            own = sum(one.source.size for one in group)
            fits = batches and size + own <= _BATCH_BYTES and len(batches[-1]) + len(group) <= _BATCH_FILES
            if fits and not self._strict:
                batches[-1] += group
                size += own
            else:
                batches.append(list(group))
                size = own
        return batches

    async def _read_batch(self, batch: Sequence[_Log], reports: dict[str, SourceReport]) -> None:
        if self._is_stopped:
            for one in batch:
                reports[one.source.name] = SourceReport(one.source.name, "stopped")
            return
        assert self._workers is not None
        first = batch[0]
        if (
            len(batch) == 1
            and first.log.can_split
            and first.source.size > 2 * _RANGE
            and self._workers.jobs > 1
        ):
            report = await self._read_split(first)
            if report is not None:
                reports[first.source.name] = report
                return
        jobs = [LogJob(one.path, one.origin) for one in batch]
        marks = {one.origin: self._marks.get(one.origin, ()) for one in batch}
        try:
            read = await self._workers.run(read_logs, jobs, marks, self._rules)
        except BackfillError as error:
            for one in batch:
                reports[one.source.name] = SourceReport(one.source.name, "failed", problem=str(error))
            return
        refused = self._strict and any(one.counts is not None and one.counts.bad_count for one in read.logs)
        if refused:
            self.stop()
        else:
            await self._keep(read.knowledge, read.marks)
        for one, log in zip(batch, read.logs, strict=True):
            reports[one.source.name] = _report(one.source.name, log, _STRICT if refused else "")

    async def _read_split(self, one: _Log) -> SourceReport | None:
        """Read a large file in ranges, in parallel; None if (the rest of) it must be read in one piece."""
        assert self._workers is not None
        known, sha = await asyncio.to_thread(find_mark, one.log, self._marks.get(one.origin, ()))
        if known is not None and known.server not in {"", self._rules.server or known.server}:
            return None  # refused where whole files are read
        start, total = (known.bytes if known else 0), Counts(lines=known.lines if known else 0)
        cuts = await asyncio.to_thread(_ranges, one.path, start, one.source.size)
        knowledge, stored_at = Knowledge(), time.monotonic()
        reading = [
            asyncio.create_task(self._workers.run(read_range, one.path, begin, end, self._rules))
            for begin, end in cuts
        ]
        try:
            for task, (begin, end) in zip(reading, cuts, strict=True):
                found = await task
                if found is None:
                    return None
                counts, learned = found
                total, knowledge = total.merge(counts), await asyncio.to_thread(knowledge.merge, learned)
                if self._strict and total.bad_count:
                    self.stop()
                    return _report(one.source.name, LogRead(total, known), _STRICT)
                position = begin + counts.bytes
                sha = await asyncio.to_thread(digest_range, one.path, begin, position, sha)
                is_last = end == cuts[-1][1] or counts.cut_short or self._is_stopped
                is_nameless = bool(total.nameless) and not total.observations
                if not is_nameless and (is_last or time.monotonic() - stored_at > _SECONDS_BETWEEN_WRITES):
                    now = Mark(position, total.lines, _hex(sha), self._rules.server or "")
                    marks = with_mark(self._marks.get(one.origin, ()), now)
                    await self._keep(knowledge, {one.origin: marks} if position > start else {})
                    knowledge, stored_at = Knowledge(), time.monotonic()
                if is_last:
                    break
        finally:
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)
        found_here = replace(total, lines=total.lines - (known.lines if known else 0))
        return _report(one.source.name, LogRead(found_here, known), "")

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
            if self._is_stopped:
                break
        notes = (f"{incomplete} recorded results are incomplete and were left out.",) if incomplete else ()
        state: State = "stopped" if self._is_stopped else "counted" if observed else "known"
        return SourceReport(source.name, state, Counts(observations=observed), notes=notes)

    async def _keep(self, knowledge: Knowledge, marks: Mapping[str, tuple[Mark, ...]]) -> None:
        """Store this soon, together with how far was read."""
        self._unwritten.knowledge = await asyncio.to_thread(self._unwritten.knowledge.merge, knowledge)
        self._unwritten.marks |= marks
        self._marks |= marks
        if time.monotonic() - self._written_at > _SECONDS_BETWEEN_WRITES:
            await self._write()

    async def _write(self) -> None:
        async with self._writing:
            unwritten, self._unwritten = self._unwritten, _Unwritten()
            self._written_at = time.monotonic()
            self._learned = await asyncio.to_thread(self._learned.merge, unwritten.knowledge)
            if not unwritten.marks or self._dry_run:
                return
            texts = {origin: marks_to_text(marks) for origin, marks in unwritten.marks.items()}
            changes = {
                origin: WatermarkChange(self._watermarks.get(origin), text) for origin, text in texts.items()
            }
            found = unwritten.knowledge
            await self._store.add_learned(
                LEARNED_ORIGIN, found.shapes, lineage=found.lineage, sources=changes
            )
            self._watermarks |= texts


def _ranges(path: str, start: int, end: int) -> list[tuple[int, int]]:
    cuts = [start]
    while cuts[-1] < end:
        cuts.append(min(end, line_start(path, cuts[-1] + _RANGE)))
    return list(pairwise(cuts))


def _report(name: str, read: LogRead, refused: str) -> SourceReport:
    known = read.known or Mark(0, 0, "")
    found = read.counts or Counts()
    found = replace(found, bad=tuple(one._replace(line=one.line + known.lines) for one in found.bad))
    state: State = "counted"
    if refused or read.is_refused:
        state = "refused"
    elif read.problem:
        state = "failed"
    elif found.cut_short:
        state = "stopped"
    elif read.counts is None:
        state = "known"
    return SourceReport(name, state, found, known.bytes, refused or read.problem or None)


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


def _hex(sha: object) -> str:
    return str(sha.hexdigest())  # type: ignore[attr-defined]  # hash objects have no public type
