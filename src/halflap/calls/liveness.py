"""Which processes are alive: each holds a lock on a file, until it ends, however that happens."""

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
    """This process's file in a folder, and those that other processes left there. Every method waits for the disk."""

    def __init__(self, folder: Path) -> None:
        self.process: str | None = None
        """The name of this process's file while it is held."""
        self._folder = folder
        self._descriptor = -1

    def start(self) -> None:
        """Hold this process's file, if that is possible."""
        name = secrets.token_hex(8)
        # Others look at it only once it is locked.
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
        """Return the names of the files that no process holds any more."""
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
