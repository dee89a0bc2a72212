"""The canary: a program that tries to get out, before any other is let in."""

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
    """A `Host` that hears what the canary says, and gives it nothing."""

    def __init__(self) -> None:
        self._heard = b""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        raise ToolRefusal(f"{name!r} is not for the canary ({len(arguments)} arguments).")

    def output(self, data: bytes) -> bool:
        self._heard += data
        return len(self._heard) < _LONGEST

    def show(self, block: Mapping[str, Any]) -> bool:
        return not block

    @property
    def said(self) -> dict[str, bool] | None:
        """What it tried, and whether it got it; None if it made no sense."""
        try:
            said = json.loads(self._heard)
        except ValueError:
            return None
        return said if isinstance(said, dict) and said else None


def escapes(listener: Listener) -> str | None:
    """Say what the canary got that it should not have; None if it got nothing."""
    said = listener.said
    if said is None:
        return "the canary said nothing"
    got = [what for what, succeeded in said.items() if succeeded]
    return f"a program could {', '.join(got)}" if got else None
