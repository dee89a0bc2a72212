"""The guardian: starts stdio servers and makes sure that none of them outlives the gateway.

It is run as a script by path, in isolated mode, with the standard library alone; the gateway never imports it. Three
kinds of process are involved:

    gateway ──(socket)──► guardian ──fork──► supervisor, one per server ──fork, exec──► server

For each server, the gateway sends the guardian a request: the command, and four descriptors (the server's stdin,
stdout and stderr, and a control socket). The guardian forks a supervisor for it. A supervisor is a child subreaper:
whatever the server starts, in whatever session, becomes the supervisor's own child once its parent is gone. "Kill my
children until I have none" therefore ends all of it, and can never hit any other process.

The control socket closes when the gateway dies, in whatever way; the supervisor then ends the server. In the other
direction it carries the server's process id, its exit code when it has ended, and it closes when nothing is left of
what the server started.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from typing import Any, NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"

TERM_SECONDS = 1.5
"""How long a server may take to end after SIGTERM."""

KILL_SECONDS = 3.0
"""How long to keep killing. Longer does not help: what is left by then runs as another user."""

ORPHANED_GRACE_SECONDS = 0.3
"""How long a server may take to exit on end of input when the gateway is gone."""

LEFTOVER_GRACE_SECONDS = 0.2
"""How long children may outlive the server's main process."""


def _prctl(option: int, value: int) -> None:
    if _LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _children() -> list[int]:
    me = os.getpid()
    if not _LINUX:
        return [pid for pid, parent in _process_table() if parent == me]
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208 -- pathlib is slow to import here
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as stat:  # noqa: PTH123 -- pathlib is slow to import here
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == me and fields[0] != b"Z":
            found.append(int(entry))
    return found


