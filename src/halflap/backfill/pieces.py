"""The records of a log as bytes, one after the other: lines, or the values of JSON documents; memory stays flat."""

from __future__ import annotations

import io
import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, BinaryIO, cast

from halflap.backfill.opening import Rejoined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["LONGEST", "LOOKED_AT", "Lines", "Pieces", "Values", "is_document", "pieces_of"]

LONGEST = 64 << 20
"""A longer line, or value of a document, is not read."""
LOOKED_AT = 16
"""By so many lines, at most, it is seen what a log is."""
_CHUNK = 1 << 20
_NEWLINE, _QUOTE = b'\n"'
_WORD = re.compile(r"[-+.\w]*")
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


def pieces_of(file: BinaryIO, *, document: bool) -> Pieces:
    """Give the records of what is open; what turns out to be no document is lines, whatever it looked like."""
    if document:
        heard = _Heard(file)
        values = Values(cast("BinaryIO", heard))
        first = next(iter(values), None)
        file = io.BufferedReader(Rejoined(b"".join(heard.parts), file), _CHUNK)
        # A value that does not end is one that is still being written, or none at all.
        document = first is None or values.is_finished or _is_begun(first)
    return Values(file) if document else Lines(file, hashing=True)


class _Heard:
    """A stream that remembers what was read of it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.parts: list[bytes] = []

    def read(self, size: int) -> bytes:
        part = self._file.read(size)
        self.parts.append(part)
        return part


def is_document(lines: Sequence[bytes]) -> bool:
    """Say by its first lines whether a log is JSON that goes over several lines, and not lines of JSON.

    A line that was cut off is not the beginning of anything, but by chance; then there are others behind it.
    """
    first = lines[0].lstrip(b"\xef\xbb\xbf \t") if lines else b""
    if not first.startswith((b"{", b"[")):
        return False
    if len(first) >= LONGEST:
        return first.startswith(b"[")
    if _is_json(first):
        return False
    if first.strip() in {b"{", b"["} or _may_be_json(b"".join([first, *lines[1:]])):
        return True
    return _may_be_json(first) and not any(map(_is_record, lines[1:]))


def _is_begun(value: bytes) -> bool:
    """Say whether this may be a value of which more is yet to be written."""
    return _may_be_json(value) and not any(map(_is_record, value.splitlines()))


def _is_record(line: bytes) -> bool:
    """Say whether a line is an object by itself, and not within something."""
    return line.startswith(b"{") and _is_json(line)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _may_be_json(data: bytes) -> bool:
    """Say whether this is JSON, with more behind it or not, or can become it when more is written."""
    text = data.decode(errors="replace").lstrip("\ufeff")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        rest = text[error.pos :]
        # Within a line anything can be cut off; a line that was ended is whole.
        cut_off = "\n" not in rest and (error.msg.startswith("Unterminated") or bool(_WORD.fullmatch(rest)))
        return error.msg == "Extra data" or not rest.strip() or cut_off
    except (ValueError, RecursionError):
        pass
    return True
