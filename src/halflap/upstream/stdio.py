"""Talk to a server over its stdin and stdout, started through the guardian."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from halflap.core.errors import UpstreamUnavailableError
from halflap.core.text import visible
from halflap.upstream.message import read_message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from halflap.config import ServerConfig
    from halflap.upstream.guardian import GuardedProcess, Guardian
    from halflap.upstream.log import ServerLog
    from halflap.upstream.wire import Wire

__all__ = ["minimal_environment", "stdio_streams"]

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""A server that writes a longer line than this is cut off: it would fill our memory."""

STOP_GRACE_SECONDS = 1.0
"""How long a server may take to end by itself once its stdin is closed, as the protocol asks."""

_LARGE_BYTES = 256 * 1024

_LAST_WORDS_SECONDS = 0.5
"""How long we listen for the rest of what an ended server said."""

_OURS = frozenset({"initialize", "server/discover", "tools/list", "tools/call"})
"""What only a client asks: a server that does is one that gives back whatever it gets."""
_NOISE_LINES = 3
_LONGEST_SHOWN = 200
_LONGEST_READ = 8_000
_LONGEST_PATH = 400

_INHERITED = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")


def minimal_environment() -> dict[str, str]:
    """Give what any program may need to run at all; no server sees the rest of our environment."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


@asynccontextmanager
async def stdio_streams(
    guardian: Guardian, server: ServerConfig, wire: Wire, log: ServerLog
) -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    """Start the server and yield its streams; leave nothing of it behind."""
    process = await _started(guardian, server, wire)
    wire.pid = process.pid
    wire.sent = {}
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    with anyio.CancelScope(shield=True):
        pipes = await _Pipes.open(process)
    try:
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(_read_messages, process, pipes.stdout, incoming, wire, log)
            pumps.start_soon(_write_messages, pipes.stdin, outgoing, wire)
            pumps.start_soon(_keep_log, pipes, log)
            try:
                yield read_stream, write_stream
            finally:
                # The pumps run on while it ends: it may have something to say.
                with anyio.CancelScope(shield=True):
                    await _stop(process, pipes, STOP_GRACE_SECONDS if wire.ready else 0.0)
                pumps.cancel_scope.cancel()
    finally:
        pipes.close()
        for stream in (incoming, read_stream, write_stream, outgoing):
            stream.close()


async def _started(guardian: Guardian, server: ServerConfig, wire: Wire) -> GuardedProcess:
    assert server.command is not None
    try:
        return await guardian.start(
            [server.command, *server.args], {**minimal_environment(), **server.env}, server.cwd
        )
    except (OSError, ValueError) as error:
        wire.kind = "command-not-run"
        if isinstance(error, OSError) and error.filename == server.cwd and server.cwd is not None:
            reason = f"its folder `cwd: {server.cwd}` cannot be entered ({error.strerror}). Correct `cwd`."
        elif isinstance(error, FileNotFoundError):
            wire.kind = "command-not-found"
            split = " What follows its first word belongs into `args`." if " " in server.command else ""
            reason = (
                f"the command {server.command!r} was not found. Install it, "
                f"or give its full path as `command` in the configuration.{split}{_looked(server)}"
            )
        elif isinstance(error, PermissionError) and await asyncio.to_thread(Path(server.command).is_dir):
            reason = f"the command {server.command!r} is a folder. Give the program in it as `command`."
        elif isinstance(error, PermissionError):
            reason = f"the command {server.command!r} may not be run ({error.strerror}). Make it executable."
        else:
            reason = f"the command {server.command!r} could not be started: {error}."
        raise UpstreamUnavailableError(server.name, reason) from error


def _looked(server: ServerConfig) -> str:
    """Say where a command was looked for: what starts Halflap often has fewer places than a terminal."""
    assert server.command is not None
    if "/" in server.command:
        return ""
    path = {**minimal_environment(), **server.env}.get("PATH", os.defpath)
    return f" The PATH here is {visible(path, _LONGEST_PATH)!r}."


class _Pipes:
    """Our ends of the server's three pipes, on the event loop."""

    def __init__(
        self, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader, stderr: asyncio.StreamReader
    ) -> None:
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.readers: list[asyncio.BaseTransport] = []
        self.log_ended = asyncio.Event()

    @classmethod
    async def open(cls, process: GuardedProcess) -> _Pipes:
        loop = asyncio.get_running_loop()
        stdout = asyncio.StreamReader(limit=MAX_MESSAGE_BYTES)
        stderr = asyncio.StreamReader()
        transport, protocol = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(process.stdin, "wb", 0)
        )
        # `drain` is to return when everything is written, not when there is room for more.
        transport.set_write_buffer_limits(high=0)
        pipes = cls(asyncio.StreamWriter(transport, protocol, None, loop), stdout, stderr)
        for reader, descriptor in ((stdout, process.stdout), (stderr, process.stderr)):
            read_transport, _ = await loop.connect_read_pipe(
                lambda reader=reader: asyncio.StreamReaderProtocol(reader),  # type: ignore[misc]
                os.fdopen(descriptor, "rb", 0),
            )
            pipes.readers.append(read_transport)
        return pipes

    def close(self) -> None:
        for transport in self.readers:
            transport.close()


