"""Which runs are in progress: one file per run, locked by its process; the lock is released however the process ends."""

from __future__ import annotations

import fcntl
import logging
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["RunningFiles"]

logger = logging.getLogger(__name__)


class RunningFiles:
    """The lock files in a folder. Every method waits for the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, int] = {}

    def acquire(self, runs: Iterable[str]) -> None:
        """Mark runs as in progress in this process; failure to do so is not an error."""
        for run in runs:
            if run in self._held:
                continue
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._held[run] = self._locked(self._folder / run)
            except OSError as error:
                logger.debug("run %s cannot be marked as running: %s", run, error)

    def _locked(self, file: Path) -> int:
        while True:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            # Another process may hold it for a moment in `abandoned`, and delete it.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)

    def release(self, runs: Iterable[str], *, delete: bool = True) -> None:
        """Release runs; with `delete`, they are over, otherwise they are left to others."""
        for run in runs:
            descriptor = self._held.pop(run, None)
            if descriptor is None:
                continue
            try:
                if delete:
                    (self._folder / run).unlink(missing_ok=True)
            except OSError as error:
                logger.debug("run %s cannot be marked as ended: %s", run, error)
            finally:
                os.close(descriptor)

    def abandoned(self) -> list[str]:
        """Return, and acquire, the runs whose process is gone."""
        found = []
        for file in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            try:
                descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
            except OSError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                continue
            if os.fstat(descriptor).st_nlink:
                self._held[file.name] = descriptor
                found.append(file.name)
            else:
                os.close(descriptor)
        return found
