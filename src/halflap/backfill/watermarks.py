"""Which logs were read before, and how far: a log is recognised by its content, not by its name.

Each log belongs to an origin named after its first line. The origin's watermark lists the logs that begin with this
line: how many bytes of each were counted, and what identifies it up to there. Reading further changes the watermark in
the same transaction as what was learned, and only if it is still what was read before, so nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    from halflap.backfill.logfile import LogFile

__all__ = ["ORIGIN_PREFIX", "Mark", "find_mark", "marks_from_text", "marks_to_text", "origin_of"]

ORIGIN_PREFIX = "backfill:"


class Mark(NamedTuple):
    """How far a log was counted."""

    bytes: int
    digest: str
    """Identifies the log up to there."""
    server: str = ""
    """The `--server` under which tools without a server were counted."""


_MARKS = TypeAdapter(tuple[Mark, ...])


def origin_of(log: LogFile) -> str:
    return ORIGIN_PREFIX + sha256(log.first_line.strip()).hexdigest()[:32]


def marks_to_text(marks: Sequence[Mark]) -> str:
    return _MARKS.dump_json(tuple(marks)).decode()


def marks_from_text(text: str) -> tuple[Mark, ...]:
    try:
        return _MARKS.validate_json(text)
    except ValidationError:
        return ()  # written by another version; its logs count as new


def find_mark(log: LogFile, marks: Sequence[Mark]) -> Mark | None:
    """Return the mark that covers most of a log."""
    possible = sorted(mark for mark in marks if mark.bytes <= log.end)
    digests = log.digests([mark.bytes for mark in possible]) if possible else ()
    found = [mark for mark, digest in zip(possible, digests, strict=True) if mark.digest == digest]
    return found[-1] if found else None
