"""Landlock: the kernel's restrictions on files, network and signals, where it has them."""

from __future__ import annotations

import ctypes
import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EXECUTE", "LIST", "MAKE", "READ", "WRITE", "restrict", "version"]

EXECUTE, WRITE, READ, LIST, MAKE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 8
"""Rights over files: run, write, read; over folders: list, make plain files in."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_BENEATH = 1
_ASK_VERSION = 1

_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 5: 16}
"""The number of file rights since each version."""
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6
_BIND_AND_CONNECT = 0b11
_SOCKETS_AND_SIGNALS = 0b11


def version() -> int:
    """Return the version that the kernel supports; raise `OSError` if it has none."""
    return _call(_CREATE, None, 0, _ASK_VERSION)


def restrict(exceptions: Sequence[tuple[int, int]] = ()) -> int:
    """Drop every right that it knows, permanently, and return the version.

    The exceptions are descriptors of files or folders, each with the rights that remain there.
    """
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
        for descriptor, rights in exceptions:
            _call(_ADD, rules, _BENEATH, struct.pack("=Qi", rights, descriptor), 0)
        _call(_RESTRICT, rules, 0, 0)
    finally:
        os.close(rules)
    return spoken


def _call(number: int, *arguments: bytes | int | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    plain = [ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments]
    result: int = libc.syscall(ctypes.c_long(number), *plain)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
