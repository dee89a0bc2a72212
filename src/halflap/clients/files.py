"""Files of other programs, read and replaced with care: whole or not at all, where links lead, with their mode."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from halflap.core.errors import ClientFileError

__all__ = ["FileText", "back_up", "delete", "read_file", "replace_file"]

_LARGEST = 64 * 1024 * 1024
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True)
class FileText:
    """What a file holds, and where it really is; `data` is None if there is no such file."""

    path: Path
    real: Path
    data: bytes | None
    mode: int = _PRIVATE

    @property
    def text(self) -> str:
        """Its text; one without a file is empty."""
        try:
            return (self.data or b"").decode()
        except UnicodeDecodeError as error:
            line = (self.data or b"").count(b"\n", 0, error.start) + 1
            raise ClientFileError(
                f"{self.path}:{line}: the file is not UTF-8. Save it as UTF-8. Nothing was written."
            ) from None

    @property
    def digest(self) -> str:
        """Tell it from any other text; empty if there is no file."""
        return "" if self.data is None else sha256(self.data).hexdigest()


def read_file(path: Path) -> FileText:
    """Read a file once; that there is none is no error, that it cannot be read is one."""
    real = Path(os.path.realpath(path))
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        # Without O_NONBLOCK, opening a named pipe waits for somebody to write to it.
        with os.fdopen(os.open(real, flags), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise _refused(path, "this is not a file")
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return FileText(path, real, None)
    except IsADirectoryError:
        raise _refused(path, "this is a folder, not a file") from None
    except OSError as error:
        raise _refused(path, f"it cannot be read: {error.strerror}") from error
    if len(data) > _LARGEST:
        raise _refused(path, f"it is larger than {_LARGEST // 1024 // 1024} MiB")
    return FileText(path, real, data, stat.S_IMODE(state.st_mode))


def replace_file(before: FileText, data: bytes) -> None:
    """Put a text in the place of the one that was read; refuse if it is not that one any more."""
    _may_change(before)
    temporary = None
    try:
        before.real.parent.mkdir(parents=True, exist_ok=True)
        # mkstemp makes the file 0600 from the start; it gets the old one's mode before it takes its place.
        descriptor, temporary = tempfile.mkstemp(dir=before.real.parent, prefix=f".{before.real.name}.")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), before.mode)
            os.fsync(file.fileno())
        _is_as_read(before)
        Path(temporary).replace(before.real)
        temporary = None
        _sync_folder(before.real.parent)
    except OSError as error:
        raise _refused(before.path, f"it cannot be written: {error.strerror}") from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                Path(temporary).unlink()


def delete(before: FileText) -> None:
    """Take away a file that is still as it was read."""
    _is_as_read(before)
    try:
        before.real.unlink()
    except OSError as error:
        raise _refused(before.path, f"it cannot be deleted: {error.strerror}") from error


def back_up(before: FileText, folder: Path, name: str) -> Path:
    """Keep a copy of what was read, for its owner alone, under a name with the time."""
    stamp = datetime.now(tz=UTC).astimezone().strftime("%Y-%m-%dT%H-%M-%S")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in range(1000):
            again = f".{number}" if number else ""
            path = folder / f"{name}.{stamp}{again}.backup"
            with suppress(FileExistsError):
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(before.data or b"")
                    file.flush()
                    os.fsync(file.fileno())
                return path
    except OSError as error:
        raise _refused(before.path, f"no copy of it can be kept in {folder}: {error.strerror}") from error
    raise _refused(before.path, f"no copy of it can be kept in {folder}: there are too many")


def _may_change(before: FileText) -> None:
    # Asked of the mode, not of the system: a name can be replaced in a folder whatever the file's mode is, and
    # whoever protected the file did not mean that.
    if before.data is not None and not before.mode & 0o222:
        raise _refused(before.path, "it is write-protected. If that is no longer meant, make it writable")


def _is_as_read(before: FileText) -> None:
    if read_file(before.path).data != before.data:
        raise _refused(before.path, "it was changed by another program just now. Try again")


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _refused(path: Path, why: str) -> ClientFileError:
    return ClientFileError(f"{path}: {why}. Nothing was written.")
