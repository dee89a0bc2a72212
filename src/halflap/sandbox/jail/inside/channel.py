"""The only way out of the jail: calls, their answers, and output, which is sent line by line and before every call."""

from __future__ import annotations

import asyncio
import contextlib
import io
import marshal
import socket
import sys
from collections.abc import Mapping
from json import loads
from typing import TYPE_CHECKING, Any

from halflap.sandbox.functions import ToolError, encode
from halflap.sandbox.jail import protocol
from halflap.sandbox.jail.protocol import NUMBER
from halflap.sandbox.media import Media

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_MAX_NAME = 200


class Channel:
    """The program's end of the channel. It works in any event loop, one after the other."""

    def __init__(self, connection: socket.socket, max_value_bytes: int, max_concurrent_calls: int) -> None:
        self._socket = connection
        self.max_value_bytes = max_value_bytes
        self.is_silent = True
        """Nothing was printed or shown yet."""
        self.has_shown = False
        self._unsent = bytearray()
        self._is_sending = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._max_concurrent_calls = max_concurrent_calls
        self._places: asyncio.Semaphore
        """Further calls wait here: the gateway ends a program with more open calls."""
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        """The calls without an answer, including cancelled ones."""
        self._calls = 0
        self._frames = protocol.Frames()

    def send(self, kind: bytes, *parts: bytes | memoryview) -> None:
        """Send a frame. The gateway always reads, so this hardly waits."""
        if kind in {protocol.OUTPUT, protocol.SHOW}:
            self.is_silent = False
            self.has_shown = self.has_shown or kind == protocol.SHOW
        self._unsent.extend(protocol.frame(kind, *parts))
        if self._is_sending:
            # A signal handler printed in the middle of a frame, which goes first.
            return
        self._is_sending = True
        try:
            while self._unsent:
                part, self._unsent = self._unsent, bytearray()
                self._socket.sendall(part)
        finally:
            self._is_sending = False

    def read_program(self) -> Any:
        """Wait for the program; return None if the gateway closes the channel instead."""
        _, body = next(protocol.receive(self._socket, self._frames), (b"", b"null"))
        return loads(body)

    def wait_for_end(self) -> None:
        """Wait until the gateway closes the channel or kills this process."""
        while self._socket.recv(protocol.CHUNK):
            pass

    async def call(self, name: str, arguments: Mapping[str, Any], line: int | None = None) -> Any:
        """Call a tool and return what the gateway answers."""
        order = {"name": name, "arguments": arguments, "line": line}
        try:
            body = encode(order, f"The arguments of {name[:_MAX_NAME]}()", self.max_value_bytes)
        except ValueError as error:
            raise ToolError(str(error)) from None
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            loop.add_reader(self._socket.fileno(), self._receive)
            self._loop = loop
            self._places = asyncio.Semaphore(self._max_concurrent_calls - len(self._waiting))
        await self._places.acquire()
        self._calls += 1
        number = self._calls
        answer = self._waiting[number] = loop.create_future()
        self.send(protocol.CALL, NUMBER.pack(number), body)
        try:
            return await answer
        except asyncio.CancelledError:
            if number in self._waiting:
                self.send(protocol.CANCEL, NUMBER.pack(number))
            raise

    def _receive(self) -> None:
        """Read answers that have arrived, and wake the calls that wait for them."""
        try:
            part = self._socket.recv(1 << 20, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if not part:
            # The gateway closed the channel and is about to kill this process.
            assert self._loop is not None
            self._loop.remove_reader(self._socket.fileno())
            return
        for kind, body in self._frames.add(part):
            answer = self._waiting.pop(NUMBER.unpack_from(body)[0])
            self._places.release()
            rest = memoryview(body)[NUMBER.size :]
            # Nothing waits for a call that was cancelled.
            if answer.done():
                continue
            if kind == protocol.VALUE:
                answer.set_result(_with_media(marshal.loads(rest)))  # noqa: S302 -- from the gateway, which is trusted here
            else:
                answer.set_exception(ToolError(bytes(rest).decode()))


def _with_media(value: Any) -> Any:
    """Restore the media objects, which the gateway has replaced by pairs."""
    if type(value) is tuple:
        return Media(value[1])
    if type(value) is list and any(type(part) is tuple for part in value):
        return [_with_media(part) for part in value]
    return value


class _Outlet(io.BufferedIOBase):
    """Sends bytes through the channel."""

    def __init__(self, channel: Channel, name: str) -> None:
        super().__init__()
        self._channel = channel
        self.name = f"<{name}>"

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        view = memoryview(data).cast("B")
        for start in range(0, len(view), protocol.CHUNK):
            self._channel.send(protocol.OUTPUT, view[start : start + protocol.CHUNK])
        return len(view)


class Console:
    """The output streams that a program starts with, whatever it puts in their place."""

    def __init__(self, channel: Channel) -> None:
        """Make stdout and stderr go through the channel, and stdin empty."""
        self._streams = [
            io.TextIOWrapper(
                _Outlet(channel, name), "utf-8", "backslashreplace", newline="\n", line_buffering=True
            )
            for name in ("stdout", "stderr")
        ]
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = self._streams  # type: ignore[misc]
        sys.stdin = io.StringIO()

    def flush(self) -> None:
        for stream in self._streams:
            # It may be closed, or without its outlet.
            with contextlib.suppress(Exception):
                stream.flush()

    def finish(self) -> None:
        """Send everything that the program has printed, also to streams that it opened itself."""
        for stream in (sys.stdout, sys.stderr):
            # The program may have put anything there.
            with contextlib.suppress(BaseException):
                stream.flush()
        self.flush()
