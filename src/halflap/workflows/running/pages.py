"""The file that a run is written down in: line after line, each with a sum over all before it, and one writer at a time."""

from __future__ import annotations

import fcntl
import json
import os
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.core.errors import FileError, RunNotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Pages", "forget_old"]

_SUFFIX = ".jsonl"
_SHORTEST = 4
_MOST_SUGGESTED = 5
_BEGIN = ""
"""What the sum of the first line goes on from."""


class Pages:
    """The file of one run, locked as long as it is open."""

    def __init__(self, file: Path, descriptor: int) -> None:
        self._file = file
        self._descriptor = descriptor
        self._sum = _BEGIN

    @property
    def run(self) -> str:
        """The identifier of the run."""
        return self._file.stem

    @classmethod
    def begin(cls, folder: Path, run: str) -> Pages:
        """Begin the file of a new run; only its owner can read it."""
        file = folder / f"{run}{_SUFFIX}"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except OSError as error:
            raise FileError(
                f"{file} cannot be written: {error.strerror}. A run is written down there, to go on with after a crash."
            ) from None
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return cls(file, descriptor)

    @classmethod
    def open(cls, folder: Path, run: str) -> Pages:
        """Open the file of a run, by its identifier or the beginning of it."""
        found = sorted(folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else []
        near = [one for one in found if one.stem == run] or [
            one for one in found if run and one.stem.startswith(run)
        ]
        if not near:
            raise RunNotFoundError(run)
        if len(near) > 1 or len(run) < _SHORTEST:
            lines = [one.stem for one in near[-_MOST_SUGGESTED:][::-1]]
            lines += ["… and more"] if len(near) > _MOST_SUGGESTED else []
            what = (
                "Of these runs that can be gone on with, write more than"
                if len(near) > 1
                else "Write more than"
            )
            raise UsageError("\n  ".join([f"{what} {run!r}:", *lines]))
        try:
            # No link: whoever put one there would have another file cut.
            descriptor = os.open(near[0], os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        except OSError as error:
            raise FileError(f"{near[0]} cannot be opened: {error.strerror}.") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            raise UsageError(
                f"The run {near[0].stem} is under way. Wait for its end; what it lacks then can be gone on with."
            ) from None
        if not os.fstat(descriptor).st_nlink:
            # It came to its end between the two.
            os.close(descriptor)
            raise RunNotFoundError(run)
        return cls(near[0], descriptor)

    def read(self) -> list[Any]:
        """Give all lines; a `FileError` says if it is not as it was written."""
        with os.fdopen(os.dup(self._descriptor), "rb") as stream:
            stream.seek(0)
            lines = stream.read().split(b"\n")
        # What comes after the last line break was being written when it crashed.
        torn = len(lines.pop())
        if torn:
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - torn)
        return [self._said(at, line) for at, line in enumerate(lines, 1)]

    def _said(self, at: int, line: bytes) -> Any:
        found, _, body = line.partition(b" ")
        self._sum = _sum(self._sum, body)
        if found != self._sum.encode():
            raise self.damaged(f"line {at} is not as it was written, or one before it is missing")
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self.damaged(f"line {at}: {error}") from None

    def damaged(self, why: str) -> FileError:
        """Say that nothing can be made of the file."""
        return FileError(
            f"{self._file} is damaged: {why}. The run cannot be gone on with: what was done is not known for sure. "
            f"`halflap runs show {self.run}` tells its calls; run the workflow from the start."
        )

    def write(self, said: Mapping[str, Any]) -> None:
        """Add a line; it is on disk then."""
        body = json.dumps(said).encode()
        self._sum = _sum(self._sum, body)
        data = self._sum.encode() + b" " + body + b"\n"
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise FileError(f"{self._file} cannot be written: {error.strerror}.") from None

    def close(self, *, forget: bool) -> None:
        """Let others have it; or there is nothing to go on with, and it is deleted."""
        if forget:
            self._file.unlink(missing_ok=True)
        os.close(self._descriptor)


def forget_old(folder: Path, days: float) -> None:
    """Take out the files of runs that nobody has gone on with for so long; what is under way stays."""
    for file in folder.glob(f"*{_SUFFIX}") if folder.is_dir() else ():
        try:
            if time.time() - file.stat().st_mtime <= days * 86_400:
                continue
            descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:
            # Somebody else's, or gone meanwhile.
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.unlink(missing_ok=True)
        except BlockingIOError:
            pass
        finally:
            os.close(descriptor)


def _sum(before: str, body: bytes) -> str:
    return sha256(before.encode() + body).hexdigest()
