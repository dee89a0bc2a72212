"""The fork server: a process without secrets that forks locked children, one for each channel it is handed.

The gateway's side is `halflap.sandbox.jail.fork_server.ForkServer(profile, orders)`. The *profile* is the name of a module
with a class `Profile`, derived from the one below, that knows what the children do and how they are locked. Programs have
`halflap.sandbox.jail.inside.child`; the check has its own, which may execute one binary in a private folder. In the server:

1. `prepare(orders)` runs once. It imports and warms up what children need, then gives up rights (`locks.confine` does most of
   it), and returns a JSON report for the gateway: `layers`, `missing`, and whatever else the gateway's side reads.
2. `child(channel)` runs in each forked child, in its own session. It locks the process
   (`locks.lock`), then serves its channel. It need not return; if it does, the child exits.
3. `close()` runs when the gateway is gone.

The control socket is a stream. To the server: one line of JSON (the orders), then `ORDER` structs, `FORK` with the child's
end of its channel, or `KILL`, which ends the child's whole session. From the server: the report, then a line for each child
that ended. What a child is asked, and what it answers, never passes through the server: its memory is shared by all
later children.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
from typing import Any, NoReturn

from halflap.sandbox.jail.protocol import KILL, ORDER


class Profile:
    """What children of one kind do, and how they are locked."""

    def prepare(self, orders: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def child(self, channel: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Remove what the server itself left."""


def main(descriptor: int) -> NoReturn:
    """Prepare, then fork and kill as ordered, until the gateway is gone."""
    control = socket.socket(fileno=descriptor)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))
    with control.makefile("rb", buffering=0) as file:
        orders = json.loads(file.readline())
    # What is loaded now never becomes garbage, so the children share its pages.
    gc.disable()
    profile: Profile = importlib.import_module(orders["profile"]).Profile()
    try:
        report = profile.prepare(orders)
    except Exception as error:  # noqa: BLE001 -- whatever it is, the gateway reports it
        _send(control, {"trouble": str(error) or type(error).__name__})
        os._exit(1)
    gc.freeze()
    gc.enable()
    try:
        _send(control, report)
        _Server(control, profile).serve()
    finally:
        profile.close()
        os._exit(0)


class _Server:
    def __init__(self, control: socket.socket, profile: Profile) -> None:
        self._control = control
        self._profile = profile
        self._pids: dict[int, int] = {}
        """By number."""
        self._wake, self._waker = os.pipe()

    def serve(self) -> None:
        for end in (self._wake, self._waker):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self._wake:
                    os.read(self._wake, 4096)
                elif not self._obey():
                    self._end()
                    return
            self._reap()

    def _obey(self) -> bool:
        """Carry out one order; False when the gateway is gone."""
        try:
            body, descriptors, _, _ = socket.recv_fds(self._control, ORDER.size, 1)
        except OSError:
            return False
        if len(body) != ORDER.size:
            return False
        kind, number = ORDER.unpack(body)
        if kind == KILL:
            self._kill(number)
        elif descriptors:
            self._fork(number, descriptors[0])
        else:
            # There were too many open files to receive the channel.
            self._report(number)
        return True

    def _fork(self, number: int, channel: int) -> None:
        try:
            pid = os.fork()
        except OSError:
            # The machine has no process left for this one; the others continue.
            os.close(channel)
            self._report(number)
            return
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                for own in (self._control.fileno(), self._wake, self._waker):
                    os.close(own)
                # What comes through a socket would be inherited by what the child executes.
                os.set_inheritable(channel, False)
                os.setsid()
                self._profile.child(channel)
            finally:
                # A child never continues as the server.
                os._exit(1)
        os.close(channel)
        self._pids[number] = pid

    def _kill(self, number: int) -> None:
        pid = self._pids.get(number)
        if pid is not None:
            try:
                os.killpg(pid, signal.SIGKILL)
            except OSError:
                # It has no session yet.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while True:
            try:
                pid, status, used = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            number = next((one for one, known in self._pids.items() if known == pid), None)
            # Orphans of children also end here.
            if number is not None:
                if not sys.platform.startswith("linux"):
                    # There, what a child started does not die with it.
                    with contextlib.suppress(OSError):
                        os.killpg(pid, signal.SIGKILL)
                del self._pids[number]
                self._report(
                    number,
                    code=os.waitstatus_to_exitcode(status),
                    cpu_seconds=used.ru_utime + used.ru_stime,
                    memory_bytes=used.ru_maxrss * 1024,
                )

    def _report(self, number: int, **how: float | None) -> None:
        _send(self._control, {"ended": number, **how})

    def _end(self) -> None:
        """Kill all children, and wait until none can write any more."""
        for number in self._pids:
            self._kill(number)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)


def _send(control: socket.socket, message: dict[str, Any]) -> None:
    # When the gateway is gone, the next order is the end.
    with contextlib.suppress(OSError):
        control.sendall(json.dumps(message).encode() + b"\n")
