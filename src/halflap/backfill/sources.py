"""Where history lies: files, folders, globs, streams and our own store, as they are asked for."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from halflap.backfill.opening import beginning_of, lines_of, packing_of, unpacked, unpacked_size
from halflap.backfill.pieces import LONGEST, LOOKED_AT, is_document
from halflap.core.errors import BackfillError, FileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.backfill.opening import Packing

__all__ = ["HEAD", "Look", "Source", "find_sources", "look_at"]

HEAD = 4096
"""So many bytes of a log tell whether it may be one that was counted before."""
_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json", ".log"})
_PACKED = frozenset({".gz", ".gzip", ".zst", ".zstd"})
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Source:
    """Something to read: what it is called, what it is, how large."""

    name: str
    kind: Literal["file", "stream", "store"] = "file"
    size: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    """What a file is, by its beginning."""

    packing: Packing
    document: bool
    head: bytes
    """The first bytes of what is in it."""


def find_sources(names: Sequence[str]) -> list[Source]:
    """Find what was asked for: each file once, the small ones first.

    The order matters where one file is the beginning of another: only then is the other seen to go on from there.
    """
    found: dict[tuple[int, int] | str, Source] = {}
    for name in names:
        if name in {"-", "store"}:
            found[name] = Source(name, "stream" if name == "-" else "store")
            continue
        for path in _files(name):
            status = path.stat()
            kind: Literal["file", "stream"] = "file" if path.is_file() else "stream"
            source = Source(str(path), kind, status.st_size if kind == "file" else 0)
            found.setdefault((status.st_dev, status.st_ino), source)
    return sorted(found.values(), key=lambda source: (source.kind != "file", _size(source), source.name))


def _size(source: Source) -> int:
    try:
        return unpacked_size(source.name, source.size) if source.kind == "file" else 0
    except OSError:
        # Whoever reads it says why it cannot be.
        return source.size


def _files(name: str) -> list[Path]:
    path = Path(name)
    try:
        if path.is_dir():
            found = sorted(_within(path))
            if not found:
                raise FileError(
                    f"There is no log in {name}: no file that ends in {', '.join(sorted(_SUFFIXES))}, plain or packed. "
                    "Name a file of another name itself."
                )
            return found
        if path.exists():
            return [path]
        found = [path for path in map(Path, sorted(glob.glob(name, recursive=True))) if not path.is_dir()]  # noqa: PTH207 -- an absolute pattern, too
    except (OSError, ValueError) as error:
        raise FileError(
            f"{name!r} cannot be looked at: {error}. Name a file or folder that you may read."
        ) from None
    if not found:
        raise FileError(
            f"There is no file {name!r}. Give files, folders, patterns, - for what is piped in, or store."
        )
    return found


def _within(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        suffixes = [suffix for suffix in path.suffixes if suffix not in _PACKED]
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        # Rotated logs: app.log.3, app.jsonl.2026-01-05.gz
        if not hidden and _SUFFIXES.intersection(suffixes) and path.is_file():
            yield path


def look_at(path: str) -> Look:
    """Look at the beginning of a file."""
    with open(path, "rb") as packed:  # noqa: PTH123 -- bytes alone
        packing = packing_of(beginning_of(packed, HEAD)[0])
        with unpacked(packed) as file:
            head, again = beginning_of(file, HEAD)
            if head.startswith(_UTF_16):
                raise BackfillError("It is written in UTF-16. Convert it: iconv -f UTF-16 -t UTF-8 FILE")
            lines, _ = lines_of(again, LOOKED_AT, LONGEST)
            return Look(packing, is_document(lines), head)
