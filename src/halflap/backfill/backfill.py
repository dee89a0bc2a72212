"""History becomes knowledge: every source is read once, and what was learned is stored with how far it was read."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from halflap.backfill.found import Found
from halflap.backfill.groups import Group, is_alike
from halflap.backfill.identity import Known
from halflap.backfill.opening import damage
from halflap.backfill.own import LEARNED_ORIGIN, own_calls
from halflap.backfill.passes import Pass, said
from halflap.backfill.sources import find_sources, look_at
from halflap.backfill.summary import SourceReport, Summary, tool_reports
from halflap.backfill.work import Work, breaches_of, merge_into
from halflap.backfill.workers import ENOUGH_FOR_PROCESSES, Workers, cores
from halflap.core.errors import BackfillError
from halflap.observe import compare, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

    from halflap.backfill.own import Batch
    from halflap.backfill.rules import Rules
    from halflap.backfill.sources import Look, Source
    from halflap.backfill.summary import State
    from halflap.learn import Learned
    from halflap.store import DriftEvent, Store, StoredShape, ToolKey

__all__ = ["Backfill"]

_SECONDS_BETWEEN_TELLING = 0.1


class Backfill:
    """One run of it."""

    def __init__(
        self,
        store: Store,
        rules: Rules,
        *,
        jobs: int | None = None,
        strict: bool = False,
        dry_run: bool = False,
        told: Callable[[int, int], None] | None = None,
    ) -> None:
        self._work = Work(store, rules, strict=strict, dry_run=dry_run)
        self._jobs = jobs
        self._told = told
        """Told how many bytes are done, and how many there are."""
        self._under_way: dict[asyncio.Task[list[SourceReport]], Sequence[bytes]] = {}
        """What is being read, with how it begins."""

    def stop(self) -> None:
        """End soon, with what is done stored."""
        self._work.stop()

    async def run(self, names: Sequence[str]) -> Summary:
        """Read every source that is asked for."""
        began, work = time.monotonic(), self._work
        sources = await asyncio.to_thread(find_sources, names)
        before = await work.store.learned()
        work.known = Known(await work.store.watermarks())
        size = sum(source.size for source in sources)
        jobs = self._jobs or (cores() if size >= ENOUGH_FOR_PROCESSES else 1)
        work.workers = await asyncio.to_thread(Workers, jobs)
        telling = asyncio.create_task(self._tell(size))
        try:
            if work.stopped:
                work.stop()
            reports = await self._all(sources)
        finally:
            telling.cancel()
            await asyncio.to_thread(work.workers.close)
            await work.write()
        tools = await asyncio.to_thread(tool_reports, before, work.learned)
        drift = await asyncio.to_thread(_drift, before, work.learned, work.rules)
        if not work.dry_run:
            await work.store.add_drift(drift)
        return Summary(
            tuple(reports),
            tools,
            time.monotonic() - began,
            work.stopped,
            work.dry_run,
            drift,
            tuple(breaches_of(work.broken)),
        )

    async def _tell(self, size: int) -> None:
        while self._told is not None:
            self._told(self._work.workers.control.done(), size)
            await asyncio.sleep(_SECONDS_BETWEEN_TELLING)

    async def _all(self, sources: Sequence[Source]) -> list[SourceReport]:
        """Read the sources side by side; those that may be the same, one after the other."""
        tasks: list[asyncio.Task[list[SourceReport]]] = []
        group = Group(self._work)
        try:
            for source in sources:
                if self._work.stopped:
                    break
                look, problem = await self._look(source)
                head = b"" if look is None else look.head
                if group and not (look is not None and group.takes(source, head)):
                    tasks.append(self._begin(group.read(), group.heads))
                    group = Group(self._work)
                # Two that begin alike may be the same, and only when one is done is it known how far.
                alike = [task for task, heads in self._under_way.items() if is_alike(head, heads)]
                await _wait(alike, asyncio.ALL_COMPLETED)
                while len(self._under_way) > self._work.workers.jobs:
                    await _wait(self._under_way, asyncio.FIRST_COMPLETED)
                if look is not None and group.takes(source, head):
                    group.add(source, look)
                else:
                    tasks.append(self._begin(self._source(source, look, problem), [head]))
            if group:
                tasks.append(self._begin(group.read(), group.heads))
            return [report for task in tasks for report in await task]
        finally:
            for task in tasks:
                task.cancel()
            await _wait(tasks, asyncio.ALL_COMPLETED)

    @staticmethod
    async def _look(source: Source) -> tuple[Look | None, str | None]:
        """Look at a file; gives what is wrong with it, too."""
        if source.kind != "file":
            return None, None
        try:
            return await asyncio.to_thread(look_at, source.name), None
        except (OSError, BackfillError) as error:
            return None, said(error)
        except damage() as error:
            return None, f"The compressed data is damaged or not whole ({error})."

    def _begin(
        self, work: Coroutine[Any, Any, list[SourceReport]], heads: Sequence[bytes]
    ) -> asyncio.Task[list[SourceReport]]:
        task = asyncio.create_task(work)
        self._under_way[task] = heads
        task.add_done_callback(lambda done: self._under_way.pop(done, None))
        return task

    async def _source(self, source: Source, look: Look | None, problem: str | None) -> list[SourceReport]:
        if problem is not None:
            return [SourceReport(source.name, "failed", problem=problem)]
        if source.kind == "store":
            return [await self._own(source)]
        return [await Pass(self._work, source).read(look)]

    async def _own(self, source: Source) -> SourceReport:
        total = left_out = 0
        async for batch in own_calls(self._work.store, self._work.rules):
            left_out += batch.left_out
            added = batch if self._work.dry_run else await self._add_own(batch)
            merge_into(self._work.learned, added.shapes)
            total += len(added.calls)
            if self._work.stopped:
                break
        notes = (f"{left_out} recorded results are not whole; they were left out.",) if left_out else ()
        state: State = "stopped" if self._work.stopped else "counted" if total else "known"
        return SourceReport(source.name, state, Found(observations=total), notes=notes)

    async def _add_own(self, batch: Batch) -> Batch:
        """Store what was learned from calls of ours, but for those that a gateway, or another backfill, was faster with."""
        while batch.calls:
            taken = await self._work.store.add_learned(
                LEARNED_ORIGIN,
                batch.shapes,
                lineage=batch.lineage,
                observed_calls=[call.id for call in batch.calls],
            )
            if not taken:
                break
            batch = await asyncio.to_thread(batch.without, taken, self._work.rules)
        return batch


def _drift(
    before: Sequence[StoredShape], learned: Mapping[ToolKey, Learned], rules: Rules
) -> tuple[DriftEvent, ...]:
    """Say what history tells otherwise than what had settled before it was read."""
    rows: dict[tuple[str, str], list[StoredShape]] = {}
    for row in before:
        rows.setdefault((row.server, row.tool), []).append(row)
    # Where nobody knew the definition, it counts for the one that it turned out to be.
    known = {
        key: merged(row for row in rows.get(key[:2], ()) if row.definition_hash in {key.definition_hash, ""})
        for key in learned
    }
    return compare(known, learned, enums=rules.values, origin=LEARNED_ORIGIN).drift


async def _wait(tasks: Iterable[asyncio.Task[Any]], until: str) -> None:
    waiting = list(tasks)
    if waiting:
        await asyncio.wait(waiting, return_when=until)
        # For what is called when a task is done to be called.
        await asyncio.sleep(0)
