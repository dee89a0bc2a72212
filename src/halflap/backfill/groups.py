"""Small files, many at a time: to put together what each tells would take longer than to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.backfill.kernel import learn_files
from halflap.backfill.learner import MOST_TOOLS
from halflap.backfill.opening import damage
from halflap.backfill.passes import Pass, RefusedError
from halflap.core.errors import BackfillError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.backfill.identity import Mark
    from halflap.backfill.sources import Look, Source
    from halflap.backfill.summary import SourceReport
    from halflap.backfill.work import Work

__all__ = ["Group", "is_alike"]

_SMALL = 1 << 20
_LARGEST = 8 << 20
_MOST = 200


def is_alike(head: bytes, others: Iterable[bytes]) -> bool:
    """Say whether what begins so may be the same as one of the others, or the beginning of it."""
    own = _open(head)
    return any(own.startswith(other) or other.startswith(own) for other in map(_open, others))


def _open(head: bytes) -> bytes:
    """Give the beginning of a log without the end of an array: one that goes on has more items there."""
    return head.rstrip(b" \t\r\n]")


class Group:
    """Small files of which none can be another, read by one worker as if they were one."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._files: list[tuple[Source, Look]] = []
        self._size = 0
        self.heads: list[bytes] = []

    def __bool__(self) -> bool:
        return bool(self._files)

    def takes(self, source: Source, head: bytes) -> bool:
        """Say whether a file can be one of this group."""
        return (
            source.kind == "file"
            and source.size <= _SMALL
            and self._size + source.size <= _LARGEST
            and len(self._files) < _MOST
            # At the first bad line nothing of its source is stored: each is read by itself.
            and not self._work.strict
            and not is_alike(head, self.heads)
        )

    def add(self, source: Source, look: Look) -> None:
        self._files.append((source, look))
        self._size += source.size
        self.heads.append(look.head)

    async def read(self) -> list[SourceReport]:
        """Read all of them; if something is the matter with one, each by itself."""
        done = await self._together() if len(self._files) > 1 else None
        if done is None:
            done = [await Pass(self._work, source).read(look) for source, look in self._files]
        return done

    async def _together(self) -> list[SourceReport] | None:
        work = self._work
        passes: list[Pass | None] = []
        wanted: list[Pass] = []
        files: list[tuple[str, bool, int]] = []
        try:
            for source, look in self._files:
                one = Pass(work, source)
                unread = await self._begun(one, look)
                passes.append(None if unread is None else one)
                if unread:
                    wanted.append(one)
                    files.append((source.name, look.document, one.position))
            found, learned = await work.workers.run(learn_files, files, work.rules)
        except (OSError, BackfillError, EOFError):
            return None
        except damage():
            return None
        if len(learned.shapes) > MOST_TOOLS:
            return None
        if not all(one.take_from_group(stretch) for one, stretch in zip(wanted, found, strict=True)):
            return None
        marks: dict[str, Mark] = {}
        for one in wanted:
            marks |= one.marked()
        await work.keep(marks, learned, [read for one in wanted for read in one.read_from])
        return [
            await Pass(work, source).read(look) if done is None else done.report()
            for done, (source, look) in zip(passes, self._files, strict=True)
        ]

    @staticmethod
    async def _begun(one: Pass, look: Look) -> bool | None:
        """Say whether there is something to read in a file; None if it has to be read by itself."""
        try:
            unread = await one.begin(look)
        except RefusedError:
            return None
        return unread if one.is_plain or not unread else None
