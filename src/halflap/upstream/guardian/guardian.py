"""The gateway's side of the guardian: start a server process that cannot outlive the gateway."""

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

_PROGRAM = Path(__file__).with_name("process.py")
_REQUEST_SECONDS = 10.0
"""How long the guardian may take to read a request."""
_EXIT_SECONDS = 5.0
"""How long the guardian may take to exit."""
_KILL_SECONDS = 4.0
"""How long a supervisor may need, after the server's grace, to end everything by force."""


class GuardedProcess:
    """A running server: its process id, our ends of its pipes, and the socket to its supervisor."""

    def __init__(self, pid: int, pipes: tuple[int, int, int], control: socket.socket) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = pipes
        self._stdin_copy: int | None = os.dup(self.stdin)
        """Still open when the event loop has closed `stdin`, to ask how much was left unread."""
        self.returncode: int | None = None
        self.exited = asyncio.Event()
        """The server's own process has ended; processes that it started may still be ending."""
        self._control = control
        self._supervisor_ended = asyncio.create_task(self._watch(), name=f"guard {pid}")

    def unread_input(self) -> int:
        """Return how many of the bytes that we wrote were never read."""
        if self._stdin_copy is None:
            return 0
        count = array.array("i", [0])
        fcntl.ioctl(self._stdin_copy, termios.FIONREAD, count)
        return count[0]

    async def stop(self, grace_seconds: float) -> None:
        """End the process and all that it started, by force after the grace. Close its stdin before."""
        if self._stdin_copy is not None:
            # While it is open, the server does not see the end of its input.
            os.close(self._stdin_copy)
            self._stdin_copy = None
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().sock_sendall(self._control, f"{grace_seconds}\n".encode())
        await asyncio.wait([self._supervisor_ended], timeout=grace_seconds + _KILL_SECONDS)
        self._supervisor_ended.cancel()
        # A supervisor that still runs takes this as the gateway's end.
        self._control.close()

    async def _watch(self) -> None:
        while (message := await _receive(self._control)) is not None:
            code = message.get("exit")
            self.returncode = code if isinstance(code, int) else None
            self.exited.set()
        self.exited.set()


class Guardian:
    """Starts servers through a guardian process, which is itself started with the first server."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._requests: set[asyncio.Task[None]] = set()

    async def start(self, argv: Sequence[str], env: Mapping[str, str], cwd: str | None) -> GuardedProcess:
        """Start a server; raises the `OSError` of a failed start."""
        ours, theirs = _open_pipes()
        control, their_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        control.setblocking(False)
        body = json.dumps({"argv": list(argv), "env": dict(env), "cwd": cwd}).encode()
        # In a separate task, which continues if we are cancelled: half a request would corrupt all that follow.
        # A server that is started in vain finds its control socket closed, and ends.
        request = asyncio.create_task(self._request(body, theirs, their_control), name="ask guardian")
        self._requests.add(request)
        request.add_done_callback(self._requested)
        try:
            await asyncio.shield(request)
            pid = _process_id(await _receive(control), argv[0])
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            control.close()
            raise
        return GuardedProcess(pid, ours, control)

    def _requested(self, request: asyncio.Task[None]) -> None:
        self._requests.discard(request)
        if not request.cancelled():
            # Its caller may be gone; asyncio complains about exceptions that are never retrieved.
            request.exception()

    async def close(self) -> None:
        """End the guardian process, and any server that was not stopped before."""
        if self._requests:
            await asyncio.wait(self._requests, timeout=_EXIT_SECONDS)
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            # A server may have stopped it; stopped, it would not notice that the socket is closed.
            process.send_signal(signal.SIGCONT)
        try:
            async with asyncio.timeout(_EXIT_SECONDS):
                await process.wait()
        except TimeoutError:
            # It waits for a process that it may not kill. The supervisors take care of the rest.
            await _kill(process)

    async def _request(self, body: bytes, theirs: list[int], their_control: socket.socket) -> None:
        """Send a request, and with it the server's ends of the pipes and of the control socket."""
        descriptors = [*theirs, their_control.fileno()]
        try:
            async with self._lock:
                try:
                    await asyncio.to_thread(_send, await self._connect(), body, descriptors)
                except OSError:
                    # The guardian was killed or stopped. Its supervisors live on without it; start another.
                    await self._abandon()
                    await asyncio.to_thread(_send, await self._connect(), body, descriptors)
        finally:
            for descriptor in theirs:
                os.close(descriptor)
            their_control.close()

    async def _abandon(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            await _kill(self._process)
            self._process = None

    async def _connect(self) -> socket.socket:
        """Return the socket to the guardian process, which is started if there is none."""
        if self._socket is None:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            ours.settimeout(_REQUEST_SECONDS)
            # All that an interpreter may need to find its own library.
            library_paths = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
            with theirs:
                # In a separate session: Ctrl-C in the terminal is for the gateway, which then stops the servers.
                self._process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", str(_PROGRAM), str(theirs.fileno())),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    env={name: os.environ[name] for name in library_paths if name in os.environ},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            self._socket = ours
        return self._socket


async def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


def _send(guardian: socket.socket, body: bytes, descriptors: list[int]) -> None:
    """Send the length with the descriptors attached, then the body; waits while the guardian is busy."""
    socket.send_fds(guardian, [struct.pack("!I", len(body))], descriptors)
    guardian.sendall(body)


def _process_id(answer: dict[str, Any] | None, command: str) -> int:
    """Return the process id in a supervisor's first message, or raise the error that it reports."""
    if answer is None:
        raise OSError("the guardian process ended unexpectedly")
    if not isinstance(answer.get("pid"), int):
        raise OSError(answer.get("errno"), answer.get("error"), answer.get("filename") or command)
    return int(answer["pid"])


def _open_pipes() -> tuple[tuple[int, int, int], list[int]]:
    """Return our ends of stdin, stdout and stderr, and the server's ends."""
    server_in, our_in = os.pipe()
    our_out, server_out = os.pipe()
    our_err, server_err = os.pipe()
    return (our_in, our_out, our_err), [server_in, server_out, server_err]


async def _receive(control: socket.socket) -> dict[str, Any] | None:
    """Read one line of JSON from a supervisor; None when it has exited."""
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
