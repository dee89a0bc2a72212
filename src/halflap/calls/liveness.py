"""Detect which processes are alive: each holds a lock on a file until it ends, even if it is killed."""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
from contextlib import suppress
from pathlib import Path

__all__ = ["Liveness"]

logger = logging.getLogger(__name__)


class Liveness:
    """A folder with a locked file for each running process. Every method blocks on the disk."""

    def __init__(self, folder: Path) -> None:
        self.process: str | None = None
        """The name of this process's file while it is locked."""
        self._folder = folder
        self._descriptor = -1

    def start(self) -> None:
        """Create and lock this process's file, if possible."""
        name = secrets.token_hex(8)
        # Others see it only once it is locked.
        hidden = self._folder / f".{name}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            hidden.rename(self._folder / name)
        except OSError as error:
            logger.debug("runs cannot be marked as running: %s", error)
        else:
            self.process = name

    def ended(self) -> list[str]:
        """Return the names of processes that have ended."""
        found = []
        for file in sorted(self._folder.glob("[!.]*")):
            with suppress(OSError), file.open("r+b") as opened:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found.append(file.name)
        return found

    def forget(self, process: str) -> None:
        (self._folder / process).unlink(missing_ok=True)

    def close(self) -> None:
        if self.process is not None:
            os.close(self._descriptor)
            self.process = None
