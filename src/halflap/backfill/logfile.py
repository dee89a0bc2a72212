"""Log files as lines of JSON, whatever form they have on disk: plain, gzip, or one JSON document."""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256
from typing import BinaryIO, cast

from halflap.core.errors import BackfillError

__all__ = ["MAX_LINE", "UNREADABLE", "LogFile", "reason_of"]

MAX_LINE = 32 << 20
"""A longer line is skipped."""
_MAX_DOCUMENT = 64 << 20
_CHUNK = 1 << 20
_SAMPLE = 1 << 16
"""Bytes at the beginning and before a position that identify a log up to there. Logs are only ever appended to."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile)
UNREADABLE = (OSError, BackfillError, *_DAMAGE)
"""What may be raised where a log cannot be read."""


class LogFile:
    """A log, from its first to its last complete line.

    A JSON document is read as one line per item, so that one that was rewritten with more items is recognised as the
    same log that has grown. Raises one of UNREADABLE.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._document: bytes | None = None
        with open(path, "rb") as file:  # noqa: PTH123 -- bytes only
            magic = file.read(4)
        if magic.startswith(_ZSTD):
            raise BackfillError("It is compressed with zstd. Use: zstd -dc FILE | halflap backfill -")
        if magic.startswith(_UTF_16):
            raise BackfillError("It is written in UTF-16. Convert it: iconv -f UTF-16 -t UTF-8 FILE")
        self._is_packed = magic.startswith(_GZIP)
        self._document = self._read_document()
        with self.open() as file:
            self.first_line = file.readline(MAX_LINE)
            while self.first_line and not self.first_line.strip():
                self.first_line = file.readline(MAX_LINE)
        self.can_split = not self._is_packed and self._document is None
        self.damage = ""
        """Why the data ends where it does, if it is damaged; known once `end` is."""

    @cached_property
    def end(self) -> int:
        """Where the last complete line ends; what follows is still being written."""
        position = last_break = 0
        tail = b""
        with self.open() as file:
            if self.can_split:
                position = last_break = max(0, file.seek(0, io.SEEK_END) - MAX_LINE)
                file.seek(position)
            try:
                while chunk := file.read(_CHUNK):
                    cut = chunk.rfind(b"\n") + 1
                    tail = chunk[cut:] if cut else tail[: MAX_LINE + 1] + chunk
                    last_break = position + cut if cut else last_break
                    position += len(chunk)
            except _DAMAGE as error:
                self.damage = f"the compressed data is damaged or incomplete here ({error})"
        return position if _is_json(tail) else last_break

    def open(self) -> BinaryIO:
        """Open the unpacked log; it can be read from any position."""
        if self._document is not None:
            return io.BytesIO(self._document)
        if self._is_packed:
            return cast("BinaryIO", gzip.open(self.path))
        return open(self.path, "rb", buffering=_CHUNK)  # noqa: PTH123 -- as above

    def lines(self, start: int, end: int) -> Iterator[bytes]:
        """Yield the lines between two positions; of one that is too long, the beginning and one byte more."""
        with self.open() as file:
            file.seek(start)
            while start < end and (line := file.readline(min(end - start, MAX_LINE))):
                start += len(line)
                rest = b""
                while len(line) >= MAX_LINE and not (rest or line).endswith(b"\n") and start < end:
                    rest = file.readline(min(end - start, _CHUNK))
                    start += len(rest)
                yield line + rest[-1:] if rest else line

    def line_number(self, position: int) -> int:
        """Return the number of the line at a position, counted from 1."""
        number = 1
        with self.open() as file:
            while position > 0 and (chunk := file.read(min(position, _CHUNK))):
                position -= len(chunk)
                number += chunk.count(b"\n")
        return number

    def line_start(self, position: int) -> int:
        """Return where the first line from this position on begins."""
        with self.open() as file:
            file.seek(max(0, position - 1))
            while position < self.end:
                line = file.readline(_CHUNK)
                position = file.tell()
                if not line or line.endswith(b"\n"):
                    break
        return min(position, self.end)

    def digests(self, positions: list[int]) -> Iterator[str]:
        """Yield for each position, in ascending order, what identifies the log up to there."""
        with self.open() as file:
            head = file.read(_SAMPLE)
            for position in positions:
                file.seek(max(0, position - _SAMPLE))
                tail = file.read(min(position, _SAMPLE))
                sampled = b"%d:" % position + head[:position] + tail
                yield sha256(sampled).hexdigest()

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


def reason_of(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error) or type(error).__name__
