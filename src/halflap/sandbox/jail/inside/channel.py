"""The only way out of the jail: calls, answers, and what a program prints, which is sent soon enough to survive its end."""

from __future__ import annotations

import asyncio
import contextlib
import io
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from json import dumps, loads
from typing import TYPE_CHECKING, Any, NoReturn

from halflap.core.json_bounds import TooManyPartsError, check_parts
from halflap.sandbox import messages
from halflap.sandbox.jail import protocol
from halflap.sandbox.jail.protocol import NUMBER

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["Channel", "Console", "ToolError", "no_input"]

_TICK_SECONDS = 0.02
_MOST_FRAMES = 300
"""Lines are sent one by one until there are more within a tick of CPU time; then they are sent together."""


class ToolError(Exception):
    """A tool cannot be called, or its call failed; the message says why."""

    __module__ = "builtins"  # A traceback then names it as the program does.


class Channel:
    """The program's end of the channel. It works in any event loop, one after the other."""

    def __init__(self, connection: socket.socket, largest_frame: int, calls_at_once: int) -> None:
        self._socket = connection
        self.largest = largest_frame
        self.is_sending = False
        self.is_silent = True
        """Nothing was printed or shown yet."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._calls_at_once = calls_at_once
        self._turns: asyncio.Semaphore
        """Further calls wait here: the gateway ends a program with more open calls."""
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        """The calls without an answer, also those that were cancelled."""
        self._last = 0
        self._frames = protocol.Frames()

    def send(self, kind: bytes, *parts: bytes | memoryview) -> None:
        """Send a frame. The gateway always reads, so this hardly waits."""
        self.is_sending = True
        if kind in {protocol.OUTPUT, protocol.SHOW}:
            self.is_silent = False
        try:
            self._socket.sendall(protocol.frame(kind, *parts))
        finally:
            self.is_sending = False

    def read_program(self) -> Any:
        """Wait for the program; None if the gateway closes the channel instead."""
        while part := self._socket.recv(protocol.CHUNK):
            for _, body in self._frames.add(part):
                return loads(body)
        return None

    def wait_for_end(self) -> None:
        """Stay until the gateway has read what this process used, and closes the channel or kills it."""
        while self._socket.recv(protocol.CHUNK):
            pass

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool and return what the gateway answers."""
        try:
            body = dumps({"name": name, "arguments": arguments}, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(messages.not_json(f"{name}() takes", error)) from None
        if len(body) > self.largest:
            raise ToolError(messages.too_large(f"The arguments of {name}()", len(body), self.largest))
        try:
            check_parts(body)
        except TooManyPartsError:
            raise ToolError(messages.too_many_parts(f"The arguments of {name}()")) from None
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            loop.add_reader(self._socket.fileno(), self._receive)
            self._loop, self._turns = loop, asyncio.Semaphore(self._calls_at_once - len(self._waiting))
        await self._turns.acquire()
        self._last += 1
        number = self._last
        answer = self._waiting[number] = loop.create_future()
        self.send(protocol.CALL, NUMBER.pack(number), body)
        try:
            return await answer
        except asyncio.CancelledError:
            if number in self._waiting:
                self.send(protocol.CANCEL, NUMBER.pack(number))
            raise

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
        for kind, body in self._frames.add(part):
            answer = self._waiting.pop(NUMBER.unpack_from(body)[0])
            self._turns.release()
            rest = memoryview(body)[NUMBER.size :]
            # Nothing waits for a call that was cancelled.
            if answer.done():
                continue
            if kind == protocol.VALUE:
                answer.set_result(protocol.value_from(rest))
            else:
                answer.set_exception(ToolError(bytes(rest).decode()))


class _Outlet(io.BufferedIOBase):
    """Bytes that go through the channel."""

    def __init__(self, channel: Channel, name: str) -> None:
        super().__init__()
        self._channel = channel
        self.name = f"<{name}>"
        self._held = bytearray()
        self._sent = 0

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        if self.closed:
            raise ValueError("write to closed file")
        view = memoryview(data).cast("B")
        self._held += view
        self._sent += 1
        if self._sent <= _MOST_FRAMES or len(self._held) >= protocol.CHUNK:
            self.flush()
        return len(view)

    def flush(self) -> None:
        # A signal handler may print in the middle of a frame; that is sent with the next one.
        while self._held and not self._channel.is_sending:
            # The handler of the timer may run between any two lines: from here on it leaves the bytes alone.
            self._channel.is_sending = True
            part = bytes(self._held[: protocol.CHUNK])
            del self._held[: protocol.CHUNK]
            if part:
                self._channel.send(protocol.OUTPUT, part)
            self._channel.is_sending = False

    def tick(self) -> None:
        self._sent = 0


class Console:
    """The two streams of a program; they stay, whatever it puts in their place."""

    def __init__(self, channel: Channel) -> None:
        self._outlets = [_Outlet(channel, name) for name in ("stdout", "stderr")]
        self._streams = [
            io.TextIOWrapper(
                outlet, encoding="utf-8", errors="backslashreplace", newline="\n", line_buffering=True
            )
            for outlet in self._outlets
        ]

    def attach(self) -> None:
        """Make stdout and stderr go through the channel, and stdin empty."""
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = self._streams  # type: ignore[misc]
        sys.stdin = io.StringIO()

    def keep_sending(self) -> None:
        """Send what is held before the program waits, and regularly while it computes.

        The timer is the one for profilers: it runs only while the program computes, and programs do not use it.
        """
        time.sleep = _after(self.flush, time.sleep)
        idle: Any = selectors.DefaultSelector
        idle.select = _after(self.flush, idle.select)
        signal.signal(signal.SIGPROF, self._tick)
        signal.setitimer(signal.ITIMER_PROF, _TICK_SECONDS, _TICK_SECONDS)

    def flush(self) -> None:
        """Send what is held."""
        for stream in self._streams:
            # It may be closed, or without its outlet.
            with contextlib.suppress(Exception):
                stream.flush()

    def finish(self) -> None:
        """Send all that the program has printed, in whatever it made of its streams."""
        for stream in (sys.stdout, sys.stderr):
            # The program may have put anything there.
            with contextlib.suppress(BaseException):
                stream.flush()
        self.flush()

    def _tick(self, *_: object) -> None:
        for outlet in self._outlets:
            outlet.tick()
        self.flush()


def _after(first: Callable[[], None], then: Callable[..., Any]) -> Callable[..., Any]:
    def both(*arguments: Any, **named: Any) -> Any:
        first()
        return then(*arguments, **named)

    both.__name__, both.__doc__ = then.__name__, then.__doc__
    # A program that shows a traceback itself sees no file of ours.
    both.__code__ = both.__code__.replace(co_filename=f"<{then.__name__}>", co_name=then.__name__)
    return both


def no_input(_prompt: object = "") -> NoReturn:
    raise EOFError(messages.NO_INPUT)
