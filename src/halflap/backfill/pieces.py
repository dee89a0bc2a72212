"""The records of a log as bytes, one after the other: lines, or the values of JSON documents; memory stays flat."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["LONGEST", "Lines", "Pieces", "Values", "is_document"]

LONGEST = 64 << 20
"""A longer line, or value of a document, is not read."""
_CHUNK = 1 << 20
_NEWLINE, _QUOTE = b'\n"'
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}\[\]]', re.DOTALL)


class Pieces:
    """Iterates over records; after each, says how far it is, and the hash of all that was read."""

    def __init__(self, file: BinaryIO, *, hashing: bool) -> None:
        self._file = file
        self.position = 0
        """The end of the last record, from where reading began."""
        self.line = 0
        """The line in which the last record began, from 1."""
        self.lines = 0
        """The lines up to the end of the last record."""
        self.is_finished = True
        """Whether the last record was whole: at the end of a file, more of it may be written yet."""
        self._sha = sha256() if hashing else None

    def digest(self) -> str:
        """Give the hash of everything up to the end of the last record."""
        return "" if self._sha is None else self._sha.copy().hexdigest()

    def accept(self, last: bytes) -> None:
        """Count the last record as read, although more of it might have been written yet."""
        self._past(last)

    def _past(self, data: bytes | memoryview) -> None:
        self.position += len(data)
        if self._sha is not None:
            self._sha.update(data)

    def __iter__(self) -> Iterator[bytes | None]:
        """Give each record; None for one that is too long."""
        raise NotImplementedError  # each form of a file has its own


class Lines(Pieces):
    """Lines, as far as those go that begin within `length` bytes."""

    def __init__(self, file: BinaryIO, length: int | None = None, *, hashing: bool = False) -> None:
        super().__init__(file, hashing=hashing)
        self._length = length

    def __iter__(self) -> Iterator[bytes | None]:
        readline, length, limit = self._file.readline, self._length, LONGEST
        hashes = self._sha is not None
        while length is None or self.position < length:
            line = readline(limit)
            if not line:
                return
            self.line = self.lines + 1
            if line[-1] != _NEWLINE and len(line) < limit:
                # It counts as read only if it turns out to be whole.
                self.is_finished = False
                yield line
                return
            self.lines += 1
            if line[-1] != _NEWLINE:
                self._skip(line)
                yield None
                continue
            if hashes:
                self._past(line)
            else:
                self.position += len(line)
            yield line

    def accept(self, last: bytes) -> None:
        super().accept(last)
        self.lines += 1

    def _skip(self, line: bytes) -> None:
        while line:
            self._past(line)
            if line[-1] == _NEWLINE:
                return
            line = self._file.readline(_CHUNK)


class Values(Pieces):
    """The values of JSON documents, one behind the other; of arrays, the items."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, hashing=True)
        self._buffer = b""
        self._start = self._at = self._depth = self._base = 0
        """Where the value begins that is being read, where to look on, how deep that is, and how deep values are."""

    def __iter__(self) -> Iterator[bytes | None]:
        is_last = False
        while not is_last:
            # As much again as there is: what is long is looked at few times.
            more = self._file.read(max(_CHUNK, len(self._buffer)))
            is_last = not more
            self._buffer += more
            yield from self._whole(is_last=is_last)
            if len(self._buffer) > LONGEST:
                # Where it ends is not looked for: the rest of the document is not read either.
                self.line = self.lines + 1
                yield None
                return
        if self._depth > self._base:
            self.is_finished = False
            self.line = self.lines + 1 + self._buffer.count(b"\n", 0, self._start)
            yield self._buffer[self._start :]

    def _whole(self, *, is_last: bool) -> Iterator[bytes]:
        done = 0
        for match in _TOKEN.finditer(self._buffer, self._at):
            token = match[0]
            if token[0] == _QUOTE:
                if not match[1] and not is_last:
                    self._at = match.start()
                    break
            elif token in b"{[":
                if self._depth == self._base:
                    self._base = self._base or int(token == b"[")
                    self._start = match.start()
                self._depth += 1
            else:
                self._depth -= 1
                if self._depth < self._base:
                    self._depth = self._base = 0
                elif self._depth == self._base:
                    yield self._taken(done, match.end())
                    done = match.end()
            self._at = match.end()
        self._buffer = self._buffer[done:]
        self._at -= done
        self._start = max(0, self._start - done)

    def _taken(self, done: int, end: int) -> bytes:
        self.line = self.lines + 1 + self._buffer.count(b"\n", done, self._start)
        self.lines += self._buffer.count(b"\n", done, end)
        self._past(memoryview(self._buffer)[done:end])
        return self._buffer[self._start : end]


def is_document(lines: Sequence[bytes]) -> bool:
    """Say by its first lines whether a log is JSON that goes over several lines, and not lines of JSON."""
    first = lines[0].lstrip(b"\xef\xbb\xbf \t") if lines else b""
    if not first.startswith((b"{", b"[")):
        return False
    if len(first) >= LONGEST:
        return first.startswith(b"[")
    if _is_json(first):
        return False
    return first.strip() in {b"{", b"["} or len(lines) == 1 or not _is_json(lines[1])


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True
