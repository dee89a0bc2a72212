"""Where logs are: files, folders, patterns, standard input and Halflap's own records."""

from __future__ import annotations

import glob
import os
import select
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from halflap.core.errors import FileError

__all__ = ["Source", "find_sources", "spooled"]

_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json", ".log"})
_PACKED = frozenset({".gz", ".gzip"})


@dataclass(frozen=True, slots=True)
class Source:
    """Something to read."""

    name: str
    kind: Literal["file", "stream", "store"] = "file"
    size: int = 0


def find_sources(names: Sequence[str]) -> list[Source]:
    """Find what was asked for, each file once; short logs first, because a longer one may continue them."""
    found: dict[object, Source] = {}
    for name in names:
        if name in {"-", "store"}:
            found[name] = Source(name, "stream" if name == "-" else "store")
            continue
        for path in _files(name):
            status = path.stat()
            kind: Literal["file", "stream"] = "file" if path.is_file() else "stream"
            found.setdefault((status.st_dev, status.st_ino), Source(str(path), kind, status.st_size))
    return sorted(
        found.values(),
        key=lambda one: (one.kind != "file", Path(one.name).suffix in _PACKED, one.size, one.name),
    )


def _files(name: str) -> list[Path]:
    path = Path(name)
    try:
        if path.is_dir():
            found = sorted(_logs_in(path))
            if not found:
                raise FileError(
                    f"There is no log in {name}: no file with {', '.join(sorted(_SUFFIXES))} in its name. To read a file "
                    "with another name, name the file itself."
                )
            return found
        if path.exists():
            return [path]
        found = [one for one in map(Path, sorted(glob.glob(name, recursive=True))) if not one.is_dir()]  # noqa: PTH207 -- absolute patterns, too
    except (OSError, ValueError) as error:
        raise FileError(f"{name!r} cannot be read: {error}.") from None
    if not found:
        raise FileError(f"There is no file {name!r}. Give files, folders, patterns, - for stdin, or store.")
    return found


def _logs_in(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        suffixes = set(path.suffixes) - _PACKED  # also rotated logs: app.log.3
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and suffixes & _SUFFIXES and path.is_file():
            yield path


def spooled(name: str, is_stopped: Callable[[], bool]) -> str:
    """Copy a stream into a temporary file, so that it can be recognised and continued like any log."""
    source = 0 if name == "-" else os.open(name, os.O_RDONLY)
    target, path = tempfile.mkstemp(prefix="halflap-backfill-")
    try:
        while not is_stopped():
            if select.select([source], [], [], 0.2)[0]:
                data = os.read(source, 1 << 20)
                if not data:
                    break
                os.write(target, data)
    finally:
        os.close(target)
        if name != "-":
            os.close(source)
    return path
