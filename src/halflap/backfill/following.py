"""Follow values through the runs that a log tells of, also where a run was cut by a range of bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from zlib import crc32

from halflap.graph.lineage import Trails

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping
    from typing import BinaryIO

    from halflap.graph.lineage import Lineage
    from halflap.store import ToolKey

__all__ = ["Following", "run_of", "told_before"]

_RUNS = ("run", "run_id", "session", "session_id", "sessionId", "conversation_id", "trace_id")
_LONGEST_LABEL = 200
_NEAR = 64 << 10
_FARTHEST = 1 << 20
"""So far before a range is looked for the beginning of the run that goes on in it, and for other runs beside it."""
_BLOCK = 32 << 10


def run_of(record: Any) -> str | int | None:
    """Say which run a record belongs to, if it does."""
    if type(record) is dict:
        for key in _RUNS:
            said = record.get(key)
            if (type(said) is str and 0 < len(said) <= _LONGEST_LABEL) or type(said) is int:
                return said
    return None


class Following:
    """Follows the runs of one log after the other."""

    def __init__(self, salt: bytes, every: int = 1) -> None:
        self._trails = Trails(salt)
        self._every = every
        self._log = 0
        self._now = 0

    def takes(self, run: Hashable) -> bool:
        """Say whether a run is one of those that are followed: the same ones, wherever a log is cut."""
        return self._every == 1 or crc32(repr(run).encode(errors="replace")) % self._every == 0

    def next_log(self) -> None:
        """Go on with another log: a run of the same name is another one."""
        self._log += 1
        self._trails.forget()

    def take(self) -> Lineage:
        """Give what was counted."""
        return self._trails.take()

    def asked(
        self, run: Hashable, tool: ToolKey, arguments: Mapping[str, Any], order: int | None, *, counting: bool
    ) -> None:
        """Take what a call was given; `order` is its number in the run, where it has one."""
        at = self._time(order, 0)
        name = self._name(run, order)
        self._trails.asked(name, tool, arguments, at, order=order, counting=counting)

    def answered(self, run: Hashable, tool: ToolKey, value: Any, order: int | None) -> None:
        """Take what came of it."""
        self._trails.answered(self._name(run, order), tool, value, self._time(order, 1))

    def _name(self, run: Hashable, order: int | None) -> Hashable:
        # Calls with and without a number cannot be put into one order.
        return self._log, run, order is None

    def _time(self, order: int | None, later: int) -> int:
        if order is not None:
            return 2 * order + later
        self._now += 1
        return self._now


def told_before(file: BinaryIO, start: int) -> list[Any]:
    """Give the records right before a place in a log, if a run may go on there: all of that run, within bounds."""
    file.seek(start)
    run = run_of(_record(file.readline(_FARTHEST)))
    if run is None:
        return []
    found: list[Any] = []
    size = 0
    for line in _lines_before(file, start):
        size += len(line)
        record = _record(line)
        if size > _NEAR and run_of(record) != run:
            break
        found.append(record)
    return found[::-1]


def _record(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _lines_before(file: BinaryIO, start: int) -> Iterator[bytes]:
    """Give the whole lines before a place, the last first."""
    end = max(0, start - _FARTHEST)
    at, rest = start, b""
    while at > end:
        size = min(_BLOCK, at - end)
        at -= size
        file.seek(at)
        *lines, rest = reversed((file.read(size) + rest).split(b"\n"))
        yield from (line for line in lines if line)
    if at == 0 and rest:
        yield rest
