"""Start a server process that cannot outlive the gateway, through `guardian.py`."""

from __future__ import annotations

import array
import ast
import asyncio
import fcntl
import marshal
import os
import socket
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import IO, cast

import anyio

__all__ = ["ServerProcess", "server_process"]

_GUARDIAN = Path(__file__).with_name("guardian.py")
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""The only variables that an interpreter may need to find its own library."""
_STOP_SECONDS = 7.0
"""How long a guardian may take to end all processes, finally by SIGKILL."""


@asynccontextmanager
async def server_process(
    argv: Sequence[str], env: Mapping[str, str], cwd: str | None, *, line_limit: int
) -> AsyncIterator[ServerProcess]:
    """Run a server; all of its processes have ended after the block. Longer output lines are errors."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = ServerProcess(theirs, line_limit)
        try:
            await process.connect(ours, marshal.dumps((list(argv), dict(env), cwd)))
            yield process
        finally:
            try:
                with anyio.CancelScope(shield=True):
                    await process.stop(at_once=True)
            finally:
                process.close()


class ServerProcess:
    """A server, its pipes, and its guardian."""

    stdin: asyncio.StreamWriter

    def __init__(self, control: socket.socket, line_limit: int) -> None:
        # Not with asyncio, which loses processes whose start is cancelled. In a separate session, so that Ctrl-C only reaches
        # the gateway, which then stops the servers.
        self.guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARDIAN), str(control.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env={name: os.environ[name] for name in _LIBRARY_PATHS if name in os.environ},
            pass_fds=[control.fileno()],
            start_new_session=True,
        )
        self.stdout, self.stderr = asyncio.StreamReader(line_limit), asyncio.StreamReader(line_limit)
        self._pipes = cast(
            "tuple[IO[bytes], ...]", (self.guardian.stdin, self.guardian.stdout, self.guardian.stderr)
        )
        self._transports: list[asyncio.BaseTransport] = []
        self._outcome: asyncio.Task[bytes] | None = None
        """Reads the guardian's report, which ends when all processes have ended."""

    async def connect(self, control: socket.socket, request: bytes) -> None:
        """Connect the pipes to the event loop, and send the request to the guardian."""
        loop = asyncio.get_running_loop()
        stdin, stdout, stderr = self._pipes
        reports, self._control = await asyncio.open_connection(sock=control)
        self._transports.append(self._control.transport)
        self._outcome = asyncio.create_task(reports.read(), name="server process")
        self._control.write(request)
        for reader, pipe in ((self.stdout, stdout), (self.stderr, stderr)):
            reading, _ = await loop.connect_read_pipe(partial(asyncio.StreamReaderProtocol, reader), pipe)
            self._transports.append(reading)
        # The event loop closes its copy when the server closes its end; ours still knows how much was left unread.
        copy = os.fdopen(os.dup(stdin.fileno()), "wb", 0)
        flow = partial(asyncio.StreamReaderProtocol, asyncio.StreamReader())
        writing, protocol = await loop.connect_write_pipe(flow, copy)
        self._transports.append(writing)
        # `drain` must wait until everything is written, not until there is room.
        writing.set_write_buffer_limits(high=0)
        self.stdin = asyncio.StreamWriter(writing, protocol, None, loop)

    async def exit_code(self) -> int | None:
        """Wait until all processes ended; None if the code is unknown. Raises the `OSError` of a failed start."""
        assert self._outcome is not None
        reports = (await asyncio.shield(self._outcome)).splitlines()
        outcome = ast.literal_eval(reports[0].decode()) if reports else None
        if isinstance(outcome, tuple):
            raise OSError(*outcome)
        return cast("int | None", outcome)

    def unread_input(self) -> int:
        """Return how many of the written bytes were never read."""
        count = array.array("i", [0])
        if not self._pipes[0].closed:
            fcntl.ioctl(self._pipes[0], termios.FIONREAD, count)
        return count[0]

    async def stop(self, *, at_once: bool = False) -> None:
        """End the server and all it started: by closing its input and, after a second or `at_once`, by signals."""
        self._pipes[0].close()
        if at_once:
            self.guardian.terminate()
        else:
            if not self.stdin.transport.is_closing():
                # `close` would wait for a server that no longer reads.
                self.stdin.transport.abort()
            self._control.write_eof()
        if self._outcome is not None:
            await asyncio.wait([self._outcome], timeout=_STOP_SECONDS)

    def close(self) -> None:
        """Close the pipes, and kill a guardian that did not end: the kernel then ends its server."""
        self.guardian.kill()
        self.guardian.wait()
        for transport in self._transports:
            if not transport.is_closing():
                # `abort`, where it exists, does not wait for unwritten data.
                getattr(transport, "abort", transport.close)()
        for pipe in self._pipes:
            pipe.close()
        if self._outcome is not None:
            self._outcome.cancel()
