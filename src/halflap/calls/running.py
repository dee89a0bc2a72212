"""Which runs are in progress: one file per process lists them, locked until the process ends, however that happens."""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["RunningFile"]

logger = logging.getLogger(__name__)

_LARGEST = 1 << 20


class RunningFile:
    """This process's file in a folder, and those that other processes left there. Every method waits for the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: Path | None = None
        self._descriptor = -1
        self._runs: set[str] = set()

    def add(self, runs: Iterable[str]) -> None:
        """List runs as in progress; failure to do so is not an error."""
        try:
            if self._file is None:
                self._open()
            if not self._runs:
                os.ftruncate(self._descriptor, 0)
            self._runs.update(runs)
            os.write(self._descriptor, "".join(f"{run}\n" for run in runs).encode())
        except OSError as error:
            logger.debug("runs cannot be marked as running: %s", error)

    def _open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = self._folder / secrets.token_hex(8)
        self._descriptor = os.open(
            file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW, 0o600
        )
        fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._file = file

    def forget(self, runs: Iterable[str]) -> None:
        """Note that runs ended and are recorded; their lines go when no run is left."""
        self._runs.difference_update(runs)

    def close(self) -> None:
        """Delete the file, unless the end of a run could not be recorded."""
        if self._file is None:
            return
        if not self._runs:
            self._file.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._file = None

    def abandoned(self) -> Iterator[tuple[Path, list[str]]]:
        """Return the files of processes that are gone, with their runs; each is locked while it is handled."""
        for file in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            try:
                descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
            except OSError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield file, os.read(descriptor, _LARGEST).decode(errors="replace").split()
            except OSError:
                continue
            finally:
                os.close(descriptor)
