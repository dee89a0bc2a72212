"""The check's server: a process without secrets that forks a child for each examination."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from halflap.sandbox.check.inside import child, words
from halflap.sandbox.check.inside.locks import IS_LINUX, die_with
from halflap.sandbox.check.inside.prepare import prepare
from halflap.sandbox.jail.inside.locks import NamespaceError

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.place import Place

__all__ = ["main"]

_LONGEST_INSTRUCTIONS = 1 << 20


def main(descriptor: int) -> NoReturn:
    """Prepare, then fork a child for each examination, until the gateway is gone."""
    control = socket.socket(fileno=descriptor)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))
    try:
        plan, place, found = prepare(json.loads(_line(control)))
    except NamespaceError as trouble:
        _say(control, {"without_namespaces": str(trouble)})
        os._exit(1)
    except Exception as error:  # noqa: BLE001 -- whatever it is, the gateway is to hear of it
        _say(control, {"trouble": str(error) or type(error).__name__})
        os._exit(1)
    try:
        kept = None if place.is_private else place.root
        _say(control, {"layers": found.layers, "missing": found.missing, "place": kept})
        _Server(control, plan, place).serve()
    finally:
        place.clear()
        os._exit(0)


class _Child(NamedTuple):
    pid: int
    folder: str


class _Server:
    def __init__(self, control: socket.socket, plan: child.Plan, place: Place) -> None:
        self._control = control
        self._plan = plan
        self._place = place
        self._children: dict[int, _Child] = {}
        self._pid = os.getpid()
        self._wakers = os.pipe()

    def serve(self) -> None:
        """Fork and kill what is asked for, and clear away what is left."""
        wake, waker = self._wakers
        os.set_blocking(wake, False)
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == wake:
                    os.read(wake, 4096)
                elif not self._obey():
                    self._end()
                    return
            self._bury()

    def _end(self) -> None:
        """Kill all children, and wait until none can write any more."""
        for number in self._children:
            self._kill(number)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)

    def _obey(self) -> bool:
        try:
            body, descriptors, _, _ = socket.recv_fds(self._control, words.ORDER.size, 1)
        except OSError:
            return False
        if len(body) != words.ORDER.size:
            return False
        kind, number = words.ORDER.unpack(body)
        if kind == words.KILL:
            self._kill(number)
        elif descriptors:
            # What comes through a socket is not closed by itself when ty is executed.
            os.set_inheritable(descriptors[0], False)
            self._fork(number, descriptors[0])
        return True

    def _fork(self, number: int, channel: int) -> None:
        # Nobody can list the folders, so nobody who cannot guess this gets to one.
        folder = f"{self._place.folders}/{os.urandom(12).hex()}"
        try:
            pid = os.fork()
        except OSError:
            # The gateway sees the channel closed.
            os.close(channel)
            return
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                for own in (self._control.fileno(), *self._wakers):
                    os.close(own)
                os.setpgid(0, 0)
                die_with(self._pid)
                child.main(channel, folder, self._plan)
            finally:
                # Whatever goes wrong, a child never goes on as the server.
                os._exit(1)
        os.close(channel)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._children[number] = _Child(pid, folder)

    def _kill(self, number: int) -> None:
        if number in self._children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._children[number].pid, signal.SIGKILL)

    def _bury(self) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for number, one in list(self._children.items()):
                if one.pid == pid:
                    del self._children[number]
                    if not IS_LINUX:
                        # There ty does not die with its parent.
                        with contextlib.suppress(OSError):
                            os.killpg(pid, signal.SIGKILL)
                    with contextlib.suppress(OSError):
                        os.chmod(one.folder, 0o700)  # noqa: PTH101 -- the library has no more in memory than it needs
                    shutil.rmtree(one.folder, ignore_errors=True)


def _line(control: socket.socket) -> bytes:
    body = b""
    while not body.endswith(b"\n") and len(body) < _LONGEST_INSTRUCTIONS:
        part = control.recv(1 << 16)
        if not part:
            os._exit(0)
        body += part
    return body


def _say(control: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):
        control.sendall(json.dumps(message).encode() + b"\n")
