"""What an attack is, what it is after, and what it got."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.sandbox.jail.inside.syscalls import table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from security.keeper import Got

MACHINE = platform.machine()

_MORE_NUMBERS = {
    "x86_64": {
        "socket": 41, "connect": 42, "sendmsg": 46, "recvmsg": 47, "bind": 49, "clone": 56, "fork": 57,
        "vfork": 58, "execve": 59, "kill": 62, "uname": 63, "shmget": 29, "setrlimit": 160, "prctl": 157,
        "arch_prctl": 158, "tkill": 200, "tgkill": 234, "timer_create": 222, "capset": 126, "setuid": 105,
        "pipe2": 293, "eventfd2": 290, "signalfd4": 289, "memfd_create": 319, "execveat": 322,
        "pkey_mprotect": 329, "seccomp": 317, "pidfd_send_signal": 424, "pidfd_open": 434,
        "pidfd_getfd": 438, "process_madvise": 440, "memfd_secret": 447, "dup": 32, "sched_setaffinity": 203,
        "mincore": 27, "name_to_handle_at": 303, "getdents64": 217, "timerfd_create": 283,
        "inotify_init1": 294, "kcmp": 312, "vmsplice": 278, "splice": 275, "tee": 276,
    },
    "aarch64": {
        "socket": 198, "connect": 203, "sendmsg": 211, "recvmsg": 212, "bind": 200, "clone": 220,
        "execve": 221, "kill": 129, "uname": 160, "shmget": 194, "setrlimit": 164, "prctl": 167, "tkill": 130,
        "tgkill": 131, "timer_create": 107, "capset": 91, "setuid": 146, "pipe2": 59, "eventfd2": 19,
        "signalfd4": 74, "memfd_create": 279, "execveat": 281, "pkey_mprotect": 288, "seccomp": 277,
        "pidfd_send_signal": 424, "pidfd_open": 434, "pidfd_getfd": 438, "process_madvise": 440,
        "memfd_secret": 447, "dup": 23, "sched_setaffinity": 122, "mincore": 232, "name_to_handle_at": 264,
        "getdents64": 61, "timerfd_create": 85, "inotify_init1": 26, "kcmp": 272, "vmsplice": 75,
        "splice": 76, "tee": 77,
    },
}  # fmt: skip
NUMBERS = table(MACHINE) | _MORE_NUMBERS.get(MACHINE, {})

_BEFORE = """\
import ctypes, errno, json, mmap, os, signal, socket, struct, sys, time
HOST = json.loads({host!r})
NR = json.loads({numbers!r})
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = libc.mmap.restype = ctypes.c_long
# Kept, for it would close the channel when it goes.
channel = sys.channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=3)
INT = ctypes.c_int

def syscall(name, *arguments):
    number = NR[name] if isinstance(name, str) else name
    plain = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = libc.syscall(ctypes.c_long(number), *plain)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def memory(protection=3, flags=34, size=4096):
    return syscall("mmap", None, size, protection, flags, -1, 0)

def pair():
    both = (INT * 2)()
    syscall("socketpair", 1, 1, 0, both)
    return both

"""

_RUN = """
for name, code in json.loads({probes!r}).items():
    # Each probe has a namespace of its own.
    scope = dict(globals())
    try:
        exec(code, scope)
        told = {{"got": scope["probe"]()}}
    except BaseException as error:
        told = {{"refused": type(error).__name__, "errno": getattr(error, "errno", None)}}
    print(json.dumps({{"name": name}} | told), flush=True)
"""


def anything(got: Any) -> bool:
    """Accept every result of the control: success depends on the kernel's configuration."""
    del got
    return True


def not_without_locks(got: Any) -> bool:
    """Mark a probe that the control cannot run, because it would break the process that runs it."""
    raise AssertionError(got)


@dataclass(frozen=True)
class Attack:
    """A probe: Python that defines `probe()`, which returns what it got or raises what it was refused with."""

    name: str
    code: str
    succeeded: Callable[[Any], bool] = bool
    """What the control must have got."""
    on: str | None = None
    """The only machine that it makes sense on."""

    @property
    def applies(self) -> bool:
        return self.on in {None, MACHINE}


@dataclass(frozen=True)
class Prize:
    """What an attack got, or how it was stopped."""

    got: Any = None
    refused: str | None = None
    errno: int | None = None
    ending: str = ""

    @property
    def was_killed(self) -> bool:
        """Whether the kernel killed it for the system call."""
        return "system call that no program needs" in self.ending

    @property
    def was_refused(self) -> bool:
        """Whether it was attempted, got nothing, and lived."""
        return self.got is None and self.refused is not None


class Loot:
    """What an attacker would want of the host: a listening port, a socket that takes messages, a folder, a secret."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="halflap-loot-"))
        self.folder.chmod(0o777)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        path = self.folder / "inbox"
        self.inbox.bind(str(path))
        self.inbox.setblocking(False)
        path.chmod(0o777)
        self.secret = secrets.token_hex(16)
        (self.folder / "secret").write_text(self.secret)
        self.known: dict[str, Any] = {
            "port": self._listener.getsockname()[1],
            "inbox": str(path),
            "folder": str(self.folder),
            "shared": f"/dev/shm/{self.folder.name}",
            "gateway": os.getpid(),
        }

    def close(self) -> None:
        self._listener.close()
        self.inbox.close()
        shutil.rmtree(self.folder)
        Path(self.known["shared"]).unlink(missing_ok=True)


class Attacker:
    """Runs attacks in one mode."""

    def __init__(self, run: Callable[[str], Got], loot: Loot) -> None:
        self._run = run
        self.loot = loot

    def source(self, code: str) -> str:
        """Give a program with what every attack needs before it."""
        return _BEFORE.format(host=json.dumps(self.loot.known), numbers=json.dumps(NUMBERS)) + code

    def run(self, code: str) -> Got:
        """Run a program that has what every attack needs."""
        return self._run(self.source(code))

    def attack(self, attack: Attack) -> Prize:
        """Run one probe in a program of its own."""
        if not attack.applies:
            pytest.skip(f"an attack of {attack.on}")
        return self.attack_all([attack])[attack.name]

    def attack_all(self, attacks: Iterable[Attack]) -> dict[str, Prize]:
        """Run probes one after the other in one program; what comes after one that kills it has got nothing."""
        probes = {attack.name: attack.code for attack in attacks if attack.applies}
        got = self.run(_RUN.format(probes=json.dumps(probes)))
        ending = f"{got.outcome} {got.error}".strip()
        prizes = {name: Prize(ending=ending) for name in probes}
        for line in got.output.splitlines():
            told = json.loads(line)
            name = told.pop("name")
            prizes[name] = Prize(**told, ending=ending)
        return prizes
