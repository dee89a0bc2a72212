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
        self._folder = folder
        self._process = secrets.token_hex(8)
        self._descriptor: int | None = None

    def start(self) -> str | None:
        """Hold this process's file and return its name; None if that is impossible."""
        if self._descriptor is None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                # Others look at it only once it is locked.
                hidden = self._folder / f".{self._process}"
                self._descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                hidden.rename(self._folder / self._process)
            except OSError as error:
                logger.debug("runs cannot be marked as running: %s", error)
                return None
        return self._process

    def ended(self) -> list[str]:
        """Return the names of the files that no process holds any more."""
        found = []
        for file in sorted(self._folder.glob("[!.]*")):
            with suppress(OSError):
                descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    found.append(file.name)
                finally:
                    os.close(descriptor)
        return found

    def forget(self, process: str) -> None:
        (self._folder / process).unlink(missing_ok=True)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
