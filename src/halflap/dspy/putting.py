"""Puts folders in their place whole: written beside it, then swapped in one step."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import secrets
import shutil
import time
from typing import TYPE_CHECKING

from halflap.core.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

__all__ = ["exchange", "locked", "new_folder", "take_over"]

_LONGEST_WAIT_SECONDS = 10.0
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Keep other processes of ours from writing to the folder."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + _LONGEST_WAIT_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise FileError(
                        f"{root} is being written to by another Halflap. Nothing was changed; try again."
                    ) from None
                time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def new_folder(root: Path, name: str, files: Mapping[str, bytes]) -> Iterator[Path]:
    """Give a hidden folder with these files, to be renamed; what is there by its name at the end is removed."""
    folder = root / f".{name}.{secrets.token_hex(8)}"
    folder.mkdir(mode=0o700)
    try:
        for file, data in files.items():
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(folder / file, flags, 0o600), "wb") as target:
                target.write(data)
                target.flush()
                os.fsync(target.fileno())
        yield folder
    finally:
        if os.path.lexists(folder):
            shutil.rmtree(folder)


def take_over(old: Path, new: Path, but: Collection[str]) -> None:
    """Have everything of one folder in another one, too, apart from a few files."""
    with os.scandir(old) as entries:
        for entry in entries:
            target = new / entry.name
            if entry.name in but:
                continue
            if entry.is_dir(follow_symlinks=False):
                target.mkdir(mode=0o700)
                take_over(old / entry.name, target, ())
            else:
                os.link(entry.path, target, follow_symlinks=False)


def exchange(one: Path, other: Path) -> None:
    """Swap two folders in one step, so that whoever looks finds the one or the other."""
    with contextlib.suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        if rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
            return
    # Where the system has no such step there are three, and a moment without either.
    aside = one.with_name(f"{one.name}.old")
    other.rename(aside)
    try:
        one.rename(other)
    except BaseException:
        aside.rename(other)
        raise
    aside.rename(one)
