"""Which user programs run as when the gateway is root. Looked up in the gateway, so that no process below sees the list."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
from pathlib import Path

__all__ = ["private_user"]

_PRIVATE = range(61_184, 65_520)
"""The range that systemd uses for dynamic users, too."""
_NOBODY = 65_534
_TRIES = 100


def private_user() -> int:
    """Return a user id without a name and without processes; unless root, our own."""
    if os.getuid() != 0:
        return os.getuid()
    taken = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            taken.add(folder.stat().st_uid)
    for _ in range(_TRIES):
        number = secrets.choice(_PRIVATE)
        if number not in taken and not _is_named(number):
            return number
    return _NOBODY


def _is_named(number: int) -> bool:
    try:
        pwd.getpwuid(number)
    except KeyError:
        return False
    return True
