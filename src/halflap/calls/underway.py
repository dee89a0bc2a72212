"""Which runs are under way: a file for each, locked by the process that runs it; a lock is let go of however that process ends."""

from __future__ import annotations

import fcntl
import logging
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["Underway"]

logger = logging.getLogger(__name__)


class Underway:
    """The files of a folder. Everything here waits for the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, int] = {}

    def hold(self, runs: Iterable[str]) -> None:
        """Say that this process runs them; where that cannot be written, nobody will know of them."""
        for run in runs:
            if run in self._held:
                continue
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._held[run] = self._begun(self._folder / run)
            except OSError as error:
                logger.debug("that %s is under way cannot be written: %s", run, error)

    def _begun(self, file: Path) -> int:
        while True:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            # Whoever looks holds it for a moment, and may delete it: it is a run that was left before.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.fstat(descriptor).st_nlink:
                return descriptor
            os.close(descriptor)

    def let_go(self, runs: Iterable[str], *, forget: bool = True) -> None:
        """Say that they are no longer under way; or, if they were only looked at, leave them to others."""
        for run in runs:
            descriptor = self._held.pop(run, None)
            if descriptor is None:
                continue
            try:
                if forget:
                    (self._folder / run).unlink(missing_ok=True)
            except OSError as error:
                logger.debug("that %s is over cannot be written: %s", run, error)
            finally:
                os.close(descriptor)

    def left(self) -> list[str]:
        """Give the runs whose process is gone, and hold them, so that nobody else tells of them meanwhile."""
        found = []
        for file in sorted(self._folder.iterdir()) if self._folder.is_dir() else ():
            name = file.name
            try:
                descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
            except OSError:
                # It came to its end meanwhile, or is somebody else's.
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                continue
            if os.fstat(descriptor).st_nlink:
                self._held[name] = descriptor
                found.append(name)
            else:
                os.close(descriptor)
        return found
