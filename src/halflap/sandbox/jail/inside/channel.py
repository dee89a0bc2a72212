"""The only way out of the jail: send frames to the gateway, and receive the answers to calls."""

from __future__ import annotations

import asyncio
import marshal
import socket
from collections import deque
from json import dumps, loads
from typing import TYPE_CHECKING, Any

from halflap.sandbox import messages
from halflap.sandbox.jail import frames

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Channel", "ToolError"]


class ToolError(Exception):
    """A tool cannot be called, or its call failed; the message says why."""

    __module__ = "builtins"  # A traceback then names it as the program does.


class Channel:
    """The program's end of the channel. It works in any event loop, one after the other."""

    def __init__(self, connection: socket.socket, largest_frame: int) -> None:
        self._socket = connection
        self.largest = largest_frame
        self.is_sending = False
        self.is_silent = True
        """Nothing was printed or shown yet."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._turns = _Turns(largest_frame * frames.LARGEST_AT_ONCE)
        self._last = 0
        self._received = bytearray()

    def send(self, kind: bytes, *parts: bytes | memoryview) -> None:
        """Send a frame. The gateway always reads, so this hardly waits."""
        self.is_sending = True
        if kind in {frames.OUTPUT, frames.SHOW}:
            self.is_silent = False
        try:
            self._socket.sendall(frames.frame(kind, *parts))
        finally:
            self.is_sending = False

    def read_program(self) -> Any:
        """Wait for the program; None if the gateway closes the channel instead."""
        while True:
            frame = self._take()
            if frame is not None:
                return loads(frame[1])
            part = self._socket.recv(frames.CHUNK)
            if not part:
                return None
            self._received += part

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool and return what the gateway answers."""
        try:
            body = dumps({"name": name, "arguments": arguments}, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(messages.not_json(name, error)) from None
        if len(body) > self.largest:
            raise ToolError(messages.too_large(name, len(body), self.largest))
        if not self._turns.take(len(body)):
            await self._turns.come(len(body))
        try:
            return await self._answer(body)
        finally:
            self._turns.give_back(len(body))

    async def _answer(self, body: bytes) -> Any:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            loop.add_reader(self._socket.fileno(), self._receive)
            self._loop = loop
        self._last += 1
        number = self._last
        answer = self._waiting[number] = loop.create_future()
        self.send(frames.CALL, frames.NUMBER.pack(number), body)
        try:
            return await answer
        except asyncio.CancelledError:
            if number in self._waiting:
                self.send(frames.CANCEL, frames.NUMBER.pack(number))
            raise
        finally:
            self._waiting.pop(number, None)

    def _receive(self) -> None:
        """Read what is there, and wake those whose answers are complete."""
        try:
            part = self._socket.recv(1 << 20, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if not part:
            # The gateway closed the channel and is about to kill this process.
            assert self._loop is not None
            self._loop.remove_reader(self._socket.fileno())
            return
        self._received += part
        while (frame := self._take()) is not None:
            kind, body = frame
            (number,) = frames.NUMBER.unpack_from(body)
            # Nothing waits for a call that was cancelled.
            answer = self._waiting.pop(number, None)
            if answer is None or answer.done():
                continue
            rest = memoryview(body)[frames.NUMBER.size :]
            if kind == frames.VALUE:
                answer.set_result(marshal.loads(rest))  # noqa: S302 -- from the gateway, which is trusted here
            else:
                answer.set_exception(ToolError(loads(bytes(rest))["message"]))

    def _take(self) -> tuple[bytes, bytes] | None:
        """Take one whole frame from what was received, if there is one."""
        if len(self._received) < frames.HEADER.size:
            return None
        kind, length = frames.HEADER.unpack_from(self._received)
        end = frames.HEADER.size + length
        if len(self._received) < end:
            return None
        body = bytes(memoryview(self._received)[frames.HEADER.size : end])
        del self._received[:end]
        return kind, body


class _Turns:
    """Limits how many calls are sent at a time; the others wait here, in their order."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._calls = 0
        self._waiting: deque[tuple[asyncio.Future[None], int]] = deque()

    def take(self, size: int) -> bool:
        """Take a turn if one is free; it counts until it is given back."""
        if self._waiting or not self._has_room(size):
            return False
        self._count(size)
        return True

    async def come(self, size: int) -> None:
        """Wait for a turn, and take it."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, size))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back(size)
            raise

    def _has_room(self, size: int) -> bool:
        return self._calls == 0 or (
            self._calls < frames.CALLS_AT_ONCE and self._bytes + size <= self._most_bytes
        )

    def _count(self, size: int) -> None:
        self._calls += 1
        self._bytes += size

    def give_back(self, size: int) -> None:
        """Free a turn and let the next ones go."""
        self._calls -= 1
        self._bytes -= size
        while self._waiting and self._has_room(self._waiting[0][1]):
            turn, next_size = self._waiting.popleft()
            # Nothing waits in a loop that was closed.
            if not turn.done() and not turn.get_loop().is_closed():
                self._count(next_size)
                turn.set_result(None)
