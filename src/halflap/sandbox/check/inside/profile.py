"""The lock profile of the check: a child examines one program, or becomes ty for one run, and ends.

What examines can only compute and use its channel, like a program that runs. It asks the gateway to have ty run, which
another child does: it writes the text into a folder of its own, locks itself so that it can only read there, and executes
ty. ty prints into the channel.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from halflap.sandbox.check.inside import system_calls
from halflap.sandbox.check.inside.answer import Answer
from halflap.sandbox.check.inside.examine import examine
from halflap.sandbox.check.inside.toolchain import Toolchain
from halflap.sandbox.jail.inside import locks, seccomp, server
from halflap.sandbox.jail.protocol import Frames, frame, receive

__all__ = ["ANSWER", "PROGRAM", "QUESTION", "REPORT", "STUBS", "Profile"]

QUESTION, ANSWER = b"Q", b"A"
"""What is to be examined, and what was found: JSON."""
PROGRAM, STUBS, REPORT = b"P", b"S", b"R"
"""What ty is to read, and what it prints."""

_IS_LINUX = sys.platform.startswith("linux")
_STACK_BYTES = 16 * 1024 * 1024
_OPEN_FILES = 128
_PROCESSES = 64
_NOT_STARTED = 127
_FILES = ("program.py", "__builtins__.pyi")


class Profile(server.Profile):
    """Processes that compute, or execute ty, which reads one folder."""

    _orders: dict[str, Any]
    _toolchain: Toolchain
    _limits: dict[int, int]
    _filters: tuple[bytes | None, bytes | None] = (None, None)
    """For what examines, and for ty."""
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
        none = (
            resource.RLIMIT_FSIZE,
            resource.RLIMIT_CORE,
            resource.RLIMIT_MEMLOCK,
            resource.RLIMIT_MSGQUEUE,
        )
        self._limits = {
            resource.RLIMIT_AS: locks.address_space() + orders["memory_bytes"],
            resource.RLIMIT_CPU: orders["cpu_seconds"],
            resource.RLIMIT_STACK: _STACK_BYTES,
            resource.RLIMIT_NOFILE: _OPEN_FILES,
            **dict.fromkeys(none, 0),
        }
        if os.getuid() == 0:
            # Counted over all that a user runs: a bound is possible for one who runs nothing else.
            self._limits[resource.RLIMIT_NPROC] = _PROCESSES
        trouble = "" if orders["seccomp"] else "switched off"
        try:
            if not trouble:
                machine = orders["machine"]
                self._filters = seccomp.build(machine), seccomp.build(machine, system_calls.TY)
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
        """Examine a program, or become ty, as the first frame says."""
        with socket.socket(fileno=channel, family=socket.AF_UNIX, type=socket.SOCK_STREAM, proto=0) as talk:
            received = receive(talk, Frames())
            kind, body = next(received)
            if kind == QUESTION:
                self._examine(talk, body, received)
            else:
                self._become_ty(talk, [body, next(received)[1]], self._folders[number])
        os._exit(0)

    def _lock(self, chosen: bytes | None, readable: list[tuple[int, int]]) -> None:
        """Lock this process. A layer that was reported is put on, or it ends."""
        if self._orders["lockdown"] and _IS_LINUX:
            for number in (signal.SIGCHLD, signal.SIGPIPE):
                signal.signal(number, signal.SIG_DFL)
            for which, value in self._limits.items():
                locks.limit(which, value)
            locks.lock({}, chosen, readable if self._is_fenced else None)

    def _examine(self, talk: socket.socket, question: bytes, received: Iterator[tuple[bytes, bytes]]) -> None:
        self._lock(self._filters[0], [])

        def run_ty(program: str, stubs: str) -> bytes:
            for kind, text in ((PROGRAM, program), (STUBS, stubs)):
                talk.sendall(frame(kind, text.encode("utf-8", "surrogatepass")))
            return next(received)[1]

        try:
            answer = examine(json.loads(question), run_ty)
        except (RecursionError, MemoryError):
            answer = Answer(trouble="the program is nested too deeply")
        except BaseException as error:  # noqa: BLE001 -- whatever it is, the gateway reports it and continues
            answer = Answer(trouble=f"its process failed: {type(error).__name__}: {error}"[:500])
        with contextlib.suppress(OSError):
            talk.sendall(frame(ANSWER, json.dumps(answer).encode()))

    def _become_ty(self, talk: socket.socket, texts: Sequence[bytes], folder: str) -> None:
        try:
            Path(folder).mkdir(mode=0o700)
            os.chdir(folder)
            for name, text in zip(_FILES, texts, strict=True):
                Path(name).write_bytes(text)
            os.dup2(talk.fileno(), 1)
            toolchain = self._toolchain
            self._lock(self._filters[1], toolchain.readable_with("."))
            arguments = (*(self._orders["command"] or ["ty"]), *toolchain.arguments)
            os.execve(toolchain.executable, arguments, toolchain.environment)  # noqa: S606 -- the whole point
        finally:
            os._exit(_NOT_STARTED)

    def ended(self, number: int) -> None:
        shutil.rmtree(self._folders.pop(number), ignore_errors=True)

    def close(self) -> None:
        for number in list(self._folders):
            self.ended(number)
        self._toolchain.clear()


def _warm_up() -> None:
    """Do once before any fork what each child would do for the first time."""
    # A name beyond ASCII, a character by its name, a mistake: each has the parser import something.
    code = "async def é(x):\n    return x['\\N{BULLET}']  # type: ignore\nr = await é({})\nr.x"
    place = {"line": 4, "column": 1}
    where = {"path": "program.py", "positions": {"begin": place, "end": place}}
    report = json.dumps([{"check_name": "a", "description": "a", "location": where}]).encode()
    question = {"code": code, "stubs": "", "traced": "", "records": []}
    json.dumps(examine(question, lambda *_: report))
    examine(question | {"code": "é = ("}, lambda *_: b"[]")
