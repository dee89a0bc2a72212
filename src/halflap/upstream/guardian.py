"""The gateway's side of the guardian: start a stdio server so that it cannot outlive us."""

from __future__ import annotations

import array
import asyncio
import contextlib
import fcntl
import json
import os
import signal
import socket
import struct
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["GuardedProcess", "Guardian"]

_SCRIPT = Path(__file__).with_name("guardian_process.py")

_SENDING_SECONDS = 10.0
"""How long the guardian may take to read a request."""

_CLOSING_SECONDS = 5.0
"""How long it may take to end."""

_AFTER_TERM_SECONDS = 4.0
"""How long a supervisor may need, after the server's grace, to end everything the hard way."""


class GuardedProcess:
    """A running server: its process id, our ends of its pipes, and the socket to its supervisor."""

    def __init__(self, pid: int, pipes: tuple[int, int, int], control: socket.socket) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = pipes
        self._probe: int | None = os.dup(self.stdin)
        self.returncode: int | None = None
        self.exited = asyncio.Event()
        """The server's own process has ended; what it started may still be ending."""
        self._control = control
        self._gone = asyncio.create_task(self._watch(), name=f"guard {pid}")

    def unread_input(self) -> int:
        """Say how many bytes of what we wrote nobody has read: of an ended server, nobody ever will."""
        if self._probe is None:
            return 0
        count = array.array("i", [0])
        fcntl.ioctl(self._probe, termios.FIONREAD, count)
        return count[0]

    async def stop(self, grace_seconds: float) -> None:
        """Have it ended, by force after the grace; close its stdin before. Returns when all is gone."""
        if self._probe is not None:
            # As long as it is open, the server does not see the end of its input.
            os.close(self._probe)
            self._probe = None
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            await loop.sock_sendall(self._control, f"{grace_seconds}\n".encode())
        await asyncio.wait([self._gone], timeout=grace_seconds + _AFTER_TERM_SECONDS)
        self._gone.cancel()
        # If it still runs, the supervisor takes this as the gateway's end.
        self._control.close()

    async def _watch(self) -> None:
        while (message := await _receive(self._control)) is not None:
            code = message.get("exit")
            self.returncode = code if isinstance(code, int) else None
            self.exited.set()
        self.exited.set()


class Guardian:
    """Starts the guardian process when the first server is started; one for each gateway."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._asking: set[asyncio.Task[None]] = set()

    async def start(self, argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> GuardedProcess:
        """Start a server; an `OSError` says why it could not be."""
        mine, theirs = _descriptors()
        control, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        control.setblocking(False)
        body = json.dumps({"argv": list(argv), "env": dict(env), "cwd": cwd}).encode()
        # A task of its own, which goes on if we are cancelled: a request that is cut short would spoil all
        # that come after it. The server then finds that nobody wants it, and ends.
        sending = asyncio.create_task(self._request(body, theirs, other), name="ask guardian")
        self._asking.add(sending)
        sending.add_done_callback(self._asked)
        try:
            await asyncio.shield(sending)
            pid = _process_id(await _receive(control), argv[0])
        except BaseException:
            for descriptor in mine:
                os.close(descriptor)
            control.close()
            raise
        return GuardedProcess(pid, mine, control)

    def _asked(self, sending: asyncio.Task[None]) -> None:
        self._asking.discard(sending)
        if not sending.cancelled():
            # Whoever asked may have been cancelled, and no longer wants to know.
            sending.exception()

    async def close(self) -> None:
        """End the guardian. The servers should have been stopped before; any that is left ends now."""
        if self._asking:
            await asyncio.wait(self._asking, timeout=_CLOSING_SECONDS)
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            # A server may have stopped it; it could not see that we are gone.
            process.send_signal(signal.SIGCONT)
        try:
            async with asyncio.timeout(_CLOSING_SECONDS):
                await process.wait()
        except TimeoutError:
            # Somebody whom it may not kill keeps it waiting. The supervisors see to the rest.
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _request(self, body: bytes, theirs: list[int], other: socket.socket) -> None:
        """Hand a request over, and with it the server's ends of everything."""
        try:
            async with self._lock:
                await self._send(body, [*theirs, other.fileno()])
        finally:
            for descriptor in theirs:
                os.close(descriptor)
            other.close()

    async def _send(self, body: bytes, descriptors: list[int]) -> None:
        for attempt in (0, 1):
            requests = await self._connected()
            try:
                await asyncio.to_thread(_send_whole, requests, body, descriptors)
            except OSError:
                # Somebody killed or stopped the guardian. Its supervisors live on without it; start another.
                await self._abandon()
                if attempt:
                    raise
            else:
                return

    async def _abandon(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            self._process = None

    async def _connected(self) -> socket.socket:
        if self._socket is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            ours.settimeout(_SENDING_SECONDS)
            try:
                # Its own session: a Ctrl-C in the terminal is for the gateway, which then stops it in order.
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, "-I", "-S", str(_SCRIPT), str(theirs.fileno()),
                    stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    env=_environment(), pass_fds=[theirs.fileno()], start_new_session=True,
                )  # fmt: skip
            finally:
                theirs.close()
            self._socket = ours
        return self._socket


def _send_whole(requests: socket.socket, body: bytes, descriptors: list[int]) -> None:
    """Send the length with the descriptors riding on it, then the body; waits while the guardian is busy."""
    socket.send_fds(requests, [struct.pack("!I", len(body))], descriptors)
    requests.sendall(body)


def _environment() -> dict[str, str]:
    """Nothing but what an interpreter may need to find its own library."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}


def _process_id(answer: dict[str, Any] | None, command: str) -> int:
    """Read a supervisor's first word: the process id, or why there is none."""
    if answer is None:
        raise OSError("the guardian process ended unexpectedly")
    if not isinstance(answer.get("pid"), int):
        raise OSError(answer.get("errno"), answer.get("error"), answer.get("cwd") or command)
    return int(answer["pid"])


def _descriptors() -> tuple[tuple[int, int, int], list[int]]:
    """Open three pipes; give our ends and the server's."""
    server_in, our_in = os.pipe()
    our_out, server_out = os.pipe()
    our_err, server_err = os.pipe()
    return (our_in, our_out, our_err), [server_in, server_out, server_err]


async def _receive(control: socket.socket) -> dict[str, Any] | None:
    """Read one line of JSON from a supervisor; None when it is gone."""
    loop = asyncio.get_running_loop()
    line = b""
    while not line.endswith(b"\n"):
        try:
            part = await loop.sock_recv(control, 1)
        except OSError:
            return None
        if not part:
            return None
        line += part
    message = json.loads(line)
    return message if isinstance(message, dict) else None
