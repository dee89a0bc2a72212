"""A locked process: locked before any program reaches it, and used once."""

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
from halflap.sandbox.jail.inside.channel import Channel

__all__ = ["Locks", "main", "prepare"]

_DESCRIPTOR = 3
_BROKEN = 70
_OPEN_FILES = 32
_STACK_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Locks:
    filter: seccomp.Filter
    memory_bytes: int
    cpu_seconds: int
    largest_frame: int
    landlock: bool
    lockdown: bool
    """False only in tests that show what an attack would do without locks."""


def prepare() -> None:
    """Use everything that imports lazily once before the fork, so that no process has to."""
    ctypes.CDLL(None, use_errno=True)
    with contextlib.suppress(Exception), asyncio.Runner() as runner:
        runner.run(asyncio.sleep(0))
    program.prepare()


def main(descriptor: int, locks: Locks) -> NoReturn:
    """Lock the process, report that, wait for a program and run it."""
    try:
        channel = _enter(descriptor, locks)
    except BaseException as error:  # noqa: BLE001 -- whatever it is, no program may run here
        with contextlib.suppress(OSError):
            trouble = dumps({"trouble": f"{type(error).__name__}: {error}"}).encode()
            os.write(_DESCRIPTOR, frames.frame(frames.READY, trouble))
        os._exit(1)
    leave = os._exit
    try:
        program.run(channel)
    except BaseException:  # noqa: BLE001 -- a program may have broken anything that is used here
        leave(_BROKEN)
    leave(0)


def _enter(descriptor: int, locks: Locks) -> Channel:
    if descriptor != _DESCRIPTOR:
        os.dup2(descriptor, _DESCRIPTOR)
    os.set_inheritable(_DESCRIPTOR, False)
    os.closerange(0, _DESCRIPTOR)
    os.closerange(_DESCRIPTOR + 1, os.sysconf("SC_OPEN_MAX"))
    if locks.lockdown:
        _lock(locks)
    program.warm_up()
    # Forks share the state of random generators; one program must not predict another.
    random.seed()
    if (chance := sys.modules.get("numpy.random")) is not None:
        chance.seed()
    channel = Channel(
        socket.socket(fileno=_DESCRIPTOR, family=socket.AF_UNIX, type=socket.SOCK_STREAM, proto=0),
        locks.largest_frame,
    )
    channel.send(frames.READY, b"{}")
    return channel


def _lock(locks: Locks) -> None:
    privileges.allow_no_more()
    with contextlib.suppress(OSError):
        os.setsid()
    _limit(locks)
    if locks.landlock:
        # The fork server reported this layer, so a process without it must not be used.
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
        # A program can ignore the signal at the first limit, but not the one at the second.
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
