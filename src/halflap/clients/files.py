"""Read and atomically replace files of other programs, through links and with their mode."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from halflap.core.errors import ClientFileError
from halflap.core.files import read_limited, replacing

_MAX_BYTES = 64 * 1024 * 1024
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as it was read; `data` is None if it did not exist."""

    path: Path
    real: Path
    data: bytes | None
    mode: int = _PRIVATE

    @property
    def text(self) -> str:
        try:
            return (self.data or b"").decode()
        except UnicodeDecodeError as error:
            line = (self.data or b"").count(b"\n", 0, error.start) + 1
            raise ClientFileError(f"{self.path}:{line}: the file is not UTF-8. Save it as UTF-8.") from None

    @property
    def digest(self) -> str | None:
        return None if self.data is None else sha256(self.data).hexdigest()


def read_file(path: Path) -> FileText:
    """Read a file, which need not exist."""
    real = Path(os.path.realpath(path))
    try:
        data, mode = read_limited(real, _MAX_BYTES, regular=True)
    except FileNotFoundError:
        return FileText(path, real, None)
    except OSError as error:
        raise ClientFileError(f"{path}: the file can't be read: {error.strerror}.") from error
    return FileText(path, real, data, mode)


def replace_file(before: FileText, data: bytes | None) -> None:
    """Replace a file, or delete it for None, unless it has changed since it was read."""
    # Replacing works even for a write-protected file, against its owner's intention.
    if before.data is not None and not before.mode & 0o222:
        raise _not_written(before, "it is write-protected")
    with _reported(before, "it can't be written"):
        if data is None:
            _check_unchanged(before)
            before.real.unlink()
            return
        before.real.parent.mkdir(parents=True, exist_ok=True)
        with replacing(before.real, before.mode) as file:
            file.write(data)
            _check_unchanged(before)


def back_up(before: FileText, folder: Path) -> Path:
    """Write a private copy, named after the file and the time."""
    stamp = datetime.now(tz=UTC).astimezone().strftime("%Y-%m-%dT%H-%M-%S.%f")
    copy = folder / f"{before.path.name}.{stamp}.backup"
    with _reported(before, f"no backup can be written to {folder}"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(copy) as file:
            file.write(before.data or b"")
    return copy


def _check_unchanged(before: FileText) -> None:
    if read_file(before.path).data != before.data:
        raise _not_written(before, "another program changed it just now. Try again")


@contextmanager
def _reported(before: FileText, failure: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _not_written(before, f"{failure}: {error.strerror}") from error


def _not_written(before: FileText, why: str) -> ClientFileError:
    return ClientFileError(f"{before.path}: {why}. Nothing was written.")