async def _stop(process: GuardedProcess, pipes: _Pipes, grace_seconds: float) -> None:
    """Close its stdin, let it end, end it; then hear it out."""
    if not pipes.stdin.transport.is_closing():
        # `abort`, not `close`: a server that reads nothing must not keep us from closing.
        pipes.stdin.transport.abort()
    await process.stop(grace_seconds)
    with anyio.move_on_after(_LAST_WORDS_SECONDS):
        await pipes.log_ended.wait()


def _shown(line: bytes, log: ServerLog) -> str:
    # Redacted before it is cut: half of a secret would not be known for one.
    return visible(log.redact(line[:_LONGEST_READ].decode(errors="replace").strip()), _LONGEST_SHOWN)


def _how(code: int | None) -> str:
    if code is None:
        return "for an unknown reason"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"by signal {signal.Signals(-code).name}"
    return f"with exit code {code}"


async def _read_messages(
    process: GuardedProcess,
    stdout: asyncio.StreamReader,
    incoming: MemoryObjectSendStream[SessionMessage | Exception],
    wire: Wire,
    log: ServerLog,
) -> None:
    async with incoming:
        while True:
            try:
                line = await stdout.readline()
            except ValueError:
                wire.trouble = f"it wrote a message of more than {MAX_MESSAGE_BYTES // 1024 // 1024} MiB."
                break
            if not line:
                break
            if not line.strip():
                continue
            message = await _read(line)
            if message is None:
                # Not ours to refuse: many servers print a greeting. It belongs with their stderr.
                await asyncio.to_thread(log.append, b"[stdout] " + line[:2000].rstrip(b"\n") + b"\n")
                if len(wire.noise) < _NOISE_LINES:
                    wire.noise.append(_shown(line, log))
                continue
            if isinstance(message, types.JSONRPCRequest) and message.method in _OURS:
                wire.kind = "not-mcp"
                wire.trouble = (
                    f"it does not speak MCP over stdio: it sent back what it was sent ({_shown(line, log)})."
                )
                break
            wire.heard = True
            try:
                await incoming.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                break
        with anyio.move_on_after(_LAST_WORDS_SECONDS):
            # Whoever is waiting for an answer is told why none will come.
            await process.exited.wait()
            wire.unread = process.unread_input()
            wire.kind = wire.kind or "process-ended"
            wire.trouble = wire.trouble or f"its process ended {_how(process.returncode)}."
        wire.trouble = wire.trouble or "it closed its stdout, so no answer can come from it."
    wire.broken.set()


async def _read(line: bytes) -> types.JSONRPCMessage | None:
    try:
        # A large one is read in a thread: it takes its time, and others are waiting.
        return await asyncio.to_thread(read_message, line) if len(line) > _LARGE_BYTES else read_message(line)
    except (ValueError, RecursionError):
        return None


async def _write_messages(
    stdin: asyncio.StreamWriter, outgoing: MemoryObjectReceiveStream[SessionMessage], wire: Wire
) -> None:
    async with outgoing:
        async for session_message in outgoing:
            message = session_message.message
            line = _line(message)
            if stdin.transport.is_closing():
                break
            if isinstance(message, types.JSONRPCRequest) and wire.sent is not None:
                wire.sent[message.id] = wire.written
            wire.written += len(line)
            if not await _written(stdin, line):
                if isinstance(message, types.JSONRPCRequest) and wire.sent is not None:
                    del wire.sent[message.id]
                break
    wire.broken.set()


def _line(message: types.JSONRPCMessage) -> bytes:
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:
        # Half of a surrogate pair: JSON can name it by its number.
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True))
    return text.encode() + b"\n"


async def _written(stdin: asyncio.StreamWriter, line: bytes) -> bool:
    """Hand a line to the operating system; False when not all of it was taken, so nobody can have read it."""
    stdin.write(line)
    if stdin.transport.is_closing():
        return False
    whole = stdin.transport.get_write_buffer_size() == 0
    try:
        await stdin.drain()
    except OSError:
        return whole
    return True


async def _keep_log(pipes: _Pipes, log: ServerLog) -> None:
    while data := await pipes.stderr.read(65536):
        await asyncio.to_thread(log.append, data)
    pipes.log_ended.set()
