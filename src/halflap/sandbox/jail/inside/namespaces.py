"""Namespaces for the fork server and its processes: no network, no files, no other process."""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.sandbox.jail.inside import privileges

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["add_folder", "continue_as_first_process", "leave_the_files", "unshare"]

_NEWNS, _NEWUTS, _NEWIPC, _NEWUSER, _NEWPID, _NEWNET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
_READ_ONLY, _NOSUID, _NODEV, _NOEXEC, _REMOUNT, _RECURSIVE, _PRIVATE, _DETACH = (
    1,
    2,
    4,
    8,
    32,
    16384,
    1 << 18,
    2,
)
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}


def unshare() -> None:
    """Enter new namespaces; the next child is the first process in them. Requires a single thread."""
    user, group = os.getuid(), os.getgid()
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.unshare(_NEWUSER | _NEWNS | _NEWUTS | _NEWIPC | _NEWPID | _NEWNET), "unshare")
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny", encoding="ascii")
    (own / "uid_map").write_text(f"{user} {user} 1", encoding="ascii")
    (own / "gid_map").write_text(f"{group} {group} 1", encoding="ascii")


def continue_as_first_process() -> None:
    """Fork: the child, the first process of its namespace, continues; the parent waits for it and ends with it.

    When the first process of a namespace ends, the kernel ends all others in it.
    """
    first = os.fork()
    if first == 0:
        privileges.die_with_parent()
        return
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    while True:
        _, status = os.waitpid(first, 0)
        if not os.WIFSTOPPED(status):
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def leave_the_files(
    furnish: Callable[[], None] | None = None, limits: bytes = b"size=4k,nr_inodes=1"
) -> None:
    """Make an empty folder the root of the file system, and detach the rest.

    `furnish` can put files there while the old root is still visible; only then can anything be executed.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.mount(None, b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None), "make mounts private")
    place = b"/tmp" if Path("/tmp").is_dir() else b"/proc"  # noqa: S108 -- covered in our own namespace alone
    flags = _NOSUID | _NODEV | (_NOEXEC if furnish is None else 0)
    _check(libc.mount(b"none", place, b"tmpfs", ctypes.c_ulong(flags), limits), "mount")
    os.chdir(place)
    if furnish is not None:
        furnish()
    root = ctypes.c_long(_PIVOT_ROOT[platform.machine()])
    _check(libc.syscall(root, b".", b"."), "pivot_root")
    _check(libc.umount2(b".", _DETACH), "unmount")
    os.chdir("/")
    again = ctypes.c_ulong(flags | _REMOUNT | _READ_ONLY)
    _check(libc.mount(b"none", b"/", None, again, None), "make read-only")
    libc.sethostname(b"halflap", 7)


def add_folder(path: str, limits: bytes) -> None:
    """Mount a folder in memory, in which files can be written but not executed."""
    libc = ctypes.CDLL(None, use_errno=True)
    flags = ctypes.c_ulong(_NOSUID | _NODEV | _NOEXEC)
    _check(libc.mount(b"none", path.encode(), b"tmpfs", flags, limits), "mount")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
