"""The guardian of one stdio server: starts it, and makes sure that nothing of it outlives the gateway.

It is run as a script by path, in isolated mode, with the standard library alone; the gateway never imports it.

    gateway ──(control socket)──► guardian ──fork, exec──► server

The server's stdin, stdout and stderr are the guardian's own. The guardian is a child subreaper: whatever the server
starts, in whatever session, becomes the guardian's own child once its parent is gone. "Kill my children until I have none"
therefore ends all of it, and can never hit any other process. Without a subreaper (macOS), the server's process group is
ended.

The control socket brings the command, environment and folder, and later how long the server may take to exit. It closes
when the gateway dies, in whatever way; the guardian then ends the server. In the other direction it carries the server's
process id, its exit code when it has ended, and it closes when nothing is left of what the server started.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import marshal
import os
import select
import signal
import sys
import time
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"
_LENGTH_BYTES = 4

_TERM_SECONDS = 1.5
"""How long a server may take to end after SIGTERM."""
_KILL_SECONDS = 3.0
"""How long to keep killing. Longer does not help: what is left by then runs as another user."""
_ORPHANED_SECONDS = 0.3
"""How long a server may take to exit on end of input when the gateway is gone."""
_LEFTOVER_SECONDS = 0.2
"""How long children may outlive the server's main process."""


def _prctl(option: int, value: int) -> None:
    if _LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _receive(control: int) -> Any:
    """Read what to start: a length, then that many bytes; None if the gateway is gone."""
    data, wanted = b"", _LENGTH_BYTES
    while len(data) < wanted:
        part = os.read(control, wanted - len(data))
        if not part:
            return None
        data += part
        if len(data) == _LENGTH_BYTES:
            wanted += int.from_bytes(data, "big")
    return marshal.loads(data[_LENGTH_BYTES:])  # noqa: S302 -- the gateway wrote it


def _exec(argv: list[str], env: dict[str, str], cwd: str | None, failure: int) -> None:
    """Become the server, or report why that failed. Runs in the forked child."""
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        # The server must not inherit signals that we, or our parent, ignore.
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        if cwd is not None:
            os.chdir(cwd)
        os.execvpe(argv[0], argv, env)  # noqa: S606 -- the user's own command
    except OSError as error:
        os.write(failure, marshal.dumps((error.errno, error.strerror, error.filename)))
    except ValueError as error:
        os.write(failure, marshal.dumps((errno.EINVAL, str(error), None)))
    finally:
        os._exit(127)


def _children() -> list[int]:
    """Return our children that have not ended; only Linux can tell."""
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


class Guardian:
    """Runs one server, and returns when nothing is left of it."""

    def __init__(self, control: int) -> None:
        self._control = control
        self._server = 0
        self._status: int | None = None
        self._is_terminated = False

    def run(self) -> None:
        os.set_inheritable(self._control, False)
        request = _receive(self._control)
        if request is None:
            return
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        wakeup, writer = os.pipe()
        for descriptor in (wakeup, writer):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        if self._start(*request):
            self._end(self._wait_for_end(wakeup))

    def _on_signal(self, number: int, _frame: object) -> None:
        self._is_terminated |= number != signal.SIGCHLD

    def _start(self, argv: list[str], env: dict[str, str], cwd: str | None) -> bool:
        failed, failure = os.pipe()
        self._server = os.fork()
        if self._server == 0:
            _exec(argv, env, cwd, failure)
        os.close(failure)
        # Ends without a word when the server's program has replaced our copy.
        error = os.read(failed, 65536)
        os.close(failed)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        self._send(("error", *marshal.loads(error)) if error else ("pid", self._server))  # noqa: S302 -- ours
        return not error

    def _send(self, message: tuple[Any, ...]) -> None:
        with contextlib.suppress(OSError):
            os.write(self._control, ascii(message).encode() + b"\n")

    def _wait_for_end(self, wakeup: int) -> float:
        """Wait until the server ended or has to; return how long to wait for what is left of it."""
        while not self._is_terminated:
            readable, _, _ = select.select([self._control, wakeup], [], [])
            if wakeup in readable:
                os.read(wakeup, 4096)
            self._reap()
            if self._status is not None:
                return _LEFTOVER_SECONDS
            if self._control in readable:
                try:
                    return float(os.read(self._control, 256))
                except (OSError, ValueError):
                    break
        return _ORPHANED_SECONDS

    def _reap(self) -> bool:
        """Collect the children that have ended; False when there is none left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._server:
                self._status = os.waitstatus_to_exitcode(status)
                self._send(("exit", self._status))

    def _have_ended(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while self._reap():
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
        return True

    def _end(self, grace: float) -> None:
        if self._have_ended(grace):
            return
        self._signal_all(signal.SIGTERM)
        if self._have_ended(_TERM_SECONDS):
            return
        until = time.monotonic() + _KILL_SECONDS
        while time.monotonic() < until:
            self._signal_all(signal.SIGKILL)
            if self._have_ended(0.05):
                return

    def _signal_all(self, number: int) -> None:
        kills = [(os.kill, pid) for pid in _children()]
        if self._status is None:
            kills.append((os.killpg, self._server))
        for kill, pid in kills:
            with contextlib.suppress(OSError):
                kill(pid, number)


if __name__ == "__main__":
    Guardian(int(sys.argv[1])).run()
