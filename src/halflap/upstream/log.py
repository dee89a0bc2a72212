"""A server's stderr, bounded: the last of it in memory, a little more in a file that outlives us."""

from __future__ import annotations

import os
import re
import threading
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["ServerLog"]

_MEMORY_BYTES = 16 * 1024
_FILE_BYTES = 256 * 1024
_LONGEST_LINE = 500
_PLAIN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class ServerLog:
    """Keeps the tail of what a server wrote; `append` does file I/O, so call it from a thread."""

    def __init__(self, folder: Path | None, server: str, redact: Callable[[str], str] = str) -> None:
        self.path = None if folder is None else folder / _file_name(server)
        self.redact = redact
        """Takes secrets out of what is shown; the file is for the user alone, and has it as it was written."""
        self._tail = b""
        self._lock = threading.Lock()

    def begin(self) -> None:
        """Start anew: what earlier processes of the server said stays in the file only."""
        self._tail = b""

    def append(self, data: bytes) -> None:
        """Add what the server wrote. A log that cannot be written is no reason to fail anything."""
        with self._lock:
            self._tail = (self._tail + data)[-_MEMORY_BYTES:]
            if self.path is None:
                return
            try:
                self._append_to_file(self.path, data)
            except OSError:
                self.path = None

    def _append_to_file(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            if os.fstat(descriptor).st_size + len(data) > _FILE_BYTES:
                path.replace(path.with_suffix(".log.1"))
                os.close(descriptor)
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.write(descriptor, data[-_FILE_BYTES:])
        finally:
            os.close(descriptor)

    def tail(self, lines: int = 20) -> list[str]:
        """Give the last lines, from this run or else from the file, made fit to be shown."""
        data = self._tail
        if not data and self.path is not None:
            try:
                with self.path.open("rb") as file:
                    file.seek(max(0, self.path.stat().st_size - _MEMORY_BYTES))
                    data = file.read()
            except OSError:
                data = b""
        if len(data) >= _MEMORY_BYTES:
            # Cut somewhere: what is left of a secret there would not be known for one.
            data = data.split(b"\n" if b"\n" in data[:-1] else b" ", 1)[-1]
        text = self.redact(_PLAIN.sub("", data.decode(errors="replace")))
        return [line[:_LONGEST_LINE] for line in text.splitlines()[-lines:]]


def _file_name(server: str) -> str:
    """Give a file name that is readable, safe, and different for every server."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", server)
    return f"{plain[:40]}-{sha256(server.encode()).hexdigest()[:8]}.log"
