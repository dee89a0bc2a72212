"""A locked child: made ready before any program reaches it, and used once."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import random
import resource
import signal
import socket
import sys
from dataclasses import dataclass
from json import dumps
from typing import NoReturn

from halflap.sandbox.jail import frames
from halflap.sandbox.jail.inside import landlock, privileges, program, seccomp
from halflap.sandbox.jail.inside.door import Door

__all__ = ["Locks", "get_ready", "main"]

_CHANNEL = 3
_BROKEN = 70
_OPEN_FILES = 32
_STACK_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Locks:
    """What each child is locked with."""

    filter: seccomp.Filter
    memory_bytes: int
    cpu_seconds: int
    largest_frame: int
    landlock: bool
    lockdown: bool
    """False only in the tests that show what an attack would do without locks."""


def get_ready() -> None:
    """Do before the fork what each child would have to do: all that imports lazily is used once."""
    ctypes.CDLL(None, use_errno=True)
    with contextlib.suppress(Exception), asyncio.Runner() as runner:
        runner.run(asyncio.sleep(0))
    program.get_ready()


def main(channel: int, locks: Locks) -> NoReturn:
    """Lock, say so, wait for a program, run it, and stay until killed."""
    try:
        door = _enter(channel, locks)
    except BaseException as error:  # noqa: BLE001 -- whatever it is, no program may run here
        with contextlib.suppress(OSError):
            trouble = dumps({"trouble": f"{type(error).__name__}: {error}"}).encode()
            os.write(_CHANNEL, frames.frame(frames.READY, trouble))
        os._exit(1)
    leave = os._exit
    try:
        program.run(door)
    except BaseException:  # noqa: BLE001 -- a program may have broken whatever we use; its end is told all the same
        leave(_BROKEN)
    leave(0)


def _enter(channel: int, locks: Locks) -> Door:
    if channel != _CHANNEL:
        os.dup2(channel, _CHANNEL)
    os.set_inheritable(_CHANNEL, False)
    os.closerange(0, _CHANNEL)
    os.closerange(_CHANNEL + 1, os.sysconf("SC_OPEN_MAX"))
    if locks.lockdown:
        _lock(locks)
    program.warm_up()
    # What was the same in all children of one fork server must not be known to the one from another.
    random.seed()
    if (chance := sys.modules.get("numpy.random")) is not None:
        chance.seed()
    door = Door(
        socket.socket(fileno=_CHANNEL, family=socket.AF_UNIX, type=socket.SOCK_STREAM, proto=0),
        locks.largest_frame,
    )
    door.send(frames.READY, b"{}")
    return door


def _lock(locks: Locks) -> None:
    privileges.allow_no_more()
    with contextlib.suppress(OSError):
        os.setsid()
    _limit(locks)
    if locks.landlock:
        # The fork server reported this layer: without it the child must not be used.
        landlock.restrict()
    privileges.drop_capabilities()
    privileges.hide()
    privileges.die_with_parent()
    for number in range(1, signal.NSIG):
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    seccomp.install(locks.filter)


def _limit(locks: Locks) -> None:
    limits = {
        resource.RLIMIT_AS: (locks.memory_bytes, locks.memory_bytes),
        # The signal at the first can be ignored, the one at the second cannot.
        resource.RLIMIT_CPU: (locks.cpu_seconds, locks.cpu_seconds + 1),
        resource.RLIMIT_STACK: (_STACK_BYTES, _STACK_BYTES),
        resource.RLIMIT_NOFILE: (_OPEN_FILES, _OPEN_FILES),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NPROC: (0, 0),
        resource.RLIMIT_CORE: (0, 0),
        resource.RLIMIT_MEMLOCK: (0, 0),
        resource.RLIMIT_MSGQUEUE: (0, 0),
    }
    for limit, values in limits.items():
        resource.setrlimit(limit, values)
