"""The lock profile of the check: two processes that examine one program together, and end.

One parses the program and judges it. It can only compute, and use its channel to the gateway and its connection to the
other, which is ty. ty can only read its libraries and a folder without contents.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import sys
from typing import Any, NoReturn

from halflap.sandbox.check.inside.answer import Answer, Place
from halflap.sandbox.check.inside.examine import examine
from halflap.sandbox.check.inside.language_server import Diagnostic, LanguageServer, TyFailedError
from halflap.sandbox.check.inside.toolchain import Toolchain
from halflap.sandbox.jail.inside import locks, seccomp, server
from halflap.sandbox.jail.inside.seccomp import EVERY, NEXT, PROGRAMS, Check, Rules
from halflap.sandbox.jail.protocol import Frames, frame, receive

__all__ = ["ANSWER", "QUESTION", "TY", "Profile"]

QUESTION, ANSWER = b"Q", b"A"
"""What is to be examined, and what was found: JSON."""

_IS_LINUX = sys.platform.startswith("linux")
_OPEN_FILES = 128
_PROCESSES = 128
"""Threads count; ty has nine."""
_NOT_STARTED = 127

_READING = (
    "pread64", "set_tid_address", "arch_prctl", "uname",
    # Looking at paths. What is at them is Landlock's and the namespace's to say.
    "stat", "lstat", "newfstatat", "statx", "statfs", "access", "faccessat", "faccessat2", "getcwd", "readlink",
    "readlinkat", "getdents64", "fadvise64",
    # By the first of these ty is started; what else could be is Landlock's to say.
    "execveat", "execve",
)  # fmt: skip
_OPENING = ("open", "openat")
_NOT_FOR_TY = ("socketpair", "sendto", "recvfrom", "getsockopt")
_PROT_WRITE, _PROT_EXEC, _MAP_HUGETLB = 2, 4, 0x40000
_WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND."""
_THREAD = 0x10000
_NEW_NAMESPACES = 0x7E020000 | 0x80
_SET_NAME, _SET_VMA = 15, 0x53564D41
_DUPLICATE = 1030

TY = Rules(
    allowed=(*PROGRAMS.allowed, *_READING),
    paths=tuple(name for name in PROGRAMS.paths if name not in {*_OPENING, *_READING}),
    checked=(
        ("open", (Check(1, _WRITING, 0),), errno.EACCES),
        ("openat", (Check(2, _WRITING, 0),), errno.EACCES),
        # The loader maps libraries as code; nothing is ever both written and run.
        ("mmap", (Check(2, _PROT_EXEC, 0), Check(3, _MAP_HUGETLB, 0)), NEXT),
        ("mmap", (Check(2, _PROT_WRITE, 0), Check(3, _MAP_HUGETLB, 0)), errno.EPERM),
        # Threads, and no processes.
        ("clone", (Check(0, _THREAD | _NEW_NAMESPACES, _THREAD),), errno.EPERM),
        ("prctl", (Check(0, EVERY, _SET_NAME),), NEXT),
        ("prctl", (Check(0, EVERY, _SET_VMA),), errno.EPERM),
        ("fcntl", (Check(1, EVERY, _DUPLICATE),), NEXT),
        *(rule for rule in PROGRAMS.checked if rule[0] not in _NOT_FOR_TY),
    ),
)
"""It takes the first entry that fits, so what programs may do with `mmap` adds nothing."""


class Profile(server.Profile):
    """Pairs of processes: one that computes, and ty."""

    _orders: dict[str, Any]
    _toolchain: Toolchain
    _limits: dict[int, tuple[int, int]]
    _filters = (b"", b"")
    """For what examines, and for ty."""
    _has_landlock = False

    def prepare(self, orders: dict[str, Any]) -> dict[str, Any]:
        """Load everything, find ty and what it needs, then give up rights."""
        _warm_up()
        self._orders = orders
        self._toolchain = toolchain = Toolchain(orders["executable"], orders["also"])
        found = self._confine() if _IS_LINUX else locks.Confinement([], {"locks": "needs Linux"})
        if not toolchain.folder:
            toolchain.make_folder(orders["temporary"])
        place = None if toolchain.is_private else toolchain.folder
        return {"layers": found.layers, "missing": found.missing, "place": place}

    def _confine(self) -> locks.Confinement:
        orders = self._orders
        processes = _PROCESSES if os.getuid() == 0 else None
        self._limits = locks.limits(orders["memory_bytes"], orders["cpu_seconds"], _OPEN_FILES, processes)
        self._filters = seccomp.build(orders["machine"]), seccomp.build(orders["machine"], TY)
        found = locks.confine(orders, self._toolchain.leave_files)
        self._has_landlock = found.has_landlock
        found.layers.insert(0, "seccomp")
        return found

    def child(self, channel: int) -> None:
        """Start ty, then wait for a program and examine it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        if os.fork() == 0:
            self._become_ty(theirs)
        theirs.close()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=channel) as talk:
            self._lock(self._filters[0], [])
            answer = self._examine(talk, LanguageServer(ours, self._toolchain.folder))
            with contextlib.suppress(OSError):
                talk.sendall(frame(ANSWER, json.dumps(answer).encode()))
        os._exit(0)

    def _examine(self, talk: socket.socket, ty: LanguageServer) -> Answer:
        try:
            ty.start()
            if not select.select([talk], [], [], 0)[0]:
                ty.warm_up()
            _, question = next(receive(talk, Frames()))
            return examine(json.loads(question), ty.diagnostics)
        except TyFailedError as failed:
            return Answer(trouble=f"ty failed: {failed}")
        except (RecursionError, MemoryError):
            return Answer(trouble="the program is nested too deeply")
        except BaseException as error:  # noqa: BLE001 -- the gateway reports any failure and continues
            return Answer(trouble=f"its process failed: {type(error).__name__}: {error}"[:500])

    def _become_ty(self, connection: socket.socket) -> NoReturn:
        try:
            toolchain = self._toolchain
            os.dup2(connection.fileno(), 0)
            os.dup2(connection.fileno(), 1)
            os.chdir(toolchain.folder)
            self._lock(self._filters[1], toolchain.readable)
            arguments = self._orders["command"] or ["ty", "server"]
            os.execve(toolchain.executable, arguments, toolchain.environment)  # noqa: S606 -- the whole point
        finally:
            os._exit(_NOT_STARTED)

    def _lock(self, chosen: bytes, readable: list[tuple[int, int]]) -> None:
        """Lock this process. A layer that was reported is put on, or it ends."""
        if self._orders["lockdown"] and _IS_LINUX:
            for number in (signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            locks.lock(self._limits, chosen, readable if self._has_landlock else None)

    def close(self) -> None:
        self._toolchain.clear()


def _warm_up() -> None:
    """Do once before any fork what each child would do for the first time."""
    # A name beyond ASCII, a character by its name, a mistake: each has the parser import something.
    code = "async def é(x):\n    return x['\\N{BULLET}']  # type: ignore\nr = await é({})\nr.x"
    question = {"code": code, "stubs": "", "traced": "", "records": []}
    json.dumps(examine(question, lambda *_: [Diagnostic("a", Place(4, 1, 4, 1), "a")]))
    examine(question | {"code": "é = ("}, lambda *_: [])
