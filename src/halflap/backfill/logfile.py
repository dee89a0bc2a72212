"""Log files as lines of JSON, and the positions up to which they were read before.

A log is recognised by its content, not its name. Its origin is named after its first line. The watermark of an origin
lists the logs that begin with that line: the bytes read of each, and a hash that identifies the log up to that position.
A watermark is updated in the same transaction as the knowledge, and only if no other process changed it, so nothing is
counted twice.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from typing import BinaryIO, NamedTuple, cast

from pydantic import TypeAdapter, ValidationError

from halflap.core.errors import BackfillError

ORIGIN_PREFIX = "backfill:"
MAX_LINE = 32 << 20
"""A longer line is skipped."""
_MAX_DOCUMENT = 64 << 20
_CHUNK = 1 << 20
_SAMPLE = 1 << 16
"""Bytes hashed at the start and before a position to identify a log up to there; logs are append-only."""
UNREADABLE = (OSError, BackfillError, EOFError, zlib.error)
"""Errors that mean a log cannot be read."""


def reason_of(error: BaseException) -> str:
    reason = str(getattr(error, "strerror", None) or error) or type(error).__name__
    if isinstance(error, EOFError):
        reason += ". To read what is intact: zcat FILE | halflap backfill -"
    return reason


class Mark(NamedTuple):
    """A position up to which a log was read."""

    bytes: int
    digest: str
    """Identifies the log up to that position."""


_MARKS = TypeAdapter(list[Mark])


def marks_to_text(marks: Sequence[Mark]) -> str:
    return json.dumps(marks)


def marks_from_text(text: str) -> list[Mark]:
    try:
        return _MARKS.validate_json(text)
    except ValidationError:
        return []  # written by another version; its logs count as new


class LogFile:
    """A log, from its first to its last complete line.

    A JSON document is read as one line per item, so that one that was rewritten with more items is recognised as the
    same log that has grown. Raises one of UNREADABLE.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:  # noqa: PTH123 -- bytes only
            self._is_packed = file.read(2) == b"\x1f\x8b"
        self._document: bytes | None = None
        self._document = self._read_document()
        self.can_split = not self._is_packed and self._document is None

    @cached_property
    def end(self) -> int:
        """The end of the last complete line; anything after it is still being written."""
        position = last_break = 0
        tail = b""
        with self.open() as file:
            if self.can_split:
                position = last_break = max(0, file.seek(0, io.SEEK_END) - MAX_LINE)
                file.seek(position)
            while chunk := file.read(_CHUNK):
                cut = chunk.rfind(b"\n") + 1
                tail = chunk[cut:] if cut else tail[: MAX_LINE + 1] + chunk
                last_break = position + cut if cut else last_break
                position += len(chunk)
        return position if _is_json(tail) else last_break

    @cached_property
    def origin(self) -> str:
        with self.open() as file:
            first = file.readline(MAX_LINE)
            while first and not first.strip():
                first = file.readline(MAX_LINE)
        return ORIGIN_PREFIX + sha256(first.strip()).hexdigest()[:32]

    def mark(self, position: int) -> Mark:
        """Return the mark for a position."""
        with self.open() as file:
            head = file.read(min(position, _SAMPLE))
            file.seek(max(0, position - _SAMPLE))
            tail = file.read(min(position, _SAMPLE))
        return Mark(position, sha256(b"%d:" % position + head + tail).hexdigest())

    def known(self, marks: Sequence[Mark]) -> int:
        """Return how many bytes of the log the marks cover."""
        possible = (mark for mark in sorted(marks, reverse=True) if mark.bytes <= self.end)
        return next((mark.bytes for mark in possible if mark == self.mark(mark.bytes)), 0)

    def open(self) -> BinaryIO:
        """Open the unpacked log; it can be read from any position."""
        if self._document is not None:
            return io.BytesIO(self._document)
        if self._is_packed:
            return cast("BinaryIO", gzip.open(self.path))
        return open(self.path, "rb", buffering=_CHUNK)  # noqa: PTH123 -- as above

    def lines(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the lines between two positions, cutting lines that are longer than MAX_LINE to just above it."""
        with self.open() as file:
            file.seek(start)
            while start < end and (line := file.readline(min(end - start, MAX_LINE + 1))):
                start += len(line)
                yield line
                while len(line) > MAX_LINE and not line.endswith(b"\n") and start < end:
                    rest = file.readline(min(end - start, _CHUNK))
                    start += len(rest)
                    line = rest if rest.endswith(b"\n") else line

    def line_number(self, position: int) -> int:
        """Return the number of the line at a position, counted from 1."""
        number = 1
        with self.open() as file:
            while position > 0 and (chunk := file.read(min(position, _CHUNK))):
                position -= len(chunk)
                number += chunk.count(b"\n")
        return number

    def line_start(self, position: int) -> int:
        """Return the start of the first line at or after this position."""
        with self.open() as file:
            file.seek(max(0, position - 1))
            while position < self.end:
                line = file.readline(_CHUNK)
                position = file.tell()
                if not line or line.endswith(b"\n"):
                    break
        return min(position, self.end)

    def _read_document(self) -> bytes | None:
        """Read a JSON document that spans several lines; None if this is not one."""
        with self.open() as file:
            first = file.readline(MAX_LINE)
            begins = first.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"["}
            if not begins or len(first) >= MAX_LINE or _is_json(first):
                return None
            data = first + file.read(_MAX_DOCUMENT)
        if len(data) > _MAX_DOCUMENT:
            if first.strip() in {b"{", b"["}:
                raise BackfillError(
                    f"It is a JSON document of more than {_MAX_DOCUMENT >> 20} MB. Convert it to JSON lines: "
                    "jq -c '.[]' FILE"
                )
            return None
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return None
        items = document if isinstance(document, list) else [document]
        return b"".join(json.dumps(item, separators=(",", ":")).encode() + b"\n" for item in items)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
