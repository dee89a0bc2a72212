"""Read files up to a size limit, and replace them atomically."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


def read_limited(path: Path, limit: int, *, regular: bool = False, follow: bool = True) -> tuple[bytes, int]:
    """Return a file's bytes and mode; raise OSError if it can't be read or is larger than `limit` (EFBIG).

    `regular` refuses pipes and devices without waiting for them; `follow=False` refuses symbolic links.
    """
    # Without O_NONBLOCK, opening a named pipe waits for a writer.
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | (getattr(os, "O_NONBLOCK", 0) if regular else 0)
    try:
        descriptor = os.open(path, flags | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    except ValueError as error:
        raise OSError(errno.EINVAL, "Invalid file name") from error
    except OSError as error:
        if error.errno == errno.ELOOP and not follow:
            raise OSError(errno.ELOOP, "It is a symbolic link") from None
        raise
    mode = os.fstat(descriptor).st_mode
    if regular and not stat.S_ISREG(mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a file")
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"Larger than {limit // 1024:,} KiB")
    return data, stat.S_IMODE(mode)


@contextmanager
def replacing(path: Path, mode: int = 0o600) -> Iterator[IO[bytes]]:
    """Open a temporary file next to `path` that takes its place at the end, unless something is raised."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
