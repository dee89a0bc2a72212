"""What an attack is, what it is after, and what it got."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.sandbox.jail.inside.seccomp import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from security.keeper import Got

NUMBERS = table("x86_64") | {
    "socket": 41, "connect": 42, "sendmsg": 46, "recvmsg": 47, "bind": 49, "clone": 56, "fork": 57,
    "vfork": 58, "execve": 59, "kill": 62, "uname": 63, "shmget": 29, "setrlimit": 160, "prctl": 157,
    "arch_prctl": 158, "tkill": 200, "tgkill": 234, "timer_create": 222, "capset": 126, "setuid": 105,
    "pipe2": 293, "eventfd2": 290, "signalfd4": 289, "memfd_create": 319, "execveat": 322,
    "pkey_mprotect": 329, "seccomp": 317, "pidfd_send_signal": 424, "pidfd_open": 434,
    "pidfd_getfd": 438, "process_madvise": 440, "memfd_secret": 447, "dup": 32, "sched_setaffinity": 203,
    "mincore": 27, "name_to_handle_at": 303, "getdents64": 217, "timerfd_create": 283,
    "inotify_init1": 294, "kcmp": 312, "membarrier": 324, "vmsplice": 278, "splice": 275, "tee": 276,
}  # fmt: skip

_BEFORE = """\
import ctypes, errno, json, mmap, os, platform, resource, signal, socket, struct, subprocess, sys, threading, time
HOST = json.loads({host!r})
NR = json.loads({numbers!r})
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = libc.mmap.restype = ctypes.c_long
# Kept, because the channel is closed with it.
channel = sys.channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=3)
INT = ctypes.c_int
buffer = ctypes.create_string_buffer

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
def looked(name, *arguments):
    "Accept what the kernel answers, unless it is what the filter answers."
    try:
        return syscall(name, *arguments) >= 0
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EACCES):
            raise
        return True

def read_past_python():
    data = buffer(100)
    return syscall("read", syscall("openat", -100, b"/etc/passwd", 0), data, 100)

def clock_of(pid):
    now = (ctypes.c_long * 2)()
    syscall("clock_gettime", (~pid << 3) | 2, now)
    return now[0] + now[1] / 1e9

def option(number, size):
    value, size = (INT * 64)(), INT(size)
    syscall("getsockopt", 3, 1, number, value, ctypes.byref(size))
    return size.value + 1

def send_flagged(flags):
    both = pair()
    return syscall("sendto", both[0], b"x", 1, flags, None, 0)

def bomb(fork):
    started = []
    for _ in range(20):
        pid = fork()
        if pid == 0:
            os._exit(0)
        started.append(pid)
    for pid in started:
        os.waitpid(pid, 0)
    return len(started) == 20

def start_threads():
    threads = [threading.Thread(target=int) for _ in range(20)]
    [thread.start() for thread in threads]
    return True

def run_a_shell():
    if os.system("exit 3") >> 8 != 3:
        raise PermissionError
    return True

for name, code in json.loads({probes!r}).items():
    try:
        told = {{"got": eval(code)}}
    except (OSError, RuntimeError, MemoryError, ValueError) as error:
        told = {{"refused": type(error).__name__, "errno": getattr(error, "errno", None)}}
    print(json.dumps({{"name": name}} | told), flush=True)
"""
"""Evaluates probes one after the other. A refused one raises one of these exceptions; any other is a bug in the probe."""


@dataclass(frozen=True)
class Prize:
    """What a probe got, or how it was stopped."""

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
        """Whether the attempt failed, and the program continued."""
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
        (self.folder / "secret").write_text(secrets.token_hex(16))
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
        return _BEFORE.format(host=json.dumps(self.loot.known), numbers=json.dumps(NUMBERS)) + code

    def run(self, code: str) -> Got:
        return self._run(self.source(code))

    def attack(self, probes: Mapping[str, str]) -> dict[str, Prize]:
        """Run probes in one program; those after one that kills it get nothing."""
        got = self.run(_RUN.format(probes=json.dumps(dict(probes))))
        ending = f"{got.outcome} {got.error}".strip()
        prizes = {name: Prize(ending=ending) for name in probes}
        for line in got.output.splitlines():
            told = json.loads(line)
            name = told.pop("name")
            prizes[name] = Prize(**told, ending=ending)
        return prizes
