"""A file of what the store could not take, until it can."""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from halflap.store import Breach, CallRecord, RunRecord

__all__ = ["Journal", "JournalStatus", "Records"]

logger = logging.getLogger(__name__)

MAX_BYTES = 64 * 1024 * 1024
"""Of the file. Twice as much covers an outage twice as long."""
_PIECE_BYTES = 4 * 1024 * 1024
"""How much is written to the store in one transaction."""
_KINDS = {"call": CallRecord, "run": RunRecord, "breach": Breach}


def _header(lost: int) -> bytes:
    # Always as long, so that it can be overwritten when the disk is full.
    return f'{{"lost": {lost:>12}}}\n'.encode()


_HEADER_BYTES = len(_header(0))


@dataclass(slots=True)
class Records:
    """Records to be written together."""

    calls: list[CallRecord] = field(default_factory=list)
    runs: list[tuple[RunRecord, str | None]] = field(default_factory=list)
    """Each with the process that makes it."""
    breaches: list[Breach] = field(default_factory=list)

    def lines(self) -> list[bytes]:
        """Return them as JSON."""
        rows: list[dict[str, Any]] = [{"kind": "call", "record": asdict(call)} for call in self.calls]
        rows += [{"kind": "run", "record": asdict(run), "process": process} for run, process in self.runs]
        rows += [{"kind": "breach", "record": asdict(breach)} for breach in self.breaches]
        return [json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows]

    def read(self, line: bytes) -> bool:
        """Add what a line says; False if it is torn or of another version."""
        try:
            row = json.loads(line)
            record = _KINDS[row["kind"]](**row["record"])
        except (ValueError, KeyError, TypeError):
            return False
        if isinstance(record, CallRecord):
            self.calls.append(record)
        elif isinstance(record, RunRecord):
            self.runs.append((record, row.get("process")))
        else:
            self.breaches.append(record)
        return True


class JournalStatus(NamedTuple):
    size_bytes: int
    """Zero if nothing is waiting."""
    lost: int
    """Records that found no room."""


class Journal:
    """One file for one store, shared by all processes that use it. Every method waits for the disk."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._replaying: int | None = None

    def status(self) -> JournalStatus:
        try:
            with self.file.open("rb") as file:
                lost = _read_lost(file.read(_HEADER_BYTES))
                size = os.fstat(file.fileno()).st_size - _HEADER_BYTES
        except OSError:
            return JournalStatus(0, 0)
        return JournalStatus(max(0, size), lost)

    def add(self, lines: Sequence[bytes], lost: int = 0) -> int:
        """Append lines that are on disk afterwards, and return how many records are lost, with those given."""
        lost += len(lines)
        with suppress(OSError):
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                before = _read_lost(os.pread(descriptor, _HEADER_BYTES, 0))
                lost -= _append(descriptor, lines)
                if lost:
                    os.pwrite(descriptor, _header(before + lost), 0)
            finally:
                os.close(descriptor)
        return lost

    def begin_replay(self) -> bool:
        """Lock the file; False if nothing is waiting or another process is replaying it."""
        if self.status() == (0, 0):
            return False
        descriptor = None
        try:
            descriptor = os.open(self.file, os.O_RDWR | os.O_NOFOLLOW)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if descriptor is not None:
                os.close(descriptor)
            return False
        self._replaying = descriptor
        os.lseek(descriptor, _HEADER_BYTES, os.SEEK_SET)
        return True

    def read(self) -> Records | None:
        """Return the next records, None after the last."""
        assert self._replaying is not None
        records, size, unreadable = Records(), 0, 0
        with os.fdopen(self._replaying, "rb", closefd=False) as file:
            file.seek(os.lseek(self._replaying, 0, os.SEEK_CUR))
            while size < _PIECE_BYTES and (line := file.readline()):
                size += len(line)
                unreadable += not (records.read(line) or line.isspace())
            os.lseek(self._replaying, file.tell(), os.SEEK_SET)
        if unreadable:
            logger.warning("%d lines of %s are damaged and were left out", unreadable, self.file)
        return records if size else None

    def end_replay(self, *, is_stored: bool) -> int:
        """Unlock the file, emptied if all of it is stored; returns how many records had found no room in it."""
        assert self._replaying is not None
        lost = 0
        try:
            if is_stored:
                lost = _read_lost(os.pread(self._replaying, _HEADER_BYTES, 0))
                os.ftruncate(self._replaying, 0)
        finally:
            os.close(self._replaying)
            self._replaying = None
        return lost


def _append(descriptor: int, lines: Sequence[bytes]) -> int:
    """Append what fits, whole lines only, and return how many."""
    size = os.fstat(descriptor).st_size
    if size < _HEADER_BYTES:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, _header(0), 0)
        size = _HEADER_BYTES
    elif os.pread(descriptor, 1, size - 1) != b"\n":
        # A process was killed while it wrote.
        os.pwrite(descriptor, b"\n", size)
        size += 1
    room, count, data = MAX_BYTES - size, 0, []
    for line in lines:
        if len(line) <= room:
            room -= len(line)
            count += 1
            data.append(line)
    text = b"".join(data)
    try:
        if os.pwrite(descriptor, text, size) == len(text):
            os.fsync(descriptor)
            return count
    except OSError as error:
        logger.debug("the journal cannot be written: %s", error)
    os.ftruncate(descriptor, size)
    return 0


def _read_lost(header: bytes) -> int:
    try:
        return int(json.loads(header)["lost"])
    except (ValueError, KeyError, TypeError):
        return 0