def _process_table() -> list[tuple[int, int]]:
    listed = subprocess.run(["/bin/ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=False)
    rows = (line.split() for line in listed.stdout.splitlines())
    return [(int(row[0]), int(row[1])) for row in rows if len(row) == 2]  # noqa: PLR2004 -- two columns


def _send(control: socket.socket, **message: Any) -> None:
    with contextlib.suppress(OSError):
        control.sendall(json.dumps(message).encode() + b"\n")


def _wakeup_pipe() -> tuple[int, int]:
    """Return a pipe that becomes readable when a signal arrives."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader, writer


def _wait_readable(descriptor: int, wakeup: int) -> bool:
    """Wait until the descriptor is readable or a signal arrives; return whether it is readable."""
    ready, _, _ = select.select([descriptor, wakeup], [], [])
    if wakeup in ready:
        with contextlib.suppress(BlockingIOError):
            os.read(wakeup, 4096)
    return descriptor in ready


def _prepare_server() -> None:
    """Run in a server's process before its program."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.set_wakeup_fd(-1)
    # The server must not inherit signals that we, or our parent, ignore.
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


class Supervisor:
    """Runs one server, and exits when nothing is left of it."""

    def __init__(self, request: dict[str, Any], stdio: list[int], control: socket.socket) -> None:
        self.request = request
        self.stdio = stdio
        self.control = control
        self.server: int | None = None
        self.status: int | None = None

    def run(self) -> None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        wakeup, _ = _wakeup_pipe()
        terminated = False

        def note(number: int, _frame: object) -> None:
            nonlocal terminated
            terminated = terminated or number != signal.SIGCHLD

        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, note)
        try:
            # Kept: when it is collected as garbage, it may take the exit status.
            process = self._start()
            self.server = process.pid
        except OSError as error:
            _send(self.control, errno=error.errno, error=error.strerror, filename=error.filename)
            return
        except ValueError as error:
            _send(self.control, errno=errno.EINVAL, error=str(error), filename=None)
            return
        finally:
            for descriptor in self.stdio:
                os.close(descriptor)
        _send(self.control, pid=self.server)
        grace = ORPHANED_GRACE_SECONDS
        while not terminated:
            is_told = _wait_readable(self.control.fileno(), wakeup)
            self._reap()
            if self.status is not None:
                break
            if is_told:
                grace = self._requested_grace(grace)
                break
        self._end(grace)

    def _requested_grace(self, otherwise: float) -> float:
        """Read the gateway's request to stop, a number of seconds; `otherwise` if the gateway is gone."""
        try:
            return float(self.control.recv(256))
        except (OSError, ValueError):
            return otherwise

    def _start(self) -> subprocess.Popen[bytes]:
        stdin, stdout, stderr = self.stdio
        return subprocess.Popen(
            self.request["argv"],
            env=self.request["env"],
            cwd=self.request["cwd"],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=_prepare_server,  # noqa: PLW1509 -- this process has no threads
        )

    def _reap(self) -> bool:
        """Collect the children that have ended; False when there is none left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.server:
                self.status = os.waitstatus_to_exitcode(status)
                _send(self.control, exit=self.status)

    def _wait(self, seconds: float) -> bool:
        """Wait for all children to end; True when none is left."""
        until = time.monotonic() + seconds
        while self._reap():
            if time.monotonic() >= until:
                return False
            time.sleep(0.01)
        return True

    def _end(self, grace: float) -> None:
        if self._wait(LEFTOVER_GRACE_SECONDS if self.status is not None else grace):
            return
        self._signal_all(signal.SIGTERM)
        if self._wait(TERM_SECONDS):
            return
        until = time.monotonic() + KILL_SECONDS
        while time.monotonic() < until:
            self._signal_all(signal.SIGKILL)
            if self._wait(0.05):
                return

    def _signal_all(self, number: int) -> None:
        if self.server is not None and self.status is None:
            with contextlib.suppress(OSError):
                os.killpg(self.server, number)
        for pid in _children():
            with contextlib.suppress(OSError):
                os.kill(pid, number)


class Guardian:
    """Forks a supervisor for every request, and cleans up after one that was killed."""

    def __init__(self, requests: socket.socket) -> None:
        self.requests = requests
        self.supervisors: set[int] = set()

    def run(self) -> None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        # A server can stop us by a signal. This wakes us when the gateway dies, so that we notice.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        pipe = _wakeup_pipe()
        while True:
            is_asked = _wait_readable(self.requests.fileno(), pipe[0])
            self._reap()
            if is_asked and not self._serve_one(pipe):
                break
        # The supervisors saw their control sockets close. Stay until they are done: if one is killed meanwhile, its
        # orphans become our children.
        self.requests.close()
        while self.supervisors:
            for pid in self.supervisors:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGCONT)
            self._reap()
            time.sleep(0.02)

    def _reap(self) -> None:
        killed = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self.supervisors.clear()
                return
            if pid == 0:
                break
            self.supervisors.discard(pid)
            killed = killed or status != 0
        if killed:
            for pid in _children():
                if pid not in self.supervisors:
                    with contextlib.suppress(OSError):
                        os.kill(pid, signal.SIGKILL)

    def _serve_one(self, pipe: tuple[int, int]) -> bool:
        """Fork a supervisor for one request; False when the gateway is gone."""
        received = self._receive()
        if received is None:
            return False
        request, descriptors = received
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.set_wakeup_fd(-1)
                self.requests.close()
                for descriptor in pipe:
                    os.close(descriptor)
                control = socket.socket(fileno=descriptors[3])
                Supervisor(request, descriptors[:3], control).run()
                code = 0
            finally:
                os._exit(code)
        self.supervisors.add(pid)
        for descriptor in descriptors:
            os.close(descriptor)
        return True

    def _receive(self) -> tuple[dict[str, Any], list[int]] | None:
        """Read the length with the descriptors attached, then the body."""
        head, descriptors, _, _ = socket.recv_fds(self.requests, 4, 4)
        if len(head) < 4:  # noqa: PLR2004 -- the length has four bytes
            return None
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        length = struct.unpack("!I", head)[0]
        body = b""
        while len(body) < length:
            part = self.requests.recv(min(length - len(body), 65536))
            if not part:
                return None
            body += part
        return json.loads(body), descriptors


def main() -> NoReturn:
    """Serve the socket whose descriptor is the first argument until it closes."""
    Guardian(socket.socket(fileno=int(sys.argv[1]))).run()
    sys.exit(0)


if __name__ == "__main__":
    main()
