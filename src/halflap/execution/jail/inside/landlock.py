"""The kernel's own fence around files, network and signals, where it has one (Landlock)."""

from __future__ import annotations

import ctypes
import os
import struct

__all__ = ["restrict", "version"]

_CREATE, _RESTRICT = 444, 446
_ASK_VERSION = 1

_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""From this version on there are so many rights over files."""
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6
_BIND_AND_CONNECT = 0b11
_SOCKETS_AND_SIGNALS = 0b11


def version() -> int:
    """Give the version that the kernel speaks; an `OSError` if it has none."""
    return _call(_CREATE, None, 0, _ASK_VERSION)


def restrict() -> int:
    """Take every right that it knows from this process, for ever, and give the version."""
    spoken = version()
    files = max(count for since, count in _FILE_RIGHTS.items() if since <= spoken)
    parts = [(1 << files) - 1]
    if spoken >= _NETWORK_SINCE:
        parts.append(_BIND_AND_CONNECT)
    if spoken >= _SCOPES_SINCE:
        parts.append(_SOCKETS_AND_SIGNALS)
    attributes = struct.pack(f"={len(parts)}Q", *parts)
    rules = _call(_CREATE, attributes, len(attributes), 0)
    try:
        _call(_RESTRICT, rules, 0, 0)
    finally:
        os.close(rules)
    return spoken


def _call(number: int, first: bytes | int | None, second: int, third: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result: int = libc.syscall(
        ctypes.c_long(number),
        ctypes.c_long(first) if isinstance(first, int) else first,
        ctypes.c_size_t(second),
        ctypes.c_uint(third),
    )
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
