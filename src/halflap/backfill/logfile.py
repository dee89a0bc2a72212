"""Log files as lines of JSON, whatever form they have on disk: plain, gzip, zstd, or one JSON document."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from halflap.core.errors import BackfillError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MAX_LINE", "LogFile", "damage", "line_start", "reason_of", "unpacked", "unreadable"]

MAX_LINE = 32 << 20
"""A longer line is skipped."""
_MAX_DOCUMENT = 64 << 20
_CHUNK = 1 << 20
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class LogFile:
    """The lines of a log.

    A JSON document is read as one line per item, so that one that was rewritten with more items is recognised as the
    same log that has grown.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        with open(path, "rb") as file:  # noqa: PTH123 -- bytes only
            magic = file.read(4)
        self.is_packed = magic.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd"))
        with self._open() as file:
            first = file.readline(MAX_LINE)
            while first and not first.strip():
                first = file.readline(MAX_LINE)
        if first.startswith(_UTF_16):
            raise BackfillError("It is written in UTF-16. Convert it: iconv -f UTF-16 -t UTF-8 FILE")
        self._document = None if _is_json(first) else self._read_document(first)
        self.first_line = self._document[0] if self._document else first
        self.can_split = not self.is_packed and self._document is None

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """Yield the lines from a position on; a line that is too long is yielded in pieces."""
        if self._document is not None:
            position = 0
            for line in self._document:
                if position >= start:
                    yield line
                position += len(line)
            return
        with self._open() as file:
            if self.is_packed:
                _skip(file, start)
            else:
                file.seek(start)
            while line := file.readline(MAX_LINE):
                yield line

    def _open(self) -> BinaryIO:
        return unpacked(open(self.path, "rb", buffering=_CHUNK))  # noqa: PTH123 -- closed by the caller

    def _read_document(self, first: bytes) -> list[bytes] | None:
        """Read a JSON document that spans several lines; None if this is not one."""
        is_json_start = first.lstrip(b"\xef\xbb\xbf \t").startswith((b"{", b"["))
        if not is_json_start or len(first) >= MAX_LINE:
            return None
        with self._open() as file:
            data = file.read(_MAX_DOCUMENT + 1)
        if len(data) > _MAX_DOCUMENT:
            if first.strip() in {b"{", b"["}:
                raise BackfillError(
                    f"It is a JSON document of more than {_MAX_DOCUMENT >> 20} MB. Convert it to JSON lines: jq -c '.[]' FILE"
                )
            return None
        items = [
            item
            for document in _documents(data)
            for item in (document if isinstance(document, list) else [document])
        ]
        return [json.dumps(item, separators=(",", ":")).encode() + b"\n" for item in items] or None


def _documents(data: bytes) -> Iterator[Any]:
    """Yield the JSON documents in a file, one behind the other, up to one that is not finished."""
    decode = json.JSONDecoder().raw_decode
    try:
        text = data.decode("utf-8-sig")
        at = _end_of_space(text, 0)
        while at < len(text):
            document, at = decode(text, at)
            yield document
            at = _end_of_space(text, at)
    except (ValueError, RecursionError):
        return


def _end_of_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def unpacked(file: BinaryIO) -> BinaryIO:
    """Return a stream of what a file contains, by its first bytes; closing it closes the file."""
    buffered = io.BufferedReader(cast("io.RawIOBase", file), _CHUNK) if not hasattr(file, "peek") else file
    magic = cast("io.BufferedReader", buffered).peek(4)[:4]
    if magic.startswith(b"\x1f\x8b"):
        return cast("BinaryIO", _ClosingGzip(buffered))
    if magic.startswith(b"\x28\xb5\x2f\xfd"):
        return _unpacked_zstd(buffered)
    return buffered


class _ClosingGzip(gzip.GzipFile):
    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        super().__init__(fileobj=packed)

    def close(self) -> None:
        super().close()
        self._packed.close()


def _unpacked_zstd(file: BinaryIO) -> BinaryIO:
    if sys.version_info >= (3, 14):
        return cast("BinaryIO", import_module("compression.zstd").ZstdFile(file))
    try:
        library: Any = import_module("zstandard")
    except ImportError:
        raise BackfillError(
            "It is compressed with zstd, which needs halflap[zstd] on this Python. Or pass it in unpacked: "
            "zstd -dc FILE | halflap backfill -"
        ) from None
    stream = library.ZstdDecompressor().stream_reader(file, read_across_frames=True, closefd=True)
    return io.BufferedReader(stream, 1 << 16)


def damage() -> tuple[type[BaseException], ...]:
    """Return the exceptions that mean that compressed data is damaged or incomplete."""
    found: list[type[BaseException]] = [EOFError, zlib.error, gzip.BadGzipFile]
    found += [
        sys.modules[name].ZstdError for name in ("zstandard", "compression.zstd") if name in sys.modules
    ]
    return tuple(found)


def unreadable() -> tuple[type[BaseException], ...]:
    """Return the exceptions that mean that a file cannot be read."""
    return (OSError, BackfillError, *damage())


def reason_of(error: BaseException) -> str:
    return str(getattr(error, "strerror", None) or error) or type(error).__name__


def _skip(file: BinaryIO, count: int) -> None:
    while count > 0 and (chunk := file.read(min(_CHUNK, count))):
        count -= len(chunk)


def line_start(path: str, at: int) -> int:
    """Return the first position from here on at which a line begins, or the end of the file."""
    size = Path(path).stat().st_size
    with open(path, "rb") as file:  # noqa: PTH123 -- bytes only
        file.seek(max(0, at - 1))
        while chunk := file.read(1 << 16):
            newline = chunk.find(b"\n")
            if newline >= 0:
                return file.tell() - len(chunk) + newline + 1
    return size
