"""The gateway's side of a guardian: start a server process that cannot outlive the gateway."""

from __future__ import annotations

import array
import ast
import asyncio
import contextlib
import fcntl
import marshal
import os
import socket
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio

__all__ = ["GuardedProcess"]

_GUARDIAN = Path(__file__).with_name("guardian.py")
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""All that an interpreter may need to find its own library."""
_KILL_SECONDS = 6.0
"""How long a guardian may need, after the server's grace, to end everything by force."""


class GuardedProcess:
    """A running server: its process id, its pipes, and the connection to its guardian."""

    def __init__(
        self,
        guardian: asyncio.subprocess.Process,
        control: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        stdin: asyncio.StreamWriter,
        stdin_copy: int,
    ) -> None:
        self._guardian = guardian
        self._control, self._control_writer = control
        self._stdin_copy: int | None = stdin_copy
        """Still open when the event loop has closed `stdin`, to ask how much was left unread."""
        self.stdin = stdin
        assert guardian.stdout is not None
        assert guardian.stderr is not None
        self.stdout, self.stderr = guardian.stdout, guardian.stderr
        self.pid = 0
        self.returncode: int | None = None
        self.exited = asyncio.Event()
        """The server's own process has ended; processes that it started may still be ending."""
        self._error = OSError("the guardian process ended unexpectedly")
        """Why it was not started, if it was not."""
        self._started = asyncio.Event()
        self._watching = asyncio.create_task(self._watch(), name="guarded process")

    @classmethod
    async def start(
        cls, argv: Sequence[str], env: Mapping[str, str], cwd: str | None, *, line_limit: int
    ) -> GuardedProcess:
        """Start a server; raises the `OSError` of a failed start. Lines of its output longer than the limit are errors."""
        request = marshal.dumps((list(argv), dict(env), cwd))
        ours, theirs = socket.socketpair()
        server_stdin, stdin = os.pipe()
        try:
            with theirs:
                # In a separate session: Ctrl-C in the terminal is for the gateway, which then stops the servers.
                guardian = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", "-S", str(_GUARDIAN), str(theirs.fileno())),
                    stdin=server_stdin,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                    env={name: os.environ[name] for name in _LIBRARY_PATHS if name in os.environ},
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    limit=line_limit,
                )
            with anyio.CancelScope(shield=True):
                control = await asyncio.open_connection(sock=ours)
                process = cls(guardian, control, await _writer(os.dup(stdin)), stdin)
        except BaseException:
            # The guardian takes this as the gateway's end.
            ours.close()
            os.close(stdin)
            raise
        finally:
            os.close(server_stdin)
        try:
            process._control_writer.write(len(request).to_bytes(4, "big") + request)
            await process._started.wait()
            if process.pid == 0:
                raise process._error  # noqa: TRY301 -- cleaned up like any other failure
        except BaseException:
            with anyio.CancelScope(shield=True):
                await process.stop(0)
                await process.close()
            raise
        return process

    async def _watch(self) -> None:
        """Take the guardian's messages until nothing is left of the server."""
        with contextlib.suppress(OSError):
            while line := await self._control.readline():
                kind, *values = ast.literal_eval(line.decode())
                if kind == "pid":
                    self.pid = values[0]
                    self._started.set()
                elif kind == "exit":
                    self.returncode = values[0]
                    self.exited.set()
                else:
                    self._error = OSError(*values)
        self._started.set()
        self.exited.set()

    def unread_input(self) -> int:
        """Return how many of the bytes that we wrote were never read."""
        if self._stdin_copy is None:
            return 0
        count = array.array("i", [0])
        fcntl.ioctl(self._stdin_copy, termios.FIONREAD, count)
        return count[0]

    async def stop(self, grace_seconds: float) -> None:
        """End the process and all that it started: by the end of its input, after the grace by force."""
        if not self.stdin.transport.is_closing():
            # `abort`, not `close`: that would wait for a server that no longer reads.
            self.stdin.transport.abort()
        if self._stdin_copy is not None:
            os.close(self._stdin_copy)
            self._stdin_copy = None
        with contextlib.suppress(OSError):
            self._control_writer.write(f"{grace_seconds}\n".encode())
        await asyncio.wait([self._watching], timeout=grace_seconds + _KILL_SECONDS)
        self._watching.cancel()
        self._control_writer.close()

    async def close(self) -> None:
        """Let go of stdout and stderr, and of a guardian that did not end: the kernel ends its server with it."""
        self._guardian._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001 -- asyncio has no public way
        await self._guardian.wait()


async def _writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(descriptor, "wb", 0)
    )
    # `drain` must return when everything is written, not when there is room for more.
    transport.set_write_buffer_limits(high=0)
    return asyncio.StreamWriter(transport, protocol, None, loop)
