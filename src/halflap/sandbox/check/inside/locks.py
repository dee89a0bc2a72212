"""Put an examination, and within it ty, behind the locks that this machine has."""

from __future__ import annotations

import os
import resource
import signal
import sys
from dataclasses import dataclass

from halflap.sandbox.jail.inside import locks as kernel
from halflap.sandbox.jail.inside import seccomp

__all__ = ["IS_LINUX", "Locks", "die_with", "limit_the_server", "lock_examination", "lock_ty"]

IS_LINUX = sys.platform.startswith("linux")
_LIMITS = {
    "RLIMIT_STACK": 16 * 1024 * 1024,
    "RLIMIT_CORE": 0,
    "RLIMIT_MEMLOCK": 0,
    "RLIMIT_MSGQUEUE": 0,
    "RLIMIT_NOFILE": 128,
}
"""Of the server already, and so of all that it starts."""


@dataclass(frozen=True)
class Locks:
    """What each examination is locked with: what the server found that there is."""

    lockdown: bool
    """False only in the tests that show what an attack would do without locks."""
    memory_bytes: int
    cpu_seconds: int
    file_bytes: int
    processes: int | None
    examination: seccomp.Filter | None
    ty: seccomp.Filter | None
    fenced: bool
    readable: tuple[tuple[int, int], ...]
    """What Landlock leaves to be read: a descriptor and the rights, each."""


def lock_examination(locks: Locks) -> None:
    """Lock the process that parses a program; it is in its folder already."""
    if not locks.lockdown:
        return
    for number in (signal.SIGCHLD, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    _limit("RLIMIT_AS", locks.memory_bytes)
    _limit("RLIMIT_CPU", locks.cpu_seconds)
    _limit("RLIMIT_FSIZE", locks.file_bytes)
    if locks.processes is not None:
        _limit("RLIMIT_NPROC", locks.processes)
    if locks.fenced:
        _fence(locks, kernel.READ | kernel.LIST | kernel.WRITE | kernel.MAKE)
    if locks.examination is not None:
        seccomp.install(locks.examination)


def lock_ty(locks: Locks) -> None:
    """Lock the process that is about to become ty further: it writes nothing, and starts nothing."""
    if not locks.lockdown:
        return
    _limit("RLIMIT_FSIZE", 0)
    if locks.fenced:
        _fence(locks, kernel.READ | kernel.LIST)
    if locks.ty is not None:
        seccomp.install(locks.ty)


def die_with(parent: int) -> None:
    """Be killed when the parent ends, also if it has already."""
    if IS_LINUX:
        kernel.die_with_parent()
        # In a namespace of its own, what is outside has no number.
        if os.getppid() != parent:
            os._exit(1)


def limit_the_server() -> None:
    """Limit what this process and all that it starts may use."""
    for name, value in _LIMITS.items():
        _limit(name, value)


def _fence(locks: Locks, rights: int) -> None:
    folder = os.open(".", os.O_PATH | os.O_DIRECTORY)
    try:
        kernel.restrict([*locks.readable, (folder, rights)])
    finally:
        os.close(folder)


def _limit(name: str, value: int) -> None:
    limit: int | None = getattr(resource, name, None)
    if limit is None:
        return
    _, hard = resource.getrlimit(limit)
    most = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(limit, (most, most))
    except (OSError, ValueError):
        # Other systems have limits that they do not let be set.
        if IS_LINUX:
            raise
