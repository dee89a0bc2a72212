"""Which user programs run as when the gateway is root. Asked here: the answers stay in the memory of who asks."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
from pathlib import Path

__all__ = ["private_user"]

_PRIVATE = range(61_184, 65_520)
"""Where systemd, too, takes users from that exist only while somebody runs as them."""
_NOBODY = 65_534
_TRIES = 100


def private_user() -> int:
    """Give a user that has no name and no process; as anybody but root, who we are."""
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
