"""Drops what a process may do by its identity: user, groups, capabilities, the right to gain more."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import signal
import struct
from pathlib import Path
from typing import Any

__all__ = [
    "adopt_orphans",
    "allow_no_more",
    "be_first_to_go",
    "become_nobody",
    "die_with_parent",
    "drop_capabilities",
    "forget_the_host",
    "hide",
    "show",
]

_SET_PDEATHSIG, _SET_DUMPABLE, _CAPBSET_DROP, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 1, 4, 24, 38, 47
_SET_CHILD_SUBREAPER = 36
_AMBIENT_CLEAR_ALL = 4
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63

_NOBODY = 65_534


def _prctl(option: int, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *padded) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def allow_no_more() -> None:
    """Never gain a right by executing anything; seccomp and Landlock require that."""
    _prctl(_SET_NO_NEW_PRIVS, 1)


def hide() -> None:
    """Protect our memory from other processes of the same user, and write no core dump."""
    _prctl(_SET_DUMPABLE, 0)


def show() -> None:
    """Own our entries in /proc again, which a change of user takes away."""
    _prctl(_SET_DUMPABLE, 1)


def adopt_orphans() -> None:
    """Become the parent of whatever our children leave behind."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def be_first_to_go() -> None:
    """Be the first to be killed when memory runs out: a program, not the gateway."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def die_with_parent() -> None:
    """Be killed when the process that started us ends."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def forget_the_host(machine: str) -> None:
    """Hide the host's name and version: `platform` answers without asking the kernel."""
    known: Any = platform
    known._uname_cache = platform.uname_result("Linux", "halflap", "", "", machine)  # noqa: SLF001 -- the only place


def become_nobody(wanted: int) -> int:
    """As root, become a user that owns nothing and runs nothing else; return its id."""
    for number in (wanted, _NOBODY):
        try:
            os.setgroups([])
            os.setresgid(number, number, number)
            os.setresuid(number, number, number)
        except OSError as error:
            # A container may map fewer users than there are numbers.
            if error.errno != errno.EINVAL:
                raise
        else:
            return number
    raise OSError(errno.EPERM, "there is no unprivileged user to become")


def drop_capabilities() -> None:
    """Drop every capability, also those that could be regained."""
    for capability in range(_LAST_CAPABILITY + 1):
        try:
            _prctl(_CAPBSET_DROP, capability)
        except OSError:
            # The first that the kernel does not know, or that was not ours to drop in the first place.
            break
    with contextlib.suppress(OSError):
        _prctl(_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    libc = ctypes.CDLL(None, use_errno=True)
    header, nothing = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0), bytes(24)
    call = _CAPSET.get(platform.machine())
    if call is None:
        raise OSError(errno.ENOSYS, f"no table of system calls for {platform.machine()}")
    if libc.syscall(ctypes.c_long(call), header, nothing) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
