"""The guardian: starts the stdio servers, and sees to it that none outlives the gateway.

Run as a script by path, in isolated mode, with the standard library alone; it is never imported by
the gateway. Three kinds of process are involved:

    gateway ──(socket)──► guardian ──fork──► supervisor, one per server ──fork, exec──► server

The gateway sends the guardian one message for each server: what to run, and four descriptors: the
server's stdin, stdout and stderr, and a control socket. The guardian forks a supervisor for it. A
supervisor is a child subreaper: whatever the server starts, in whatever session, becomes the
supervisor's own child once its parent is gone. So "kill my children until I have none" ends all of
it, without ever naming a process that might be somebody else's by now.

The control socket is also the lifeline. It closes when the gateway goes away, in any way, and the
supervisor then ends the server. In the other direction it carries the server's process id, then its
exit code when it has ended, and closes when nothing is left of what it started.
"""

from __future__ import annotations

import array
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
"""How long to go on killing what does not end: all that we may kill is gone far sooner."""

ORPHANED_GRACE_SECONDS = 0.3
"""How long a server may take to end by itself, on end of input, when the gateway is gone."""

LEFTOVER_GRACE_SECONDS = 0.2
"""How long children may outlive their server's main process."""


def _prctl(option: int, value: int) -> None:
    if _LINUX:
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def _children() -> list[int]:
    """Give the process ids whose parent this process is."""
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


class Supervisor:
    """Runs one server and ends with it, having left nothing behind."""

    def __init__(self, request: dict[str, Any], stdio: list[int], control: socket.socket) -> None:
        self.request = request
        self.stdio = stdio
        self.control = control
        self.server: int | None = None
        self.status: int | None = None

    def run(self) -> None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        waker, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(waker, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        told_to_end = False

        def note(number: int, _frame: object) -> None:
            nonlocal told_to_end
            told_to_end = told_to_end or number != signal.SIGCHLD

        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, note)
        try:
            self.server = self._start()
        except OSError as error:
            _send(self.control, error=error.strerror or str(error), errno=error.errno, cwd=error.filename)
            return
        finally:
            for descriptor in self.stdio:
                os.close(descriptor)
        _send(self.control, pid=self.server)
        grace = ORPHANED_GRACE_SECONDS
        while not told_to_end:
            ready, _, _ = select.select([self.control.fileno(), waker], [], [])
            if waker in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(waker, 4096)
            self._reap()
            if self.status is not None:
                break
            if self.control.fileno() in ready:
                order = self._order()
                if order is not None:
                    grace = order
                break
        self._end(grace)

    def _order(self) -> float | None:
        """Read the gateway's word to stop, a number of seconds; None if it is gone."""
        try:
            line = self.control.recv(256)
            return float(line) if line else None
        except (OSError, ValueError):
            return None

    def _start(self) -> int:
        """Fork and exec; the exec's own failure comes back through a pipe that exec closes."""
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self._become_server()
            except BaseException as error:  # noqa: BLE001 -- whatever it is, this process must not go on
                number = (error.errno if isinstance(error, OSError) else None) or errno.EINVAL
                in_cwd = isinstance(error, OSError) and error.filename == self.request["cwd"]
                os.write(tell, struct.pack("ii", number, in_cwd))
            finally:
                os._exit(127)
        os.close(tell)
        try:
            failed = os.read(told, 8)
        finally:
            os.close(told)
        if failed:
            os.waitpid(pid, 0)
            number, in_cwd = struct.unpack("ii", failed)
            raise OSError(number, os.strerror(number), self.request["cwd"] if in_cwd else None)
        return pid

    def _become_server(self) -> None:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        # What we, or whoever started us, ignore is none of the server's business.
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for target, descriptor in enumerate(self.stdio):
            os.dup2(descriptor, target, inheritable=True)
        if self.request["cwd"] is not None:
            os.chdir(self.request["cwd"])
        os.execvpe(self.request["argv"][0], self.request["argv"], self.request["env"])  # noqa: S606 -- the job

    def _reap(self) -> bool:
        """Collect who has ended; False when there is no child left at all."""
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
        # What is left runs as somebody whom we may not kill.

    def _signal_all(self, number: int) -> None:
        if self.server is not None and self.status is None:
            with contextlib.suppress(OSError):
                os.killpg(self.server, number)
        for pid in _children():
            with contextlib.suppress(OSError):
                os.kill(pid, number)


class Guardian:
    """Forks a supervisor for every request, and picks up after one that was killed."""

    def __init__(self, requests: socket.socket) -> None:
        self.requests = requests
        self.supervisors: set[int] = set()

    def run(self) -> None:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        # A server can stop us. When the gateway dies then, we are woken, and see that it is gone.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)
        waker, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        while True:
            ready, _, _ = select.select([self.requests.fileno(), waker], [], [])
            if waker in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(waker, 4096)
                self._reap()
            if self.requests.fileno() in ready and not self._serve_one((waker, wake)):
                break
        # The supervisors saw their own lifelines close; stay until they are done, so that orphans of
        # one that is killed meanwhile are still ours to end.
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

    def _serve_one(self, own: tuple[int, int]) -> bool:
        """Take one request; False when the gateway is gone."""
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
                for descriptor in own:
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
        """Read the length with the descriptors riding on it, then the body."""
        space = socket.CMSG_SPACE(4 * array.array("i").itemsize)
        head, ancillary, _flags, _address = self.requests.recvmsg(4, space)
        if len(head) < 4:  # noqa: PLR2004 -- the length is four bytes
            return None
        descriptors = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
        remaining = struct.unpack("!I", head)[0]
        parts = []
        while remaining:
            part = self.requests.recv(min(remaining, 65536))
            if not part:
                return None
            parts.append(part)
            remaining -= len(part)
        return json.loads(b"".join(parts)), list(descriptors)


def main() -> NoReturn:
    """Serve the socket whose descriptor is the first argument until it closes."""
    Guardian(socket.socket(fileno=int(sys.argv[1]))).run()
    sys.exit(0)


if __name__ == "__main__":
    main()
