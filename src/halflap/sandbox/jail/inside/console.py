"""What a program prints is sent to the gateway at once, so that nothing is lost when it is killed."""

from __future__ import annotations

import contextlib
import io
import selectors
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn

from halflap.sandbox.jail import frames
from halflap.sandbox.messages import NO_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from _typeshed import ReadableBuffer

    from halflap.sandbox.jail.inside.channel import Channel

__all__ = ["Console", "no_input"]

_TICK_SECONDS = 0.02
_MOST_PIECES = 300
_FEW_BYTES = 2_000
"""Output is sent piece by piece until there are too many within a tick, and again when there are few: `print(a, b, c)`
writes six pieces, and a frame for each of very many would cost more than the program itself."""


class _Outlet(io.BufferedIOBase):
    """Bytes that go through the channel."""

    def __init__(self, channel: Channel, name: str) -> None:
        super().__init__()
        self._channel = channel
        self.name = f"<{name}>"
        self._held = bytearray()
        self.pieces = 0
        self.bytes = 0

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        if self.closed:
            raise ValueError("write to closed file")
        piece = data if type(data) is bytes else memoryview(data).tobytes()
        self.pieces += 1
        self.bytes += len(piece)
        if self._held or self._channel.is_sending:
            self._held += piece
            self.flush()
        else:
            self._send(piece)
        return len(piece)

    def flush(self) -> None:
        """Send what a signal handler of the program printed in the middle of a frame."""
        if self._held and not self._channel.is_sending:
            held, self._held = bytes(self._held), bytearray()
            self._send(held)

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        for start in range(0, len(data), frames.CHUNK):
            self._channel.send(frames.OUTPUT, view[start : start + frames.CHUNK])


class _Stream(io.TextIOWrapper):
    """One of the two streams: piece by piece, or line by line if there are very many."""

    def __init__(self, channel: Channel, name: str) -> None:
        self._outlet = _Outlet(channel, name)
        self._is_eager = True
        super().__init__(
            self._outlet, encoding="utf-8", errors="backslashreplace", newline="\n",
            line_buffering=True, write_through=True,
        )  # fmt: skip

    def tick(self) -> None:
        """Send what is held, and decide whether to send piece by piece."""
        self.flush()
        outlet = self._outlet
        is_eager = outlet.pieces <= _MOST_PIECES if self._is_eager else outlet.bytes <= _FEW_BYTES
        outlet.pieces = outlet.bytes = 0
        if is_eager is not self._is_eager:
            self._is_eager = is_eager
            self.reconfigure(write_through=is_eager)


class Console:
    """The two streams of a program; they stay, whatever it puts in their place."""

    def __init__(self, channel: Channel) -> None:
        self._streams = {name: _Stream(channel, name) for name in ("stdout", "stderr")}

    def attach(self) -> None:
        """Make stdout and stderr go through the channel, and stdin empty."""
        for name, stream in self._streams.items():
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
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
        for stream in self._streams.values():
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
        for stream in self._streams.values():
            with contextlib.suppress(Exception):
                stream.tick()


def _after(first: Callable[[], None], then: Callable[..., Any]) -> Callable[..., Any]:
    def both(*arguments: Any, **named: Any) -> Any:
        first()
        return then(*arguments, **named)

    both.__name__, both.__doc__ = then.__name__, then.__doc__
    # A program that shows a traceback itself sees no file of ours.
    both.__code__ = both.__code__.replace(co_filename=f"<{then.__name__}>", co_name=then.__name__)
    return both


def no_input(_prompt: object = "") -> NoReturn:
    raise EOFError(NO_INPUT)
