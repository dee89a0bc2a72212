"""What all passes of a run share, and how what they learn is stored: soon, together, with how far each is."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from halflap.backfill.found import merge_broken
from halflap.backfill.identity import Known, identify
from halflap.backfill.opening import damage
from halflap.backfill.own import LEARNED_ORIGIN
from halflap.backfill.sources import look_at
from halflap.core.errors import BackfillError, StoreAheadError
from halflap.graph.lineage import NO_LINEAGE
from halflap.store import Breach, WatermarkChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.backfill.broken import Places
    from halflap.backfill.found import Found
    from halflap.backfill.identity import Mark
    from halflap.backfill.rules import Rules
    from halflap.backfill.workers import Workers
    from halflap.graph.lineage import Lineage
    from halflap.learn import Learned
    from halflap.store import Store, ToolKey

__all__ = ["Read", "Work", "breaches_of", "merge_into"]

_SECONDS_BEFORE_WRITING = 2.0


class Read(NamedTuple):
    """A source that something was learned from: where it can be read again, if it can, and how it begins."""

    path: str | None
    head: bytes


class _UnseenError(Exception):
    """Somebody else has begun to count logs meanwhile."""

    def __init__(self, marks: Mapping[str, Mark]) -> None:
        super().__init__()
        self.marks = marks


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
    unwritten_broken: dict[ToolKey, Places] = field(default_factory=dict)
    unwritten_lineage: Lineage = NO_LINEAGE
    broken: dict[ToolKey, Places] = field(default_factory=dict)
    """All declarations that results broke, in this run."""
    sources: dict[str, WatermarkChange] = field(default_factory=dict)
    read: list[Read] = field(default_factory=list)
    """What these are."""
    written_at: float = field(default_factory=time.monotonic)
    writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    def stop(self) -> None:
        self.stopped = True
        with contextlib.suppress(AttributeError):
            self.workers.control.stop()

    async def keep(self, marks: Mapping[str, Mark], found: Found, read: Sequence[Read]) -> None:
        """Have something stored, soon, with how far its sources were read."""
        for origin, mark in marks.items():
            before = self.sources[origin].before if origin in self.sources else self.known.text(origin)
            self.known.put(origin, mark)
            self.sources[origin] = WatermarkChange(before, mark.to_text())
        self.read += read
        merge_into(self.unwritten, found.shapes)
        self.unwritten_broken = merge_broken(self.unwritten_broken, found.broken)
        self.unwritten_lineage = self.unwritten_lineage.merge(found.lineage)
        if time.monotonic() - self.written_at > _SECONDS_BEFORE_WRITING:
            await self.write()

    async def write(self) -> None:
        """Store what is not stored yet, as one."""
        async with self.writing:
            shapes, sources, broken = self.unwritten, self.sources, self.unwritten_broken
            lineage, self.unwritten_lineage = self.unwritten_lineage, NO_LINEAGE
            read, self.read = self.read, []
            self.unwritten, self.sources, self.unwritten_broken = {}, {}, {}
            self.written_at = time.monotonic()
            await asyncio.to_thread(merge_into, self.learned, shapes)
            self.broken = merge_broken(self.broken, broken)
            if sources and not self.dry_run:
                add = partial(
                    self.store.add_learned, LEARNED_ORIGIN, shapes, lineage=lineage, sources=sources
                )
                while True:
                    try:
                        await add(check=self._look)
                        break
                    except _UnseenError as unseen:
                        # Not within the transaction, which others wait for: to read it again may take long.
                        await asyncio.to_thread(_refuse_same, read, unseen.marks)
                        for origin, mark in unseen.marks.items():
                            self.known.put(origin, mark)
                await self.store.add_breaches(breaches_of(broken))

    def _look(self, watermarks: Mapping[str, str]) -> None:
        unseen = self.known.unseen(watermarks)
        if unseen:
            raise _UnseenError(unseen)


def _refuse_same(read: Sequence[Read], marks: Mapping[str, Mark]) -> None:
    """See to it that nothing that was read is what somebody else has begun to count, whichever is further."""
    others = Known({origin: mark.to_text() for origin, mark in marks.items()})
    for one in read:
        if _is_among(one, others):
            raise StoreAheadError(
                "What was read has been counted meanwhile, by somebody else. Nothing of it was added; run it again."
            )


def _is_among(read: Read, others: Known) -> bool:
    if read.path is not None:
        with contextlib.suppress(OSError, BackfillError, *damage()):
            # It may have grown since, and the others have read more of it.
            candidates = others.candidates(look_at(read.path).head)
            return identify(read.path, candidates).counted is not None
    # What cannot be read again may be the same if it begins alike.
    return bool(others.candidates(read.head))


def breaches_of(broken: Mapping[ToolKey, Places]) -> list[Breach]:
    """Write broken declarations as the store keeps them; what has no time is of now."""
    now = time.time()
    return [
        Breach(
            *key,
            path=path,
            expected=one.expected,
            first_at=now if one.first is None else one.first,
            last_at=now if one.last is None else one.last,
            times=one.times,
            origin=LEARNED_ORIGIN,
        )
        for key, places in sorted(broken.items())
        for path, one in places.items()
    ]


def merge_into(known: dict[ToolKey, Learned], shapes: Mapping[ToolKey, Learned]) -> None:
    """Add to what is known."""
    for key, learned in shapes.items():
        before = known.get(key)
        known[key] = learned if before is None else before.merge(learned)
