"""The lock profile of the check: a child is asked about one program, runs ty in a private folder, answers, and ends."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import struct
import sys
from pathlib import Path
from typing import Any

from halflap.sandbox.check.inside import system_calls
from halflap.sandbox.check.inside.examine import examine
from halflap.sandbox.check.inside.toolchain import Toolchain
from halflap.sandbox.check.inside.ty import Diagnostic, Ty, TyError, read_report
from halflap.sandbox.jail.inside import locks, seccomp, server

__all__ = ["LARGEST_ANSWER", "LARGEST_QUESTION", "QUESTION", "Profile"]

QUESTION = struct.Struct("=I")
"""How many bytes of JSON follow."""
LARGEST_QUESTION = 8 * 1024 * 1024
LARGEST_ANSWER = 1024 * 1024

_IS_LINUX = sys.platform.startswith("linux")
_FIRST, _SECOND = "1", "2"
"""A folder for each run of ty."""
_STACK_BYTES = 16 * 1024 * 1024
_OPEN_FILES = 128
_PROCESSES = 64
_READABLE = locks.READ | locks.LIST
_WRITABLE = _READABLE | locks.WRITE | locks.MAKE


class Profile(server.Profile):
    """Processes that write into one folder and execute ty, which can only read there."""

    _orders: dict[str, Any]
    _toolchain: Toolchain
    _limits: dict[int, int]
    _filter: seccomp.Filter | None = None
    _filter_of_ty: seccomp.Filter | None = None
    _is_fenced = False

    def __init__(self) -> None:
        self._folders: dict[int, str] = {}

    def prepare(self, orders: dict[str, Any]) -> dict[str, Any]:
        """Load everything, find ty and what it needs, then give up rights."""
        _warm_up()
        self._orders = orders
        self._toolchain = toolchain = Toolchain(orders["executable"], orders["also"])
        found = self._confine() if _IS_LINUX else locks.Confinement([], {"locks": "needs Linux"})
        if toolchain.root is None:
            toolchain.make_folder(orders["temporary"])
        place = None if toolchain.is_private else toolchain.root
        return {"layers": found.layers, "missing": found.missing, "place": place}

    def _confine(self) -> locks.Confinement:
        orders = self._orders
        self._limits = {
            resource.RLIMIT_AS: locks.address_space() + orders["memory_bytes"],
            resource.RLIMIT_CPU: orders["cpu_seconds"],
            resource.RLIMIT_FSIZE: LARGEST_QUESTION,
            resource.RLIMIT_STACK: _STACK_BYTES,
            resource.RLIMIT_NOFILE: _OPEN_FILES,
            **dict.fromkeys((resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE), 0),
        }
        if os.getuid() == 0:
            # Counted over all that a user runs: a bound is possible for one who runs nothing else.
            self._limits[resource.RLIMIT_NPROC] = _PROCESSES
        trouble = "" if orders["seccomp"] else "switched off"
        try:
            if not trouble:
                self._filter = seccomp.build(orders["machine"], system_calls.EXAMINATION)
                self._filter_of_ty = seccomp.build(orders["machine"], system_calls.TY)
        except OSError as error:
            trouble = str(error)
        found = locks.confine(orders, self._toolchain.leave_files)
        self._is_fenced = found.has_landlock
        if trouble:
            found.missing["seccomp"] = trouble
        else:
            found.layers.insert(0, "seccomp")
        return found

    def forking(self, number: int) -> None:
        """Choose a child's folder: a name that another one would have to guess."""
        self._folders[number] = f"{self._toolchain.folders}/{os.urandom(12).hex()}"

    def child(self, channel: int, number: int) -> None:
        """Lock the process, examine the program that comes over the channel, and answer."""
        with socket.socket(fileno=channel, family=socket.AF_UNIX, type=socket.SOCK_STREAM, proto=0) as talk:
            try:
                self._enter(self._folders[number])
                answer = self._examine(talk)
            except TyError as error:
                answer = {"trouble": str(error)}
            except (RecursionError, MemoryError):
                answer = {"trouble": "the program is nested too deeply"}
            except BaseException as error:  # noqa: BLE001 -- whatever it is, the gateway reports it and continues
                answer = {"trouble": f"its process failed: {type(error).__name__}: {error}"[:500]}
            with contextlib.suppress(OSError):
                talk.sendall(json.dumps(answer).encode())
        os._exit(0)

    def _enter(self, folder: str) -> None:
        for name in ("", _FIRST, _SECOND):
            Path(folder, name).mkdir(mode=0o700)
        os.chdir(folder)
        # ty has no business beside the folder of its run.
        Path(folder).chmod(0o300)
        if self._orders["lockdown"] and _IS_LINUX:
            for number in (signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            for which, value in self._limits.items():
                locks.limit(which, value)
            # A layer that was reported is put on, or nothing is examined.
            locks.lock(locks.Locks({}, self._filter, self._fence(_WRITABLE)))

    def _fence(self, rights: int) -> list[tuple[int, int]] | None:
        if not self._is_fenced:
            return None
        return [*self._toolchain.readable, (os.open(".", os.O_PATH | os.O_DIRECTORY), rights)]

    def _examine(self, talk: socket.socket) -> dict[str, Any]:
        # It is locked while there is nothing else to do.
        waiting = [self._ty(_FIRST)]
        question = json.loads(_exactly(talk, QUESTION.unpack(_exactly(talk, QUESTION.size))[0]))
        # Whatever runs then, Python or C: the signal ends this process, and ty with it.
        signal.setitimer(signal.ITIMER_REAL, self._orders["seconds"])

        def run(text: str, stubs: str) -> list[Diagnostic]:
            return (waiting.pop() if waiting else self._ty(_SECOND)).run(text, stubs)

        return examine(question, run)

    def _ty(self, folder: str) -> Ty:
        toolchain = self._toolchain
        arguments = (*(self._orders["command"] or ["ty"]), *toolchain.arguments)

        def execute() -> None:
            os.execve(toolchain.executable, arguments, toolchain.environment)  # noqa: S606 -- the whole point

        return Ty(folder, self._lock_ty, execute)

    def _lock_ty(self) -> None:
        """Lock the process that is about to become ty further: it writes nothing, and starts nothing."""
        if not _IS_LINUX:
            return
        locks.die_with_parent()
        if self._orders["lockdown"]:
            locks.limit(resource.RLIMIT_FSIZE, 0)
            if (fence := self._fence(_READABLE)) is not None:
                locks.restrict(fence)
            if self._filter_of_ty is not None:
                seccomp.install(self._filter_of_ty)

    def ended(self, number: int) -> None:
        folder = Path(self._folders.pop(number))
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
        shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        for number in list(self._folders):
            self.ended(number)
        self._toolchain.clear()


def _exactly(talk: socket.socket, size: int) -> bytes:
    body = bytearray()
    while len(body) < size:
        part = talk.recv(min(size - len(body), 1 << 20))
        if not part:
            raise EOFError("the question broke off")
        body += part
    return bytes(body)


def _warm_up() -> None:
    """Do once before any fork what each child would do for the first time."""
    # A name beyond ASCII, a character by its name, a mistake: each has the parser import something.
    code = "async def é(x):\n    return x['\\N{BULLET}']  # type: ignore\nr = await é({})\nr.x"
    place = {"line": 4, "column": 1}
    where = {"path": "program.py", "positions": {"begin": place, "end": place}}
    report = json.dumps([{"check_name": "a", "description": "a", "location": where}]).encode()
    question = {"code": code, "stubs": "", "traced": "", "records": []}
    json.dumps(examine(question, lambda *_: read_report(report)))
    examine(question | {"code": "é = ("}, lambda *_: [])
