"""Which logs were read before, and how far: a log is recognised by its content, not by its name.

Each log belongs to an origin named after its first line. The origin's watermark lists the logs that begin with this
line: how many bytes of each were counted, and the hash of those bytes. Reading further changes the watermark in
the same transaction as what was learned, and only if it is still what was read before, so nothing is counted twice.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.backfill.logfile import LogFile

__all__ = ["ORIGIN_PREFIX", "Mark", "find_mark", "marks_from_text", "marks_to_text", "origin_of", "with_mark"]

ORIGIN_PREFIX = "backfill:"
_MAX_MARKS = 200
"""Marks kept of the logs with one first line, the newest."""


class Mark(NamedTuple):
    """How far a log was counted."""

    bytes: int
    lines: int
    digest: str
    """SHA-256 of these bytes, unpacked."""
    server: str = ""
    """The `--server` under which tools without a server were counted."""


_MARKS = TypeAdapter(tuple[Mark, ...])


def origin_of(first_line: bytes) -> str:
    return ORIGIN_PREFIX + sha256(first_line.strip()).hexdigest()[:32]


def marks_to_text(marks: Sequence[Mark]) -> str:
    return _MARKS.dump_json(tuple(marks)).decode()


def marks_from_text(text: str) -> tuple[Mark, ...]:
    try:
        return _MARKS.validate_json(text)
    except ValidationError:
        return ()  # written by another version; its logs count as new


def with_mark(marks: Sequence[Mark], now: Mark) -> tuple[Mark, ...]:
    """Return the marks with another one; earlier ones stay, so that a shorter copy of a log is recognised."""
    return (*marks, now)[-_MAX_MARKS:]


def find_mark(log: LogFile, marks: Sequence[Mark]) -> tuple[Mark | None, Any]:
    """Return the mark that covers most of the beginning of a log, and the state of the hash up to there."""
    found: Mark | None = None
    sha, position = sha256(), 0
    best = sha.copy()
    waiting = sorted(marks, reverse=True)
    for line in log.lines() if marks else ():
        # A mark may lie right before the line break of a last line that was not finished then.
        while waiting and waiting[-1].bytes <= position + len(line):
            mark = waiting.pop()
            here = sha.copy()
            here.update(line[: mark.bytes - position])
            if here.hexdigest() == mark.digest:
                found, best = mark, here
        if not waiting:
            break
        sha.update(line)
        position += len(line)
    return found, best
