"""Talk to a server over its stdin and stdout. A guardian starts and ends its process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from halflap.core.environment import machine_environment
from halflap.core.text import visible
from halflap.upstream.connection import (
    MAX_MESSAGE_BYTES,
    TOO_LARGE,
    Connection,
    Failure,
    StartFailedError,
)
from halflap.upstream.json_rpc import read_message
from halflap.upstream.server_process import GuardedProcess

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from halflap.config import ServerConfig
    from halflap.upstream.log import ServerLog

_LARGE_MESSAGE_BYTES = 256 * 1024
"""Messages larger than this are parsed in a thread, so that other servers need not wait."""
_EXIT_SECONDS = 1.0
"""How long a server may take to exit by itself once its stdin is closed."""
_DRAIN_SECONDS = 0.5
"""How long we wait for an ended server's exit code and the rest of its stderr."""
_MAX_NOISE_LINES = 3
_MAX_LOGGED = 2_000
"""Characters of a line on stdout that is no message."""
_MAX_SHOWN = 400


@asynccontextmanager
async def stdio_streams(
    server: ServerConfig, connection: Connection, log: ServerLog
) -> AsyncIterator[tuple[Any, Any]]:
    """Start the server and yield its message streams; on exit, stop it and everything that it started."""
    process = await _start(server)
    connection.sent = {}
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    pipes = _Pipes(process, connection, log)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pipes.read, incoming)
            tasks.start_soon(pipes.write, outgoing)
            tasks.start_soon(pipes.copy_stderr)
            try:
                yield read_stream, write_stream
            finally:
                # The tasks continue while it stops: it may still write something.
                with anyio.CancelScope(shield=True):
                    await process.stop(_EXIT_SECONDS if connection.ready else 0.0)
                    with anyio.move_on_after(_DRAIN_SECONDS):
                        await pipes.stderr_ended.wait()
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await process.close()
        for stream in (incoming, read_stream, write_stream, outgoing):
            stream.close()


async def _start(server: ServerConfig) -> GuardedProcess:
    command, environment = server.command or "", server_environment(server)
    try:
        return await GuardedProcess.start(
            [command, *server.args], environment, server.cwd, line_limit=MAX_MESSAGE_BYTES
        )
    except OSError as error:
        if server.cwd is not None and error.filename == server.cwd:
            message = f"its folder `cwd: {server.cwd}` cannot be entered ({error.strerror}). Correct `cwd`."
        elif isinstance(error, FileNotFoundError):
            split = " What follows its first word belongs in `args`." if " " in command else ""
            # Whatever starts Halflap often has a shorter PATH than a terminal.
            path = visible(environment.get("PATH", os.defpath), _MAX_SHOWN)
            searched = "" if "/" in command else f" The PATH here is {path!r}."
            message = (
                f"the command {command!r} was not found. Install it, or set `command` to its full path in the "
                f"configuration.{split}{searched}"
            )
            raise StartFailedError("command-not-found", message) from error
        else:
            message = f"the command {command!r} could not be started: {error}."
        raise StartFailedError("command-not-run", message) from error


def server_environment(server: ServerConfig) -> dict[str, str]:
    """Return what the server inherits of our environment, and its own `env`."""
    if server.inherit_env is True:
        return {**os.environ, **server.env}
    named = {name: os.environ[name] for name in server.inherit_env or () if name in os.environ}
    return {**machine_environment(), **named, **server.env}


class _Pipes:
    """Moves messages between a server's pipes and our streams."""

    def __init__(self, process: GuardedProcess, connection: Connection, log: ServerLog) -> None:
        self.stderr_ended = anyio.Event()
        self._process = process
        self._connection = connection
        self._log = log

    async def read(self, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        connection, process = self._connection, self._process
        reason, ended = "", "it closed its stdout, so it cannot answer."
        async with incoming:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                try:
                    while line := await process.stdout.readline():
                        await self._take(line, incoming)
                except ValueError:
                    reason = TOO_LARGE
            with anyio.move_on_after(_DRAIN_SECONDS):
                await process.exited.wait()
                connection.unread = process.unread_input()
                ended = f"its process ended {_describe_exit(process.returncode)}."
            connection.failure = Failure("process-ended", reason or ended)
        connection.closed.set()

    async def _take(self, line: bytes, incoming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        is_large = len(line) > _LARGE_MESSAGE_BYTES
        message = await asyncio.to_thread(read_message, line) if is_large else read_message(line)
        noise = self._connection.noise
        if message is not None:
            noise.clear()
            await incoming.send(SessionMessage(message))
        elif text := line.decode(errors="replace").strip():
            # Many servers print a greeting or their log to stdout; it is logged like their stderr.
            shown = await asyncio.to_thread(self._log.show, text, _MAX_LOGGED)
            await asyncio.to_thread(self._log.append, f"[stdout] {shown}\n".encode(errors="replace"))
            if len(noise) < _MAX_NOISE_LINES:
                noise.append(visible(shown, _MAX_SHOWN))

    async def write(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        connection, stdin = self._connection, self._process.stdin
        assert connection.sent is not None
        async with outgoing:
            async for session_message in outgoing:
                message = session_message.message
                # Not by pydantic, which refuses half of a surrogate pair.
                line = json.dumps(message.model_dump(by_alias=True, exclude_unset=True)).encode() + b"\n"
                if stdin.transport.is_closing():
                    break
                if isinstance(message, types.JSONRPCRequest):
                    connection.sent[message.id] = connection.written
                connection.written += len(line)
                if not await _write(stdin, line):
                    if isinstance(message, types.JSONRPCRequest):
                        connection.sent.pop(message.id, None)
                    break
        connection.closed.set()

    async def copy_stderr(self) -> None:
        while data := await self._process.stderr.read(65536):
            await asyncio.to_thread(self._log.append, data)
        await asyncio.to_thread(self._log.end)
        self.stderr_ended.set()


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "for an unknown reason"
    if -code in signal.valid_signals():
        return f"by signal {signal.Signals(-code).name}"
    return f"with exit code {code}"


async def _write(stdin: asyncio.StreamWriter, line: bytes) -> bool:
    """Write a line; False if the pipe did not take all of it, so that the whole message cannot have been read."""
    stdin.write(line)
    if stdin.transport.is_closing():
        return False
    is_whole = stdin.transport.get_write_buffer_size() == 0
    try:
        await stdin.drain()
    except OSError:
        return is_whole
    return True
