"""Read and swap the folders of DSPy programs through descriptors: no link leads out, and no two versions are mixed."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import re
import secrets
import shutil
import stat
import time
from typing import TYPE_CHECKING

from halflap.core.errors import FileError, ProgramBrokenError
from halflap.dspy.manifest import MANIFEST
from halflap.dspy.spec import VERSION
from halflap.dspy.state import STATE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "VERSIONS",
    "Files",
    "exchange",
    "fingerprint",
    "is_current",
    "locked",
    "names_in",
    "new_folder",
    "opened",
]
__all__ += ["read_files", "versions_in"]

VERSIONS = "versions"
Files = tuple[bytes, bytes]
"""The manifest and the state, as they are on disk."""
_MAX_BYTES = {MANIFEST: 262_144, STATE: 4_194_304}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PICKLE = re.compile(r".*\.(?:pkl|pickle|cloudpickle)", re.IGNORECASE)
_LINK = "is a symbolic link, which is not followed"
_MAX_WAIT_SECONDS = 10.0
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


# Reading ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def opened(path: Path | str, parent: int | None = None) -> Iterator[int]:
    """Open a folder. Below another one, a link is not followed; the root may be one, since the user configured it."""
    flags = _FOLDER if parent is None else _FOLDER | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, dir_fd=parent)
    except OSError as error:
        if parent is None:
            raise
        why = _LINK if stat.S_ISLNK(_mode(str(path), parent)) else f"cannot be read: {error.strerror}"
        raise ProgramBrokenError(str(path), [f"its folder {why}."]) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_current(name: str, root: int, folder: int) -> bool:
    """Return whether an open folder still has its name: it may have been swapped for another one."""
    try:
        return os.path.samestat(os.stat(name, dir_fd=root, follow_symlinks=False), os.fstat(folder))
    except OSError:
        return False


def names_in(root: int) -> list[str]:
    """Return what may be programs: folders, and links, which are then refused; nothing hidden."""
    with os.scandir(root) as entries:
        return [
            one.name
            for one in entries
            if not one.name.startswith(".") and (one.is_dir() or (one.is_symlink() and not one.is_file()))
        ]


def versions_in(folder: int) -> list[str]:
    try:
        with opened(VERSIONS, folder) as inner, os.scandir(inner) as entries:
            return [
                one.name
                for one in entries
                if VERSION.fullmatch(one.name) and one.is_dir(follow_symlinks=False)
            ]
    except (ProgramBrokenError, OSError):
        return []


def fingerprint(name: str, root: int) -> tuple[tuple[int, ...], ...]:
    """Return what changes whenever a program does, without reading it."""
    try:
        with opened(name, root) as folder:
            return (_stat(".", folder), *(_stat(one, folder) for one in (MANIFEST, STATE, VERSIONS)))
    except (ProgramBrokenError, OSError):
        return (_stat(name, root),)


def _stat(name: str, folder: int) -> tuple[int, ...]:
    try:
        one = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        return (error.errno or 0,)
    return (one.st_dev, one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns)


def _mode(name: str, folder: int) -> int:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return 0


def read_files(folder: int, program: str) -> Files:
    """Return the two files of a program; nothing else in its folder is ever opened."""
    problems: list[str] = []
    manifest, state = (_read_file(file, folder, problems) for file in (MANIFEST, STATE))
    if problems:
        pickles = sorted(one for one in os.listdir(folder) if _PICKLE.fullmatch(one))
        if pickles and not _mode(STATE, folder):
            problems.append(
                f"{', '.join(pickles[:3])}: loading a pickle runs code, so it is never opened. Save the state as JSON with "
                f'`program.save("{STATE}")`, or use `halflap programs export`.'
            )
        raise ProgramBrokenError(program, problems)
    return manifest, state


def _read_file(file: str, folder: int, problems: list[str]) -> bytes:
    mode = _mode(file, folder)
    # Checked before it is opened, since opening a device may have effects, and again afterwards.
    if not stat.S_ISREG(mode):
        is_link = stat.S_ISLNK(mode)
        problems.append(f"{file} {_LINK if is_link else 'is not a plain file' if mode else 'is missing'}.")
        return b""
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(file, flags, dir_fd=folder), "rb") as source:
            if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
                problems.append(f"{file} is not a plain file.")
                return b""
            data = source.read(_MAX_BYTES[file] + 1)
    except OSError as error:
        problems.append(f"{file} cannot be read: {error.strerror}.")
        return b""
    if len(data) > _MAX_BYTES[file]:
        problems.append(f"{file} is larger than {_MAX_BYTES[file]:,} bytes.")
    return data


# Writing ----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Keep other Halflap processes from writing to the folder."""
    with opened(root) as descriptor:
        until = time.monotonic() + _MAX_WAIT_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise FileError(
                        f"Another Halflap process is writing to {root}. Nothing was changed; try again."
                    ) from None
                time.sleep(0.02)
        yield


@contextlib.contextmanager
def new_folder(root: Path, name: str, files: Files) -> Iterator[Path]:
    """Write a hidden folder that the caller renames; whatever has its name at the end is removed."""
    folder = root / f".{name}.{secrets.token_hex(8)}"
    folder.mkdir(mode=0o700)
    try:
        for file, data in zip((MANIFEST, STATE), files, strict=True):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(folder / file, flags, 0o600), "wb") as target:
                target.write(data)
                target.flush()
                os.fsync(target.fileno())
        yield folder
    finally:
        if os.path.lexists(folder):
            shutil.rmtree(folder)


def exchange(one: Path, other: Path) -> None:
    """Swap two folders in one step, so that readers find either the one or the other."""
    with contextlib.suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
            return
    # Without renameat2 there are three steps, and a moment without either.
    aside = one.with_name(f"{one.name}.old")
    other.rename(aside)
    try:
        one.rename(other)
    except BaseException:
        aside.rename(other)
        raise
    aside.rename(one)
