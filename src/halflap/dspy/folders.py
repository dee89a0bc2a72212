"""Reads the two files of a DSPy program through its folder's descriptor, so that they belong together and no link leads out."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from typing import TYPE_CHECKING

from halflap.core.errors import ProgramBrokenError
from halflap.dspy.manifest import MANIFEST, VERSION, read_manifest
from halflap.dspy.state import STATE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["VERSIONS", "is_still", "look", "names_in", "opened", "opened_root", "read_files", "versions_in"]

VERSIONS = "versions"

_LARGEST = {MANIFEST: 262_144, STATE: 4_194_304}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_PICKLES = re.compile(r".*\.(?:pkl|pickle|cloudpickle)", re.IGNORECASE)
_LINK = "is a symbolic link, which is not followed. Put there what it leads to."
_Look = tuple[object, ...]


@contextlib.contextmanager
def opened_root(path: Path) -> Iterator[int]:
    """Open the folder of all programs, which the configuration names: a link is the user's own."""
    descriptor = os.open(path, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened(name: str, folder: int, program: str) -> Iterator[int]:
    """Open a folder in a folder, unless it is a link."""
    try:
        descriptor = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        is_link = stat.S_ISLNK(_mode(name, folder))
        why = _LINK if is_link else f"cannot be read: {error.strerror}."
        raise ProgramBrokenError(program, [f"its folder {why}"]) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def is_still(name: str, root: int, folder: int) -> bool:
    """Say whether a folder that was opened is the one that has the name now."""
    try:
        return os.path.samestat(os.stat(name, dir_fd=root, follow_symlinks=False), os.fstat(folder))
    except OSError:
        return False


def names_in(root: int) -> list[str]:
    """Give what may be programs: folders, and links, which are then refused; nothing that is hidden."""
    names = []
    with os.scandir(root) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if not entry.name.startswith(".") and (
                    entry.is_dir() or (entry.is_symlink() and not entry.is_file())
                ):
                    names.append(entry.name)
    return names


def versions_in(folder: int) -> list[str]:
    """Give the versions that are kept in a program's folder, if it has any."""
    try:
        with opened(VERSIONS, folder, "") as inner, os.scandir(inner) as entries:
            return [
                entry.name
                for entry in entries
                if VERSION.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            ]
    except (ProgramBrokenError, OSError):
        return []


def look(name: str, root: int) -> _Look:
    """Give what changes whenever a program does, without reading it."""
    try:
        with opened(name, root, name) as folder:
            return (_seen(os.fstat(folder)), *(_state(one, folder) for one in (MANIFEST, STATE, VERSIONS)))
    except (ProgramBrokenError, OSError):
        return (_state(name, root),)


def _state(name: str, folder: int) -> _Look:
    try:
        return _seen(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except OSError as error:
        return (error.errno,)


def _seen(one: os.stat_result) -> _Look:
    return (one.st_dev, one.st_ino, one.st_mode, one.st_size, one.st_mtime_ns, one.st_ctime_ns)


def _mode(name: str, folder: int) -> int:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    except OSError:
        return 0


def read_files(folder: int, program: str) -> tuple[bytes, bytes]:
    """Give the bytes of the manifest and of the state; nothing else in the folder is ever opened."""
    problems: list[str] = []
    found = [_read_file(file, folder, problems) for file in (MANIFEST, STATE)]
    if problems:
        if found[0] and len(found[0]) <= _LARGEST[MANIFEST]:
            # What is wrong with the one is no reason to keep silent about the other.
            try:
                read_manifest(found[0], name=program)
            except ProgramBrokenError as error:
                problems.extend(error.problems)
        pickles = sorted(one for one in os.listdir(folder) if _PICKLES.fullmatch(one))
        if pickles and not _mode(STATE, folder):
            problems.append(
                f"{', '.join(pickles[:3])}: a pickle runs code when it is loaded, so it is never opened. Save the state as "
                f'JSON: `program.save("{STATE}")`, or export the program with `halflap programs export`.'
            )
        raise ProgramBrokenError(program, problems)
    return found[0], found[1]


def _read_file(file: str, folder: int, problems: list[str]) -> bytes:
    mode = _mode(file, folder)
    if mode == 0:
        problems.append(f"{file} is missing.")
        return b""
    # Looked at before it is opened: to open a device may do something.
    if stat.S_ISLNK(mode):
        problems.append(f"{file} {_LINK}")
        return b""
    if not stat.S_ISREG(mode):
        problems.append(f"{file} is not a plain file.")
        return b""
    try:
        # Without waiting, if something else has taken its place meanwhile.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(file, flags, dir_fd=folder), "rb") as source:
            if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
                problems.append(f"{file} is not a plain file.")
                return b""
            data = source.read(_LARGEST[file] + 1)
    except OSError as error:
        problems.append(f"{file} cannot be read: {error.strerror}.")
        return b""
    if len(data) > _LARGEST[file]:
        problems.append(f"{file} is larger than {_LARGEST[file]:,} bytes.")
    return data
