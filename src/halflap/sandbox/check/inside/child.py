"""One examination: a child that reads one program, has ty read it, and says what both found."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import sys
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from halflap.sandbox.check.inside import locks as lock
from halflap.sandbox.check.inside import words
from halflap.sandbox.check.inside.facts import SyntaxTrouble, parse
from halflap.sandbox.check.inside.report import Diagnostic, read_report

__all__ = ["Plan", "main"]

_PROGRAM, _STUBS = "program.py", "__builtins__.pyi"
_OVERRIDE = re.compile(r"(\bty\s*):(\s*ignore\b)")
_MAX_PRINTED = 4 * 1024 * 1024
_MAX_DIAGNOSTICS = 500
_FOUND_SOMETHING = 1


class _TyError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


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
            # A layer that the server reported is put on, or nothing is examined.
            lock.lock_examination(plan.locks)
            answer = _examine(talk, plan)
        except _TyError as failed:
            answer = {"ended": failed.status}
        except BaseException as error:  # noqa: BLE001 -- whatever it is, the gateway hears of it and goes on
            answer = {"trouble": f"{type(error).__name__}: {error}"[:500]}
        with contextlib.suppress(OSError):
            talk.sendall(json.dumps(answer).encode())
    os._exit(0)


def _examine(talk: socket.socket, plan: Plan) -> dict[str, Any]:
    ty = _start(talk, plan)
    probing, program, stubs = _question(talk)
    # Whatever runs then, Python or C: the signal ends this process, and ty with it.
    signal.setitimer(signal.ITIMER_REAL, plan.seconds)
    code = program.decode("utf-8", "surrogatepass")
    if probing:
        return {"failed": [one.place[:2] for one in _run(ty, code, stubs)]}
    try:
        parsed = parse(code)
    except SyntaxTrouble as trouble:
        # Python has the last word on what is Python. ty ends with us.
        return {"syntax_error": trouble.answer}
    _begin(ty, parsed.text, stubs)
    facts = parsed.facts()
    found = [one._replace(place=parsed.original(one.place)) for one in _finish(ty)][:_MAX_DIAGNOSTICS]
    return {"facts": facts, "diagnostics": found, **parsed.uses([one.place for one in found])}


def _run(ty: _Ty, text: str, stubs: bytes) -> list[Diagnostic]:
    _begin(ty, text, stubs)
    return _finish(ty)


def _begin(ty: _Ty, text: str, stubs: bytes) -> None:
    # ty's own word for it would hide a whole program; lines that are to be ignored are left out afterwards.
    _write(_PROGRAM, _OVERRIDE.sub(r"\1;\2", text).encode("utf-8", "surrogatepass"))
    _write(_STUBS, stubs)
    os.write(ty.go, b"!")


def _finish(ty: _Ty) -> list[Diagnostic]:
    output = _read_all(ty.printed)
    _, status = os.waitpid(ty.pid, 0)
    ended = os.waitstatus_to_exitcode(status)
    cut = len(output) >= _MAX_PRINTED
    if not cut and ended not in {0, _FOUND_SOMETHING}:
        raise _TyError(ended)
    return read_report(output, cut=cut)


def _question(talk: socket.socket) -> tuple[bool, bytes, bytes]:
    probing, code, stubs = words.QUESTION.unpack(_exactly(talk, words.QUESTION.size))
    return probing, _exactly(talk, code), _exactly(talk, stubs)


def _exactly(talk: socket.socket, size: int) -> bytes:
    body = bytearray()
    while len(body) < size:
        part = talk.recv(min(size - len(body), 1 << 20))
        if not part:
            raise EOFError("the question broke off")
        body += part
    return bytes(body)


def _write(name: str, body: bytes) -> None:
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        rest = memoryview(body)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    finally:
        os.close(descriptor)


class _Ty(NamedTuple):
    pid: int
    go: int
    """Where it is told that its folder is ready."""
    printed: int
    """Where its report comes from."""


def _start(talk: socket.socket, plan: Plan) -> _Ty:
    """Fork the process that will be ty, and have it lock itself while there is nothing else to do."""
    printed, write = os.pipe()
    ready, go = os.pipe()
    own = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            lock.die_with(own)
            talk.close()
            os.close(go)
            os.dup2(write, 1)
            lock.lock_ty(plan.locks)
            if os.read(ready, 1):
                os.execve(plan.executable, plan.arguments, plan.environment)  # noqa: S606 -- the whole point
        finally:
            os._exit(127)
    os.close(write)
    os.close(ready)
    return _Ty(pid, go, printed)


def _read_all(printed: int) -> bytes:
    parts, size = [], 0
    while size < _MAX_PRINTED and (part := os.read(printed, 1 << 16)):
        parts.append(part)
        size += len(part)
    os.close(printed)
    return b"".join(parts)


def get_ready() -> None:
    """Do once before any fork what each child would do for the first time."""
    # A name beyond ASCII, a character by its name, a mistake: each has the parser import something.
    parse("async def é(x):\n    return x['\\N{BULLET}']  # type: ignore").facts()
    with contextlib.suppress(SyntaxTrouble):
        parse("é = (")
    read_report(b"[]")
    json.dumps({"trouble": sys.version})
