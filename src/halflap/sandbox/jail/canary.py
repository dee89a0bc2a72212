"""The canary: a program that tries to break out, before any other is run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.sandbox.sandbox import Program, ToolRefusal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CANARY", "Listener", "escapes"]

CANARY = Program(
    """\
import ctypes, json, os, socket

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_long
got = {}

def attempt(name, action):
    try:
        outcome = action()
    except OSError:
        got[name] = False
    else:
        got[name] = outcome is None or outcome >= 0

attempt("open a file", lambda: os.close(os.open("/", os.O_RDONLY)))
attempt("open a file past Python", lambda: libc.open(b"/", 0))
attempt("make a socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close())
attempt("make a datagram pair", lambda: libc.socketpair(1, 2, 0, (ctypes.c_int * 2)()))
attempt("connect to the outside", lambda: socket.socket(socket.AF_UNIX).connect("/tmp/halflap-canary"))
attempt("start a process", lambda: os._exit(0) if (pid := os.fork()) == 0 else pid)
attempt("send a signal", lambda: os.kill(os.getppid(), 0))
attempt("send a signal to itself", lambda: libc.kill(os.getpid(), 0))
attempt("make memory executable", lambda: libc.mmap(None, 4096, 5, 34, -1, 0))
print(json.dumps(got))
"""
)


_LONGEST = 10_000


class Listener:
    """A `Host` that keeps what the canary prints, and refuses its calls."""

    def __init__(self) -> None:
        self._printed = b""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        raise ToolRefusal(f"{name!r} is not for the canary ({len(arguments)} arguments).")

    def output(self, data: bytes) -> bool:
        self._printed += data
        return len(self._printed) < _LONGEST

    def show(self, block: Mapping[str, Any]) -> bool:
        return not block

    @property
    def attempts(self) -> dict[str, bool] | None:
        """What it tried, and whether it succeeded; None if that cannot be read."""
        try:
            attempts = json.loads(self._printed)
        except ValueError:
            return None
        return attempts if isinstance(attempts, dict) and attempts else None


def escapes(listener: Listener) -> str | None:
    """Return what the canary could do that it should not; None if it could do nothing."""
    attempts = listener.attempts
    if attempts is None:
        return "the canary reported nothing"
    got = [what for what, succeeded in attempts.items() if succeeded]
    return f"a program could {', '.join(got)}" if got else None
