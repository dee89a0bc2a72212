"""One examination: a child that reads one program, has ty read it, and says what both found."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from dataclasses import dataclass
from typing import Any, NoReturn

from halflap.sandbox.check.inside import locks as lock
from halflap.sandbox.check.inside import words
from halflap.sandbox.check.inside.examine import examine
from halflap.sandbox.check.inside.ty import Diagnostic, Ty, TyError, read_report

__all__ = ["Plan", "main"]

_FIRST, _SECOND = "1", "2"
"""A folder for each run of ty."""


@dataclass(frozen=True)
class Plan:
    """How a child finds and runs ty."""

    executable: int | str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    locks: lock.Locks
    seconds: float


def main(channel: int, folder: str, plan: Plan) -> NoReturn:
    """Lock, examine what comes over the channel, answer, and end."""
    with socket.socket(fileno=channel, family=socket.AF_UNIX, type=socket.SOCK_STREAM, proto=0) as talk:
        try:
            os.mkdir(folder, 0o700)  # noqa: PTH102 -- the server has no more of the library in memory than it needs
            os.chdir(folder)
            for run in (_FIRST, _SECOND):
                os.mkdir(run, 0o700)  # noqa: PTH102 -- as above
            # ty has no business beside the folder of its run.
            os.chmod(folder, 0o300)  # noqa: PTH101 -- as above
            # A layer that the server reported is put on, or nothing is examined.
            lock.lock_examination(plan.locks)
            answer = _examine(talk, plan)
        except TyError as error:
            answer = {"trouble": str(error)}
        except (RecursionError, MemoryError):
            answer = {"trouble": "the program is nested too deeply"}
        except BaseException as error:  # noqa: BLE001 -- whatever it is, the gateway hears of it and goes on
            answer = {"trouble": f"its process failed: {type(error).__name__}: {error}"[:500]}
        with contextlib.suppress(OSError):
            talk.sendall(json.dumps(answer).encode())
    os._exit(0)


def _examine(talk: socket.socket, plan: Plan) -> dict[str, Any]:
    waiting = [_ty(plan, _FIRST)]
    question = json.loads(_exactly(talk, words.QUESTION.unpack(_exactly(talk, words.QUESTION.size))[0]))
    # Whatever runs then, Python or C: the signal ends this process, and ty with it.
    signal.setitimer(signal.ITIMER_REAL, plan.seconds)

    def run(text: str, stubs: str) -> list[Diagnostic]:
        return (waiting.pop() if waiting else _ty(plan, _SECOND)).run(text, stubs)

    return examine(question, run)


def _ty(plan: Plan, folder: str) -> Ty:
    own = os.getpid()

    def confine() -> None:
        lock.die_with(own)
        lock.lock_ty(plan.locks)

    def execute() -> None:
        os.execve(plan.executable, plan.arguments, plan.environment)  # noqa: S606 -- the whole point

    return Ty(folder, confine, execute)


def _exactly(talk: socket.socket, size: int) -> bytes:
    body = bytearray()
    while len(body) < size:
        part = talk.recv(min(size - len(body), 1 << 20))
        if not part:
            raise EOFError("the question broke off")
        body += part
    return bytes(body)


def get_ready() -> None:
    """Do once before any fork what each child would do for the first time."""
    # A name beyond ASCII, a character by its name, a mistake: each has the parser import something.
    code = "async def é(x):\n    return x['\\N{BULLET}']  # type: ignore\nr = await é({})\nr.x"
    place = {"line": 4, "column": 1}
    report = [
        {
            "check_name": "a",
            "description": "a",
            "location": {"path": "program.py", "positions": {"begin": place, "end": place}},
        }
    ]
    question = {"code": code, "stubs": "", "traced": "", "records": [], "tools": {}}
    json.dumps(examine(question, lambda *_: read_report(json.dumps(report).encode())))
    examine(question | {"code": "é = ("}, lambda *_: [])
