"""One pass over one source: found to be what it is, read from where it was left, stored with how far it was read."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import time
from collections import deque
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.backfill.found import NOTHING_FOUND, Found, Tree
from halflap.backfill.identity import Mark, head_of, identify, place_of
from halflap.backfill.kernel import learn_range, learn_stream
from halflap.backfill.learner import MOST_TOOLS
from halflap.backfill.opening import ranges
from halflap.backfill.sources import HEAD, look_at
from halflap.backfill.stream import read_stream
from halflap.backfill.summary import SourceReport
from halflap.backfill.work import Read
from halflap.core.errors import BackfillError
from halflap.graph.lineage import NO_LINEAGE

if TYPE_CHECKING:
    from halflap.backfill.found import Counted, Stretch
    from halflap.backfill.sources import Look, Source
    from halflap.backfill.summary import State
    from halflap.backfill.work import Work

__all__ = ["Pass", "RefusedError", "said"]

_LONGEST_RANGE, _SHORTEST_RANGE = 32 << 20, 1 << 20
_RANGES_PER_WORKER = 4
_SECONDS_BETWEEN_WRITES = 10.0
"""Of a large source, so often is stored what is done of it."""
_CHUNK = 1 << 20
_STRICT = "There is a line that cannot be read; nothing more of this source was stored (--strict)."


class RefusedError(Exception):
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
        self._rules = work.rules
        self._caught_up = False
        """Whether that is counted now of the part that was counted before, which was missing."""
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
        except RefusedError as refused:
            return self._report("refused", str(refused))
        except (OSError, BackfillError) as error:
            # What came before the trouble is as good as any.
            with contextlib.suppress(RefusedError):
                self._judge()
                await self._store()
            return self._report("failed", said(error))
        return self.report()

    def report(self) -> SourceReport:
        """Say what came of it, where nothing went wrong."""
        if self._total.cut_short:
            return self._report("stopped")
        new = self._position > self._begun.bytes or self._total.bad_count or self._total.observations
        return self._report("counted" if new or not self._begun.bytes else "known")

    async def begin(self, look: Look) -> bool:
        """Find out which log it is, and how far it was counted; False if there is nothing more in it to count."""
        self._head = look.head
        path = await asyncio.to_thread(lambda: str(Path(self._source.name).resolve()))
        self._place = place_of(path, self._work.rules.salt)
        candidates = self._work.known.candidates(look.head)
        found = await asyncio.to_thread(identify, self._source.name, candidates)
        self._sha = found.sha
        if found.counted is not None:
            self._go_on_from(found.counted, found.length)
        elif self._work.known.has_place(self._place):
            self._notes.append("It is not what was counted from here before: it counts as a new source.")
        if found.is_whole and not self.is_behind:
            self._work.workers.control.advance(self._source.size)
            return False
        return True

    @property
    def is_behind(self) -> bool:
        """Whether there is something to count in the part that was counted before."""
        return self._begun.without != self._begun.left(self._work.rules)

    @property
    def is_plain(self) -> bool:
        """Whether it is read by the same rules as any other."""
        return self._rules == self._work.rules

    @property
    def position(self) -> int:
        """How far it is counted."""
        return self._position

    def take_from_group(self, stretch: Stretch) -> bool:
        """Take what was found in it, without shapes; False if it has to be looked at by itself."""
        try:
            self._take_stretch(stretch)
            self._judge()
        except RefusedError:
            return False
        return len(self._head) >= min(self._position, HEAD)

    @property
    def read_from(self) -> list[Read]:
        """What was read, to look at it again."""
        return [Read(self._source.name if self._source.kind == "file" else None, self._head)]

    def marked(self) -> dict[str, Mark]:
        """Say how far it is read now; nothing if that is no more than before."""
        if self._position <= self._begun.bytes and not self._caught_up:
            return {}
        digest = self._sha if isinstance(self._sha, str) else self._sha.hexdigest()
        self._origin = self._origin or self._work.known.fresh(digest)
        total, begun = self._total, self._begun
        # Of what was left out before, that is still left out which could not be counted now, either.
        without = begun.left(self._work.rules) if self._caught_up else begun.without
        bad = (one for one in total.bad if one.line <= total.lines)
        return {
            self._origin: Mark(
                self._position,
                total.lines,
                digest,
                head_of(self._head, self._position),
                self._place,
                self._rules.server or "" if total.bare else begun.server,
                without | {("", "")} if total.nameless else without,
                begun.bad or next(bad, None),
                begun.former_ends if self._position > begun.bytes else begun.ends,
            )
        }

    def _go_on_from(self, counted: Counted, length: int) -> None:
        self._origin = counted.origin
        self._begun = begun = self._work.known.mark(counted.origin).at(counted, length)
        self._position = begun.bytes
        self._total = Found(lines=begun.lines)
        given = self._work.rules.server
        if given and begun.server and given != begun.server:
            raise RefusedError(
                f"The tools that it names without a server were counted as those of {begun.server!r}. To count them as "
                f"those of {given!r}, take that back first: halflap schema forget --server {shlex.quote(begun.server)} "
                "--origin backfill"
            )
        if self._work.strict and begun.bad is not None:
            self._total = replace(self._total, bad=(begun.bad,), bad_count=1)
            self._work.stop()
            raise RefusedError(_STRICT)
        self._rules = begun.rules_for(self._work.rules)
        if begun.left(self._work.rules):
            self._notes.append(
                "Results of tools without a server were left out of it. Say whose they are: --server NAME"
            )

    async def _in_ranges(self) -> bool:
        """Read a plain file range by range, side by side; False if it has to be read in order."""
        if not self.is_behind:
            self._work.workers.control.advance(self._position)
        elif not await self._read_ranges(0, self._begun.bytes, again=True) or not self._caught_up:
            self._give_up_behind()
            return self._total.cut_short
        if await self._read_ranges(self._position, self._source.size):
            return True
        if self._caught_up:
            self._give_up_behind()
        return False

    async def _read_ranges(self, start: int, end: int, *, again: bool = False) -> bool:
        work, path = self._work, self._source.name
        share = (end - start) // (_RANGES_PER_WORKER * work.workers.jobs)
        step = min(_LONGEST_RANGE, max(_SHORTEST_RANGE, share))
        cuts = deque(await asyncio.to_thread(lambda: list(ranges(path, start, end, step))))
        waiting: deque[tuple[int, asyncio.Task[Found]]] = deque()
        rules = self._rules.of_size(self._source.size)
        try:
            while (cuts or waiting) and not (work.stopped and not waiting):
                while cuts and len(waiting) <= work.workers.jobs and not work.stopped:
                    begin, stop = cuts.popleft()
                    reading = work.workers.run(learn_range, path, begin, stop, rules, again=again)
                    waiting.append((stop - begin, asyncio.create_task(reading)))
                length, task = waiting.popleft()
                found = await task
                if found.needs_order:
                    return False
                await self._take_range(found, again=again)
                if found.bytes < length:
                    break
            else:
                self._caught_up = self._caught_up or (again and not cuts)
            if cuts and work.stopped:
                self._total = replace(self._total, cut_short=True)
        finally:
            for _, task in waiting:
                task.cancel()
            if waiting:
                await asyncio.wait([task for _, task in waiting])
        return True

    async def _take_range(self, found: Found, *, again: bool) -> None:
        if again:
            self._take(replace(found, bytes=0, lines=0))
            return
        await asyncio.to_thread(self._hash, found.bytes)
        self._take(found)
        is_time = time.monotonic() - self._stored_at > _SECONDS_BETWEEN_WRITES
        # What was missing is stored when all of it is there: there is no mark for a part of it.
        if is_time and not self._work.strict and not self.is_behind:
            await self._store()

    def _give_up_behind(self) -> None:
        """Begin where it was left: of what was counted before, all that is missing counts, or nothing."""
        self._tree, self._caught_up = Tree(), False
        self._position = self._begun.bytes
        self._total = Found(lines=self._begun.lines, cut_short=self._total.cut_short)

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
        rules = self._rules.of_size(self._source.size)
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
            read_stream, self._source.name, work.rules, work.known, work.workers.control
        )
        if stretch.known is not None:
            self._go_on_from(stretch.known, stretch.counted)
        self._take_stretch(stretch)
        if work.stopped:
            self._total = replace(self._total, cut_short=True)

    def _take_stretch(self, stretch: Stretch) -> None:
        self._take(stretch.found)
        if stretch.position >= self._position:
            self._sha = stretch.digest
            self._position = stretch.position
            self._caught_up = self.is_behind
        elif self.is_behind:
            self._give_up_behind()

    def _take(self, found: Found) -> None:
        self._tree.add(found)
        self._total = self._total.merge(replace(found, shapes={}, broken={}, lineage=NO_LINEAGE))
        self._position += found.bytes
        if self._work.strict and self._total.bad_count:
            self._work.stop()
            raise RefusedError(_STRICT)
        if found.crowded:
            raise RefusedError(f"It names more than {MOST_TOOLS:,} tools: that is no log of calls.")

    def _judge(self) -> None:
        if self._total.nameless and not self._total.observations:
            raise RefusedError("It names tools without their server. Say whose they are: --server NAME")

    async def _store(self) -> None:
        """Store what was found since the last time, and how far that is, as one."""
        self._stored_at = time.monotonic()
        if not self._total.observations and self._total.nameless:
            return
        found = self._tree.whole()
        self._tree = Tree()
        if len(found.shapes) > MOST_TOOLS:
            raise RefusedError(f"It names more than {MOST_TOOLS:,} tools: that is no log of calls.")
        marks = self.marked()
        if marks and (found.bytes or self._caught_up):
            await self._work.keep(marks, found, self.read_from)

    def _report(self, state: State, problem: str | None = None) -> SourceReport:
        begun = self._begun
        total = replace(self._total, lines=self._total.lines - begun.lines)
        skipped = begun.bytes
        if self._caught_up:
            # All of it was read, and looked at for what was missing.
            total, skipped = replace(total, bytes=total.bytes + begun.bytes), 0
        return SourceReport(self._source.name, state, total, skipped, problem, tuple(self._notes))


def said(error: BaseException) -> str:
    """Give what an error says, for a sentence of ours."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
