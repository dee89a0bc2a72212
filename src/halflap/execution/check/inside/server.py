"""The check's server: a process without secrets that forks a child for each examination."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NoReturn

from halflap.execution.check.inside import child, words

__all__ = ["main"]

_LONGEST_INSTRUCTIONS = 1 << 20
_SETTINGS = """[analysis]\nreturn-type-inference = "always"\n"""


def main(descriptor: int) -> NoReturn:
    """Prepare, then fork a child for each examination, until the gateway is gone."""
    control = socket.socket(fileno=descriptor)
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))
    orders = json.loads(_line(control))
    try:
        plan, place, layers, missing = _prepare(orders)
    except OSError as error:
        _say(control, {"trouble": str(error)})
        os._exit(1)
    try:
        _say(control, {"layers": layers, "missing": missing})
        _Server(control, plan, place, orders["seconds"]).serve()
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os._exit(0)


def _prepare(orders: dict[str, Any]) -> tuple[child.Plan, str, list[str], dict[str, str]]:
    place = tempfile.mkdtemp(prefix="halflap-check-", dir=orders["temporary"])
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    Path(place, "none", "lib", f"python{version}", "site-packages").mkdir(parents=True)
    Path(place, "none", "ty.toml").write_text(_SETTINGS, encoding="ascii")
    plan = child.Plan(
        executable=orders["executable"],
        arguments=(
            "ty", "check", "--project", ".", "--config-file", "../none/ty.toml", "--python", "../none",
            "--python-version", version, "--no-progress", "--color", "never", "--output-format", "gitlab",
            "program.py",
        ),
        environment={"HOME": f"{place}/none", "TY_MAX_PARALLELISM": "1"},
    )  # fmt: skip
    child.get_ready()
    gc.collect()
    gc.freeze()
    return plan, place, [], {}


class _Server:
    def __init__(self, control: socket.socket, plan: child.Plan, place: str, seconds: float) -> None:
        self._control = control
        self._plan = plan
        self._place = place
        self._seconds = seconds
        self._children: dict[int, tuple[int, float]] = {}

    def serve(self) -> None:
        """Fork what is asked for, kill what takes too long, and clear away what is left."""
        wake, waker = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll(self._patience()):
                if descriptor == wake:
                    os.read(wake, 4096)
                elif not self._obey():
                    for number in list(self._children):
                        self._kill(number)
                    return
            self._bury()
            now = time.monotonic()
            for number, (_, until) in list(self._children.items()):
                if until < now:
                    self._kill(number)

    def _patience(self) -> float | None:
        untils = [until for _, until in self._children.values()]
        return max(min(untils) - time.monotonic(), 0) * 1000 + 1 if untils else None

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
            self._fork(number, descriptors[0])
        return True

    def _fork(self, number: int, channel: int) -> None:
        try:
            pid = os.fork()
        except OSError:
            # The gateway sees the channel closed.
            os.close(channel)
            return
        if pid == 0:
            signal.set_wakeup_fd(-1)
            os.setpgid(0, 0)
            os.closerange(3, channel)
            os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX"))
            child.main(channel, f"{self._place}/{number}", self._plan)
        os.close(channel)
        with contextlib.suppress(OSError):
            os.setpgid(pid, pid)
        self._children[number] = (pid, time.monotonic() + self._seconds)

    def _kill(self, number: int) -> None:
        if number in self._children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._children[number][0], signal.SIGKILL)

    def _bury(self) -> None:
        while self._children:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for number, (known, _) in list(self._children.items()):
                if known == pid:
                    # ty may be left, if its parent went first.
                    with contextlib.suppress(OSError):
                        os.killpg(pid, signal.SIGKILL)
                    del self._children[number]
                    shutil.rmtree(f"{self._place}/{number}", ignore_errors=True)


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
