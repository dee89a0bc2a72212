"""One pass over one source: found to be what it is, read from where it was left, stored with how far it was read."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.backfill.found import NOTHING_FOUND, Found, Tree
from halflap.backfill.identity import Known, Mark, head_of, identify, place_of
from halflap.backfill.kernel import MOST_TOOLS, learn_range, learn_stream
from halflap.backfill.opening import ranges
from halflap.backfill.own import LEARNED_ORIGIN
from halflap.backfill.sources import HEAD, look_at
from halflap.backfill.stream import read_stream
from halflap.backfill.summary import SourceReport
from halflap.errors import BackfillError
from halflap.graph.lineage import NO_LINEAGE
from halflap.store import Advance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.backfill.found import Stretch
    from halflap.backfill.rules import Rules
    from halflap.backfill.sources import Look, Source
    from halflap.backfill.summary import State
    from halflap.backfill.workers import Workers
    from halflap.graph.lineage import Lineage
    from halflap.learn import Learned
    from halflap.store import Store, ToolKey

__all__ = ["Pass", "Work", "merge_into", "said"]

_LONGEST_RANGE, _SHORTEST_RANGE = 32 << 20, 1 << 20
_RANGES_PER_WORKER = 4
_SECONDS_BETWEEN_WRITES = 10.0
"""Of a large source, so often is stored what is done of it."""
_SECONDS_BEFORE_WRITING = 2.0
_CHUNK = 1 << 20


@dataclass(slots=True)
class Work:
    """What all passes of a run share."""

    store: Store
    rules: Rules
    strict: bool = False
    dry_run: bool = False
    known: Known = field(default_factory=lambda: Known({}))
    workers: Workers = field(init=False)
    learned: dict[ToolKey, Learned] = field(default_factory=dict)
    """All that was learned in this run."""
    stopped: bool = False
    unwritten: dict[ToolKey, Learned] = field(default_factory=dict)
    """What was learned and is not stored yet, and from what: many small sources are stored at once."""
    unwritten_lineage: Lineage = NO_LINEAGE
    sources: dict[str, Advance] = field(default_factory=dict)
    written_at: float = field(default_factory=time.monotonic)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def stop(self) -> None:
        self.stopped = True
        with contextlib.suppress(AttributeError):
            self.workers.control.stop()

    async def keep(
        self, marks: Mapping[str, Mark], shapes: Mapping[ToolKey, Learned], lineage: Lineage
    ) -> None:
        """Have something stored, soon, with how far its sources were read."""
        for origin, mark in marks.items():
            before = self.sources[origin].before if origin in self.sources else self.known.text(origin)
            self.known.put(origin, mark)
            self.sources[origin] = Advance(before, mark.to_text())
        merge_into(self.unwritten, shapes)
        self.unwritten_lineage = self.unwritten_lineage.merge(lineage)
        if time.monotonic() - self.written_at > _SECONDS_BEFORE_WRITING:
            await self.write()

    async def write(self) -> None:
        """Store what is not stored yet, as one."""
        async with self.writing:
            shapes, sources, lineage = self.unwritten, self.sources, self.unwritten_lineage
            self.unwritten, self.sources, self.unwritten_lineage = {}, {}, NO_LINEAGE
            self.written_at = time.monotonic()
            await asyncio.to_thread(merge_into, self.learned, shapes)
            if sources and not self.dry_run:
                await self.store.add_learned(LEARNED_ORIGIN, shapes, lineage=lineage, sources=sources)


def merge_into(known: dict[ToolKey, Learned], shapes: Mapping[ToolKey, Learned]) -> None:
    """Add to what is known."""
    for key, learned in shapes.items():
        before = known.get(key)
        known[key] = learned if before is None else before.merge(learned)


class _RefusedError(Exception):
    """Nothing more of this source is stored."""


class Pass:
    """A pass over one source."""

    def __init__(self, work: Work, source: Source) -> None:
        self._work = work
        self._source = source
        self._origin: str | None = None
        self._head = b""
        self._place = ""
        self._begun = Mark(0, 0, "", "")
        """Where it was left before."""
        self._position = 0
        self._sha: Any = sha256()
        self._tree = Tree()
        """What was found and is not yet stored."""
        self._total = NOTHING_FOUND
        """All that was found, without shapes."""
        self._stored_at = time.monotonic()
        self._notes: list[str] = []

    async def read(self, look: Look | None) -> SourceReport:
        """Read it; `look` is what is known of a file."""
        try:
            if look is None:
                await self._stream()
            elif await self.begin(look) and (
                look.packing != "plain" or look.document or not await self._in_ranges()
            ):
                await self._in_order(document=look.document)
            self._judge()
            await self._store()
        except _RefusedError as refused:
            return self._report("refused", str(refused))
        except (OSError, BackfillError) as error:
            # What came before the trouble is as good as any.
            with contextlib.suppress(_RefusedError):
                self._judge()
                await self._store()
            return self._report("failed", said(error))
        return self.report()

    def report(self) -> SourceReport:
        """Say what came of it, where nothing went wrong."""
        if self._total.cut_short:
            return self._report("stopped")
        new = self._position > self._begun.bytes or self._total.bad_count
        return self._report("counted" if new or not self._begun.bytes else "known")

    async def begin(self, look: Look) -> bool:
        """Find out which log it is, and how far it was counted; False if there is nothing more in it."""
        self._head = look.head
        path = await asyncio.to_thread(lambda: str(Path(self._source.name).resolve()))
        self._place = place_of(path, self._work.rules.salt)
        candidates = self._work.known.candidates(look.head)
        found = await asyncio.to_thread(identify, self._source.name, candidates)
        self._sha = found.sha
        if found.origin is not None:
            self._go_on_from(found.origin)
        elif self._work.known.has_place(self._place):
            self._notes.append("It is not what was counted from here before: it counts as a new source.")
        if found.is_whole:
            self._work.workers.control.advance(self._source.size)
        return not found.is_whole

    @property
    def position(self) -> int:
        """How far it is counted."""
        return self._position

    def take_from_group(self, stretch: Stretch) -> bool:
        """Take what was found in it, without shapes; False if it has to be looked at by itself."""
        try:
            self._take_stretch(stretch)
            self._judge()
        except _RefusedError:
            return False
        return len(self._head) >= min(self._position, HEAD)

    def marked(self) -> dict[str, Mark]:
        """Say how far it is read now; nothing if that is no further than before."""
        if self._position <= self._begun.bytes:
            return {}
        digest = self._sha if isinstance(self._sha, str) else self._sha.hexdigest()
        self._origin = self._origin or self._work.known.fresh(digest)
        head = head_of(self._head, self._position)
        return {self._origin: Mark(self._position, self._total.lines, digest, head, self._place)}

    def _go_on_from(self, origin: str) -> None:
        self._origin = origin
        self._begun = self._work.known.mark(origin)
        self._position = self._begun.bytes
        self._total = Found(lines=self._begun.lines)

    async def _in_ranges(self) -> bool:
        """Read a plain file range by range, side by side; False if it has to be read in order."""
        work, path, size = self._work, self._source.name, self._source.size
        work.workers.control.advance(self._position)
        share = (size - self._position) // (_RANGES_PER_WORKER * work.workers.jobs)
        step = min(_LONGEST_RANGE, max(_SHORTEST_RANGE, share))
        cuts = deque(await asyncio.to_thread(lambda: list(ranges(path, self._position, size, step))))
        waiting: deque[tuple[int, asyncio.Task[Found]]] = deque()
        rules = work.rules.of_size(size)
        try:
            while (cuts or waiting) and not (work.stopped and not waiting):
                while cuts and len(waiting) <= work.workers.jobs and not work.stopped:
                    start, end = cuts.popleft()
                    task = asyncio.create_task(work.workers.run(learn_range, path, start, end, rules))
                    waiting.append((end - start, task))
                length, task = waiting.popleft()
                found = await task
                if found.needs_order:
                    return False
                await asyncio.to_thread(self._hash, found.bytes)
                self._take(found)
                if found.bytes < length:
                    break
                if time.monotonic() - self._stored_at > _SECONDS_BETWEEN_WRITES and not work.strict:
                    await self._store()
            if cuts and work.stopped:
                self._total = replace(self._total, cut_short=True)
        finally:
            for _, task in waiting:
                task.cancel()
            if waiting:
                await asyncio.wait([task for _, task in waiting])
        return True

    def _hash(self, count: int) -> None:
        # A copy: if this fails, what is known is the hash of what was read before.
        sha = self._sha.copy()
        with open(self._source.name, "rb") as file:  # noqa: PTH123 -- bytes alone
            file.seek(self._position)
            while count:
                chunk = file.read(min(_CHUNK, count))
                if not chunk:
                    raise BackfillError("It became shorter while it was read. Run it again.")
                sha.update(chunk)
                count -= len(chunk)
        self._sha = sha

    async def _in_order(self, *, document: bool) -> None:
        rules = self._work.rules.of_size(self._source.size)
        stretch = await self._work.workers.run(
            learn_stream, self._source.name, rules, document=document, counted=self._position
        )
        self._take_stretch(stretch)
        if len(self._head) < min(self._position, HEAD):
            # It grew since it was looked at.
            self._head = (await asyncio.to_thread(look_at, self._source.name)).head

    async def _stream(self) -> None:
        work = self._work
        self._head, stretch = await asyncio.to_thread(
            read_stream, self._source.name, work.rules, work.known.candidates, work.workers.control
        )
        if stretch.origin is not None:
            self._go_on_from(stretch.origin)
        self._take_stretch(stretch)
        if work.stopped:
            self._total = replace(self._total, cut_short=True)

    def _take_stretch(self, stretch: Stretch) -> None:
        self._take(stretch.found)
        if stretch.position >= self._position:
            self._sha = stretch.digest
            self._position = stretch.position

    def _take(self, found: Found) -> None:
        self._tree.add(found)
        self._total = self._total.merge(replace(found, shapes={}, lineage=NO_LINEAGE))
        self._position += found.bytes
        if self._work.strict and self._total.bad_count:
            self._work.stop()
            raise _RefusedError(
                "There is a line that cannot be read; nothing of this source was stored (--strict)."
            )
        if found.crowded:
            raise _RefusedError(f"It names more than {MOST_TOOLS:,} tools: that is no log of calls.")

    def _judge(self) -> None:
        if self._total.nameless and not self._total.observations:
            raise _RefusedError("It names tools without their server. Say whose they are: --server NAME")

    async def _store(self) -> None:
        """Store what was found since the last time, and how far that is, as one."""
        self._stored_at = time.monotonic()
        if not self._total.observations and self._total.nameless:
            return
        found = self._tree.whole()
        self._tree = Tree()
        if len(found.shapes) > MOST_TOOLS:
            raise _RefusedError(f"It names more than {MOST_TOOLS:,} tools: that is no log of calls.")
        marks = self.marked()
        if marks and found.bytes:
            await self._work.keep(marks, found.shapes, found.lineage)

    def _report(self, state: State, problem: str | None = None) -> SourceReport:
        total = replace(self._total, lines=self._total.lines - self._begun.lines)
        return SourceReport(self._source.name, state, total, self._begun.bytes, problem, tuple(self._notes))


def said(error: BaseException) -> str:
    """Give what an error says, for a sentence of ours."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
