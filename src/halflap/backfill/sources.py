"""Sources of logs: files, folders, standard input and Halflap's own records."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from halflap.core.errors import UsageError

STDIN, STORE = "-", "store"
_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json", ".log"})
_PACKED = frozenset({".gz", ".gzip"})


def find_sources(names: Sequence[str]) -> list[str]:
    """Find the named files, each once, short logs first, because a longer one may be a continuation of a shorter one."""
    found: dict[object, tuple[tuple[Any, ...], str]] = {}
    for name in names:
        if name in {STDIN, STORE}:
            found[name] = (), name
            continue
        for path in _files(Path(name)):
            status = path.stat()
            order = path.is_file(), path.suffix in _PACKED, status.st_size, str(path)
            found.setdefault((status.st_dev, status.st_ino), (order, str(path)))
    return [name for _, name in sorted(found.values())]


def _files(path: Path) -> list[Path]:
    try:
        found = sorted(_logs_in(path)) if path.is_dir() else [path]
        exists = path.exists()
    except (OSError, ValueError) as error:
        raise UsageError(f"{str(path)!r} cannot be read: {error}.", code="file") from None
    if not exists:
        raise UsageError(
            f"There is no file {str(path)!r}. Give files, folders, - for stdin, or store.", code="file"
        )
    if not found:
        raise UsageError(
            f"There is no log in {path}: no file with {', '.join(sorted(_SUFFIXES))} in its name. To read a file with "
            "another name, name the file itself.",
            code="file",
        )
    return found


def _logs_in(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        suffixes = set(path.suffixes) - _PACKED  # also rotated logs: app.log.3
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and suffixes & _SUFFIXES and path.is_file():
            yield path


def spool(name: str, target: Path, is_stopped: Callable[[], bool]) -> None:
    """Copy a stream into a file, so that it can be identified and resumed like any other log."""
    source = 0 if name == STDIN else os.open(name, os.O_RDONLY)
    try:
        with target.open("wb") as copy:
            while not is_stopped():
                if select.select([source], [], [], 0.2)[0]:
                    data = os.read(source, 1 << 20)
                    if not data:
                        break
                    copy.write(data)
    finally:
        if name != STDIN:
            os.close(source)
