"""Give up what a process may do by who it is: user, groups, capabilities, the right to gain more."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import pwd
import secrets
import signal
import struct
from pathlib import Path

__all__ = ["allow_no_more", "become_nobody", "die_with_parent", "drop_capabilities", "hide", "show"]

_SET_PDEATHSIG, _SET_DUMPABLE, _CAPBSET_DROP, _SET_NO_NEW_PRIVS, _CAP_AMBIENT = 1, 4, 24, 38, 47
_AMBIENT_CLEAR_ALL = 4
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63

_PRIVATE_IDS = range(61_184, 65_520)
"""Where systemd, too, takes users from that exist only while somebody runs as them."""
_NOBODY = 65_534


def _prctl(option: int, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    padded = [ctypes.c_ulong(argument) for argument in (*arguments, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *padded) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def allow_no_more() -> None:
    """Never gain a right by executing anything; the condition for what follows."""
    _prctl(_SET_NO_NEW_PRIVS, 1)


def hide() -> None:
    """Let nobody of the same user read our memory, and no core be written."""
    _prctl(_SET_DUMPABLE, 0)


def show() -> None:
    """Let our own entries in /proc belong to us again: after a change of user they don't."""
    _prctl(_SET_DUMPABLE, 1)


def die_with_parent() -> None:
    """Be killed when the process that started us ends."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def become_nobody() -> int:
    """As root, become a user that owns nothing and runs nothing else; gives its number."""
    taken = _users_of_processes()
    free = [number for number in _PRIVATE_IDS if number not in taken and not _is_named(number)]
    choices = [secrets.choice(free)] if free else []
    for number in [*choices, _NOBODY]:
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


def _users_of_processes() -> set[int]:
    users = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            users.add(folder.stat().st_uid)
    return users


def _is_named(number: int) -> bool:
    try:
        pwd.getpwuid(number)
    except KeyError:
        return False
    return True


def drop_capabilities() -> None:
    """Give up every capability, also those that could be had again."""
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
    if libc.syscall(ctypes.c_long(_CAPSET[os.uname().machine]), header, nothing) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
