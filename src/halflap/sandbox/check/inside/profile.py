"""The lock profile of the check: two processes that examine one program together, and end.

One parses the program and judges it. It can only compute, and use its channel to the gateway and its connection to the
other, which is ty. ty can only read its libraries and a folder without contents.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from halflap.sandbox.check.inside.answer import Answer, Place
from halflap.sandbox.check.inside.examine import examine
from halflap.sandbox.check.inside.ty import Diagnostic, LanguageServer, Toolchain, TyFailedError
from halflap.sandbox.jail.inside import locks, seccomp, server
from halflap.sandbox.jail.inside.seccomp import EVERY, PROGRAMS, Check, Rules
from halflap.sandbox.jail.protocol import Frames, frame, receive

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
_NOT_FOR_TY = ("socketpair", "sendto", "recvfrom", "getsockopt")
_PROT_WRITE, _MAP_HUGETLB = 2, 0x40000
_WRITING = 0o1 | 0o2 | 0o100 | 0o1000 | 0o2000
"""O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND."""
_THREAD = 0x10000
_NEW_NAMESPACES = 0x7E020000 | 0x80
_SET_NAME, _SET_VMA = 15, 0x53564D41
_DUPLICATE = 1030

TY = Rules(
    allowed=(*PROGRAMS.allowed, *_READING),
    checked=(
        ("open", (Check(1, _WRITING, 0),)),
        ("openat", (Check(2, _WRITING, 0),)),
        # The loader maps libraries as code; nothing is ever both written and run.
        ("mmap", (Check(2, _PROT_WRITE, 0), Check(3, _MAP_HUGETLB, 0))),
        # Threads, and no processes.
        ("clone", (Check(0, _THREAD | _NEW_NAMESPACES, _THREAD),)),
        *(("prctl", (Check(0, EVERY, option),)) for option in (_SET_NAME, _SET_VMA)),
        ("fcntl", (Check(1, EVERY, _DUPLICATE),)),
        *(rule for rule in PROGRAMS.checked if rule[0] not in _NOT_FOR_TY),
    ),
)


class Profile(server.Profile):
    """Pairs of processes: one that computes, and ty."""

    _orders: dict[str, Any]
    _toolchain: Toolchain
    _confinement = locks.Confinement([], {"locks": "needs Linux"}, has_locks=False)
    _limits: dict[int, tuple[int, int]]
    _filters = (b"", b"")
    """For what examines, and for ty."""

    def prepare(self, orders: dict[str, Any]) -> dict[str, Any]:
        """Load everything, find ty and what it needs, then give up rights."""
        _warm_up()
        self._orders = orders
        self._toolchain = toolchain = Toolchain(orders["executable"], orders["also"])
        if _IS_LINUX:
            processes = _PROCESSES if os.getuid() == 0 else None
            self._limits = locks.limits(orders["memory_bytes"], orders["cpu_seconds"], _OPEN_FILES, processes)
            self._filters = seccomp.build(orders["machine"]), seccomp.build(orders["machine"], TY)
            self._confinement = locks.confine(orders, toolchain.leave_files)
        if not toolchain.folder:
            toolchain.make_folder(orders["temporary"])
        return self._confinement.report | {"place": None if toolchain.is_private else toolchain.folder}

    def child(self, channel: int) -> None:
        """Start ty, then wait for a program and examine it."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        if os.fork() == 0:
            self._become_ty(theirs)
        theirs.close()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=channel) as talk:
            self._lock(self._filters[0])
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

    def _lock(self, chosen: bytes, usable: Sequence[tuple[int, int]] = ()) -> None:
        if self._confinement.has_locks:
            for number in (signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            self._confinement.lock(self._limits, chosen, usable)

    def close(self) -> None:
        self._toolchain.clear()


def _warm_up() -> None:
    """Do once before any fork what each child would do for the first time."""
    # A name beyond ASCII, a character by its name, a mistake: each has the parser import something.
    code = "async def é(x):\n    return x['\\N{BULLET}']  # type: ignore\nr = await é({})\nr.x"
    question = {"code": code, "stubs": "", "traced": "", "records": []}
    json.dumps(examine(question, lambda *_: [Diagnostic("a", Place(4, 1, 4, 1), "a")]))
    examine(question | {"code": "é = ("}, lambda *_: [])
