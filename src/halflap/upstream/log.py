"""A server's stderr: the last part in memory, more of it in a bounded file, without secrets."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from halflap.core.text import clean, visible

_MEMORY_BYTES = 16 * 1024
_FILE_BYTES = 256 * 1024
"""Size at which the file is rotated; one older file is kept."""
_MAX_LINE = 500
_WINDOW_SECONDS = 10.0
"""At most `_FILE_BYTES` are redacted and written per window, because redaction is slow; the rest is left out."""
_LONG_LINE = b"[a line longer than 16 KiB was left out]\n"
_FLOOD = b"[what followed within 10 s was left out: it was too much]\n"


class ServerLog:
    """Keeps the end of a server's stderr. `append` and `tail` access the file, so call them from a thread."""

    def __init__(self, folder: Path | None, server: str, redact: Callable[[str], str] = str) -> None:
        self.path = None if folder is None else folder / _file_name(server)
        self.redact = redact
        """Removes secrets, both in the file and in what is shown."""
        self._recent = b""
        self._unfinished = b""
        """An incomplete line or private key: half a secret would not be recognised."""
        self._window = -_WINDOW_SECONDS
        self._in_window = 0
        self._lock = threading.Lock()

    def start_process(self) -> None:
        """Discard the output of earlier processes from memory; the file keeps it."""
        self._recent = b""

    def append(self, data: bytes) -> None:
        """Add output. If the file cannot be written, the log continues in memory."""
        with self._lock:
            self._recent = (self._recent + data)[-_MEMORY_BYTES:]
            waiting = self._unfinished + data
            end = waiting.rfind(b"\n") + 1
            key = waiting.rfind(b"-----BEGIN", 0, end)
            if key >= 0 and b"-----END" not in waiting[key:] and len(waiting) - key <= _MEMORY_BYTES:
                end = key
            self._unfinished = waiting[end : end + _MEMORY_BYTES + 1]
            self._write(waiting[:end])

    def end(self) -> None:
        """Write the incomplete rest."""
        with self._lock:
            rest, self._unfinished = self._unfinished, b""
            self._write(rest + b"\n" if rest else b"")

    def _write(self, data: bytes) -> None:
        if self.path is None or not data:
            return
        if (now := time.monotonic()) - self._window >= _WINDOW_SECONDS:
            self._window, self._in_window = now, 0
        before, self._in_window = self._in_window, self._in_window + len(data)
        if before > _FILE_BYTES:
            return
        if self._in_window > _FILE_BYTES:
            data = _FLOOD
        lines = data.splitlines(keepends=True)
        data = b"".join(line if len(line) <= _MEMORY_BYTES else _LONG_LINE for line in lines)
        text = self.redact(data.decode(errors="replace")).encode(errors="replace")[-_FILE_BYTES:]
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.exists() and self.path.stat().st_size + len(text) > _FILE_BYTES:
                self.path.replace(self.path.with_suffix(".log.1"))
            with open(self.path, "ab", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(text)
        except OSError:
            self.path = None

    def show(self, text: str, longest: int) -> str:
        """Return a server's message redacted, then cut: redaction would miss half a secret."""
        return visible(self.redact(text[:_MEMORY_BYTES]), longest)

    def recent(self, lines: int) -> list[str]:
        """Return the last lines of the current process, redacted and without control characters."""
        return self._lines(self._recent, lines)

    def tail(self, lines: int = 20) -> list[str]:
        """Return the last lines of the current process or, if it wrote nothing, of the file."""
        data = self._recent
        if not data and self.path is not None:
            with suppress(OSError):
                data = self.path.read_bytes()[-_MEMORY_BYTES:]
        return self._lines(data, lines)

    def _lines(self, data: bytes, count: int) -> list[str]:
        if len(data) >= _MEMORY_BYTES:
            # The beginning may be part of a secret, which redaction would not recognise.
            data = data.split(b"\n" if b"\n" in data[:-1] else b" ", 1)[-1]
            key, end, rest = data.partition(b"-----END")
            data = end + rest if end and b"-----BEGIN" not in key else data
        text = self.redact(clean(data.decode(errors="replace"), 2 * _MEMORY_BYTES))
        return [line[:_MAX_LINE] for line in text.splitlines()[-count:]]


def _file_name(server: str) -> str:
    """Return a readable, safe and unique file name."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", server)
    return f"{plain[:40]}-{sha256(server.encode()).hexdigest()[:8]}.log"
