"""The stdio transport."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from halflap.core.environment import machine_environment
from halflap.core.text import visible
from halflap.upstream.connection import MAX_MESSAGE_BYTES, TOO_LARGE, Connection, Failure
from halflap.upstream.json_rpc import read_message
from halflap.upstream.server_process import ServerProcess, server_process

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from halflap.config import ServerConfig
    from halflap.upstream.log import ServerLog

_LARGE_MESSAGE_BYTES = 256 * 1024
"""Larger messages are parsed in a thread, so that they don't block the event loop."""
_DRAIN_SECONDS = 1.0
"""How long to wait for the exit code and the rest of stderr after a server ended."""
_MAX_LOGGED = 2_000
"""Maximum length of a logged line from stdout that is not a message."""
_MAX_SHOWN = 400


@asynccontextmanager
async def stdio_streams(
    server: ServerConfig, connection: Connection, log: ServerLog
) -> AsyncIterator[tuple[Any, Any]]:
    """Start the server and yield its message streams; on exit, stop it and everything it started."""
    connection.sent = {}
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    command, environment = [server.command or "", *server.args], server_environment(server)
    running = server_process(command, environment, server.cwd, line_limit=MAX_MESSAGE_BYTES)
    async with incoming, read_stream, write_stream, outgoing, running as process:
        pipes = _Pipes(server, process, connection, log)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pipes.read, incoming)
            tasks.start_soon(pipes.write, outgoing)
            tasks.start_soon(pipes.copy_stderr)
            try:
                yield read_stream, write_stream
            finally:
                # The tasks continue meanwhile, because a stopping server may still write something.
                with anyio.CancelScope(shield=True):
                    await process.stop(at_once=not connection.ready)
                tasks.cancel_scope.deadline = anyio.current_time() + _DRAIN_SECONDS


def server_environment(server: ServerConfig) -> dict[str, str]:
    """Return the variables that the server inherits, and its own `env`."""
    if server.inherit_env is True:
        return {**os.environ, **server.env}
    named = {name: os.environ[name] for name in server.inherit_env or () if name in os.environ}
    return {**machine_environment(), **named, **server.env}


class _Pipes:
    """Moves messages between the server's pipes and the SDK's streams."""

    def __init__(
        self, server: ServerConfig, process: ServerProcess, connection: Connection, log: ServerLog
    ) -> None:
        self._server = server
        self._process = process
        self._connection = connection
        self._log = log
        self._logged = anyio.Event()
        """Set when stderr has ended and is in the log."""

    async def read(self, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        failure = Failure("process-ended", "it closed its stdout, so it cannot answer.")
        async with incoming:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                try:
                    while line := await self._process.stdout.readline():
                        await self._take(line, incoming)
                except ValueError:
                    failure = Failure("process-ended", TOO_LARGE)
                else:
                    with anyio.move_on_after(_DRAIN_SECONDS):
                        failure = await self._end()
                        # The failure is reported together with the log.
                        await self._logged.wait()
            self._connection.failure = failure
        self._connection.closed.set()

    async def _end(self) -> Failure:
        """Return why the process ended, and record how much it left unread."""
        try:
            code = await self._process.exit_code()
        except OSError as error:
            return _not_started(error, self._server)
        self._connection.unread = self._process.unread_input()
        how = "for an unknown reason" if code is None else f"with exit code {code}"
        if code is not None and -code in signal.valid_signals():
            how = f"by signal {signal.Signals(-code).name}"
        return Failure("process-ended", f"its process ended {how}.")

    async def _take(self, line: bytes, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        is_large = len(line) > _LARGE_MESSAGE_BYTES
        message = await asyncio.to_thread(read_message, line) if is_large else read_message(line)
        if message is not None:
            self._connection.only_noise = False
            await incoming.send(SessionMessage(message))
        elif text := line.decode(errors="replace").strip():
            # Many servers print a greeting or their log to stdout; log it like stderr.
            shown = await asyncio.to_thread(self._log.show, text, _MAX_LOGGED)
            await asyncio.to_thread(self._log.append, f"[stdout] {shown}\n".encode(errors="replace"))
            self._connection.only_noise = True
        else:
            # Endless blank lines would otherwise block the event loop.
            await asyncio.sleep(0)

    async def write(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        connection, stdin = self._connection, self._process.stdin
        assert connection.sent is not None
        with suppress(OSError):
            async with outgoing:
                async for session_message in outgoing:
                    message = session_message.message
                    # Not with pydantic, which rejects lone surrogates.
                    line = json.dumps(message.model_dump(by_alias=True, exclude_unset=True)).encode() + b"\n"
                    stdin.write(line)
                    if stdin.transport.is_closing():
                        break  # nothing was written
                    connection.written += len(line)
                    if isinstance(message, types.JSONRPCRequest):
                        connection.sent[message.id] = connection.written
                    await stdin.drain()
        connection.closed.set()

    async def copy_stderr(self) -> None:
        while data := await self._process.stderr.read(65536):
            await asyncio.to_thread(self._log.append, data)
        await asyncio.to_thread(self._log.end)
        self._logged.set()


def _not_started(error: OSError, server: ServerConfig) -> Failure:
    command = server.command or ""
    if server.cwd is not None and error.filename == server.cwd:
        message = f"its folder `cwd: {server.cwd}` cannot be entered ({error.strerror}). Correct `cwd`."
        return Failure("command-not-run", message)
    if not isinstance(error, FileNotFoundError):
        return Failure("command-not-run", f"the command {command!r} could not be started: {error}.")
    message = f"the command {command!r} was not found. Install it, or set `command` to its full path in the configuration."
    if " " in command:
        message += " Only the first word belongs in `command`; put the rest in `args`."
    if "/" not in command:
        # The program that starts Halflap often has a shorter PATH than a terminal.
        path = visible(server_environment(server).get("PATH", os.defpath), _MAX_SHOWN)
        message += f" The PATH here is {path!r}."
    return Failure("command-not-found", message)
