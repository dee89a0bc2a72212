"""What the gateway and a locked process say to each other: frames with a kind, a length and a body. Both sides import this."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Final

__all__ = ["Frames", "MisuseError", "frame", "limits", "receive"]

# To a fork server.
ORDER: Final = struct.Struct("!cI")
"""What to do, and the number of the child."""
FORK: Final = b"F"
"""Comes with the child's end of its channel."""
KILL: Final = b"K"

_HEADER: Final = struct.Struct("!cI")
NUMBER: Final = struct.Struct("!Q")
"""The number of a call, which precedes what is about one."""
CHUNK: Final = 65_536
"""The most bytes of output in a frame."""
LONGEST_FAILURE: Final = 524_288
"""Traceback and hint of 20,000 characters each, which may take six bytes as an escape, and a name."""
BROKEN: Final = 70
"""Exit status of a process whose program has broken what the process itself uses."""
READY: Final = b"locked"
"""The first that a process says; anything else is why it could not be locked."""

# To the program.
PROGRAM: Final = b"P"
"""JSON: code, tools and arguments."""
VALUE: Final = b"V"
"""What a call returned: its number, then the value as the same interpreter marshals it."""
ERROR: Final = b"F"
"""How a call failed: its number, then a message in UTF-8."""

# To the gateway.
CALL: Final = b"C"
"""A number, then name and arguments as JSON."""
CANCEL: Final = b"X"
"""The number alone."""
OUTPUT: Final = b"O"
"""Text in UTF-8."""
SHOW: Final = b"S"
"""A content block as JSON."""
DONE: Final = b"D"
"""JSON: how it failed, the value of a script, and what it used."""


def limits(largest: int) -> dict[bytes, int]:
    """Return what a program may send, and the most bytes of each kind."""
    return {
        OUTPUT: CHUNK,
        CALL: NUMBER.size + largest,
        CANCEL: NUMBER.size,
        SHOW: largest,
        DONE: largest + LONGEST_FAILURE,
    }


class MisuseError(Exception):
    """Something came through the channel that no honest program sends."""


def frame(kind: bytes, *parts: bytes | memoryview) -> bytes:
    return b"".join((_HEADER.pack(kind, sum(map(len, parts))), *parts))


class Frames:
    """Received bytes, cut into frames; with `limits`, only of these kinds and up to these sizes."""

    def __init__(self, limits: Mapping[bytes, int] | None = None) -> None:
        self._limits = limits
        self._received = bytearray()
        self.missing = 0
        """How many bytes the frame that has begun still needs."""

    def add(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Take bytes, and return the frames that are complete now."""
        self._received += data
        while len(self._received) >= _HEADER.size:
            kind, length = _HEADER.unpack_from(self._received)
            if self._limits is not None and length > self._limits.get(kind, -1):
                raise MisuseError(f"a frame of the kind {kind!r} with {length:,} bytes")
            end = _HEADER.size + length
            self.missing = end - len(self._received)
            if self.missing > 0:
                return
            body = bytes(memoryview(self._received)[_HEADER.size : end])
            del self._received[:end]
            yield kind, body


def receive(connection: socket.socket, frames: Frames) -> Iterator[tuple[bytes, bytes]]:
    """Wait for frames until the other side closes the connection."""
    while part := connection.recv(CHUNK):
        yield from frames.add(part)
