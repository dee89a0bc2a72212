"""Logs as they lie on a disk: plain, gzip or zstd, opened to be read as one stream of bytes."""

from __future__ import annotations

import gzip
import io
import os
import select
import sys
import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, cast

from halflap.core.errors import BackfillError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "Interruptible",
    "Packing",
    "beginning_of",
    "damage",
    "lines_of",
    "open_log",
    "packing_of",
    "ranges",
    "unpacked",
    "unpacked_size",
]

Packing = Literal["plain", "gzip", "zstd"]

_MAGIC: dict[bytes, Packing] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_CHUNK, _SMALL_CHUNK = 1 << 20, 1 << 16
_USUAL_RATIO = 8
_PATIENCE_SECONDS = 0.2


def packing_of(beginning: bytes) -> Packing:
    """Say how a file is packed, by its first bytes: its name may say anything."""
    return next((packing for magic, packing in _MAGIC.items() if beginning.startswith(magic)), "plain")


def open_log(path: str) -> BinaryIO:
    """Open a file to be read, unpacked."""
    file = open(path, "rb", buffering=_CHUNK)  # noqa: PTH123, SIM115 -- whoever asked closes it
    try:
        return unpacked(file)
    except BaseException:
        file.close()
        raise


def unpacked(file: BinaryIO) -> BinaryIO:
    """Give what a file has in it; closed, it closes the file too."""
    beginning, file = beginning_of(file, 4)
    packing = packing_of(beginning)
    if packing == "gzip":
        return cast("BinaryIO", _Gzip(file))
    if packing == "zstd":
        return _zstd(file)
    return file


class _Gzip(gzip.GzipFile):
    """Unpacks a file, and closes it too."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        super().__init__(fileobj=packed)

    def close(self) -> None:
        super().close()
        self._packed.close()


def unpacked_size(path: str, size: int) -> int:
    """Say about how much there is in a file."""
    with open(path, "rb") as file:  # noqa: PTH123 -- bytes alone
        packing = packing_of(file.read(4))
        if packing == "plain":
            return size
        if packing == "gzip":
            file.seek(max(0, size - 4))
            # As the format has it: modulo 2³², and of the last part, if it has several.
            return max(size, int.from_bytes(file.read(4), "little"))
    return _USUAL_RATIO * size


def beginning_of(file: BinaryIO, size: int) -> tuple[bytes, BinaryIO]:
    """Give the first bytes of a stream, and a stream that still has them."""
    beginning = file.read(size)
    if file.seekable():
        file.seek(0)
        return beginning, file
    return beginning, io.BufferedReader(Rejoined(beginning, file), _CHUNK)


class Rejoined(io.RawIOBase):
    """A stream of which something was read, whole again."""

    def __init__(self, beginning: bytes, rest: BinaryIO) -> None:
        self._beginning = memoryview(beginning)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        if not self._beginning:
            data: Any = (
                self._rest.read1(len(into)) if hasattr(self._rest, "read1") else self._rest.read(len(into))
            )
            into[: len(data)] = data
            return len(data)
        count = min(len(into), len(self._beginning))
        into[:count] = self._beginning[:count]
        self._beginning = self._beginning[count:]
        return count


class Interruptible(io.RawIOBase):
    """A stream that may never say anything more: it ends when it is told to stop."""

    def __init__(self, descriptor: int, is_stopped: Callable[[], bool]) -> None:
        self._descriptor = descriptor
        self._is_stopped = is_stopped

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        while not self._is_stopped():
            if select.select([self._descriptor], [], [], _PATIENCE_SECONDS)[0]:
                data = os.read(self._descriptor, len(into))
                into[: len(data)] = data
                return len(data)
        return 0


def _zstd(file: BinaryIO) -> BinaryIO:
    if sys.version_info >= (3, 14):
        return cast("BinaryIO", import_module("compression.zstd").ZstdFile(file))
    try:
        library: Any = import_module("zstandard")
    except ImportError:
        raise BackfillError(
            "It is compressed with zstd, which this Python cannot read by itself. Install halflap[zstd], or "
            "unpack it and pass it in: zstd -dc FILE | halflap backfill -"
        ) from None
    stream = library.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=True)
    return io.BufferedReader(stream, _SMALL_CHUNK)


def damage() -> tuple[type[BaseException], ...]:
    """Give the exceptions that say that packed data is damaged or not whole."""
    found: list[type[BaseException]] = [EOFError, zlib.error, gzip.BadGzipFile]
    for name in ("zstandard", "compression.zstd"):
        if name in sys.modules:
            found.append(sys.modules[name].ZstdError)  # noqa: PERF401 -- two lines that say it
    return tuple(found)


def lines_of(file: BinaryIO, count: int, longest: int) -> tuple[list[bytes], BinaryIO]:
    """Give the first lines that are not empty, and a stream that still has them."""
    read: list[bytes] = []
    found: list[bytes] = []
    while len(found) < count:
        line = file.readline(longest)
        if not line:
            break
        read.append(line)
        if line.strip():
            found.append(line)
        if sum(map(len, read)) >= longest:
            break
    return found, io.BufferedReader(Rejoined(b"".join(read), file), _CHUNK)


def line_start(file: BinaryIO, at: int) -> int:
    """Give the first place from here on at which a line begins, or the end."""
    if at <= 0:
        return 0
    file.seek(at - 1)
    while True:
        chunk = file.read(1 << 16)
        if not chunk:
            return file.tell()
        newline = chunk.find(b"\n")
        if newline >= 0:
            return file.tell() - len(chunk) + newline + 1


def ranges(path: str, start: int, end: int, step: int) -> Iterator[tuple[int, int]]:
    """Cut a stretch of a plain file into ranges that begin where lines begin."""
    with open(path, "rb") as file:  # noqa: PTH123 -- bytes alone
        while start < end:
            stop = min(end, line_start(file, start + step)) if start + step < end else end
            yield start, stop
            start = stop
