"""The guardian of one stdio server: starts it, and ensures that none of its processes outlives the gateway.

The gateway runs this file as a script, in isolated mode; it uses only the standard library.

    gateway ──(control socket)──► guardian ──fork, exec──► server

The server inherits the guardian's stdin, stdout and stderr. The guardian is a child subreaper: every process that the
server starts, in any session, becomes the guardian's own child once its parent is gone. "Kill my children until I have
none" therefore ends all of them, and can never hit another process. Without a subreaper (macOS), the server's process
group is ended.

The gateway sends command, environment and folder over the control socket. When the socket closes, however the gateway
died, the server gets a second to exit; SIGTERM ends it immediately. The guardian sends back the server's exit code, or why
it could not be started, and closes the socket when all processes have ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import marshal
import os
import signal
import sys
import threading
import time
from typing import Any, NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_EXIT_SECONDS = 1.0
"""How long a server may take to exit once its stdin is closed."""
_LEFTOVER_SECONDS = 0.2
"""How long children may outlive the server's main process."""
_TERM_SECONDS = 1.5
"""How long a server may take to end after SIGTERM."""
_KILL_SECONDS = 3.0
"""How long to keep sending SIGKILL; a process that survives runs as another user."""


def _prctl(option: int, value: int) -> None:
    if _LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


class Guardian:
    """Runs one server, and returns when all of its processes have ended."""

    def __init__(self, control: int) -> None:
        self._control = control
        self._server = 0
        self._is_server_alive = True

    def run(self) -> None:
        os.set_inheritable(self._control, False)
        try:
            with open(self._control, "rb", closefd=False) as control:
                argv, env, cwd = marshal.load(control)  # noqa: S302 -- the gateway wrote it
        except (EOFError, ValueError, TypeError):
            return  # the gateway is gone
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        guardian = os.getpid()
        self._server = os.fork()
        if self._server == 0:
            self._become_server(argv, env, cwd, guardian)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        for watch in (self._watch_gateway, self._watch_signals):
            threading.Thread(target=watch, daemon=True).start()
        self._reap()

    def _become_server(
        self, argv: list[str], env: dict[str, str], cwd: str | None, guardian: int
    ) -> NoReturn:
        """In the forked child: execute the server's program, or report why that failed."""
        try:
            os.setsid()
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != guardian:
                os._exit(1)  # the guardian died before PDEATHSIG was set
            # The server must not inherit signals that our parent ignores.
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                # The C library reserves some.
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            if cwd is not None:
                os.chdir(cwd)
            os.execvpe(argv[0], argv, env)  # noqa: S606 -- the user's own command
        except OSError as error:
            self._report((error.errno, error.strerror, error.filename))
        except ValueError as error:
            self._report((errno.EINVAL, str(error)))
        os._exit(127)

    def _report(self, outcome: object) -> None:
        with contextlib.suppress(OSError):
            os.write(self._control, ascii(outcome).encode() + b"\n")

    def _reap(self) -> None:
        """Wait for children until none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, 0)
            except ChildProcessError:
                return
            if pid == self._server:
                self._is_server_alive = False
                self._report(os.waitstatus_to_exitcode(status))
                threading.Thread(target=self._end, args=(_LEFTOVER_SECONDS,), daemon=True).start()

    def _watch_gateway(self) -> None:
        os.read(self._control, 1)  # until the gateway closes its end
        self._end(_EXIT_SECONDS)

    def _watch_signals(self) -> None:
        signal.sigwait(_SIGNALS)
        self._end(0)

    def _end(self, grace: float) -> None:
        """End all children, first with SIGTERM, then with SIGKILL."""
        time.sleep(grace)
        self._signal_all(signal.SIGTERM)
        time.sleep(_TERM_SECONDS)
        until = time.monotonic() + _KILL_SECONDS
        while time.monotonic() < until:
            self._signal_all(signal.SIGKILL)
            time.sleep(0.05)
        os._exit(1)

    def _signal_all(self, number: int) -> None:
        kills: list[tuple[Any, int]] = [(os.kill, pid) for pid in _children()]
        if self._is_server_alive:
            kills.append((os.killpg, self._server))
        for kill, pid in kills:
            with contextlib.suppress(OSError):
                kill(pid, number)


def _children() -> list[int]:
    """Return the children that have not ended (Linux only)."""
    me, found = str(os.getpid()).encode(), []
    for entry in os.listdir("/proc") if _LINUX else ():  # noqa: PTH208 -- pathlib is slow to import here
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as stat:  # noqa: PTH123 -- pathlib is slow to import here
                state, parent = stat.read().rpartition(b")")[2].split()[:2]
        except OSError:
            continue
        if parent == me and state != b"Z":
            found.append(int(entry))
    return found


if __name__ == "__main__":
    Guardian(int(sys.argv[1])).run()
