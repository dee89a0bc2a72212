"""The protocol between the gateway and locked processes: frames with a kind, a length and a body. Both sides import this."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Final

# Gateway to fork server
ORDER: Final = struct.Struct("!cI")
"""A kind, and the number of the child."""
FORK: Final = b"F"
"""Sent with the child's end of its channel."""
KILL: Final = b"K"

_HEADER: Final = struct.Struct("!cI")
NUMBER: Final = struct.Struct("!Q")
"""The number of a call; begins the body of every frame about a call."""
CHUNK: Final = 65_536
"""The largest frame of output."""
MAX_FAILURE_BYTES: Final = 524_288
"""A traceback and a hint of 20,000 characters each, of which each may be an escape of six bytes, and a name."""
BROKEN: Final = 70
"""Exit status of a process whose program has broken what the process itself uses."""
READY: Final = b"locked"
"""The first message of a process, without a frame; anything else is why it could not be locked."""

# Gateway to program
PROGRAM: Final = b"P"
"""JSON: code, tools and arguments."""
VALUE: Final = b"V"
"""The result of a call: its number, then the value, marshalled by the same interpreter."""
ERROR: Final = b"F"
"""The failure of a call: its number, then a message in UTF-8."""

# Program to gateway
CALL: Final = b"C"
"""A number, then name and arguments as JSON."""
CANCEL: Final = b"X"
"""Its number."""
OUTPUT: Final = b"O"
"""Text in UTF-8."""
SHOW: Final = b"S"
"""The content block of an image or a sound, as JSON."""
DONE: Final = b"D"
"""JSON: the outcome, the failure, the value of a script, and the resources used."""


def limits(max_value_bytes: int) -> dict[bytes, int]:
    """Return the kinds of frames that a program may send, with the most bytes of each."""
    return {
        OUTPUT: CHUNK,
        CALL: NUMBER.size + max_value_bytes,
        CANCEL: NUMBER.size,
        SHOW: max_value_bytes,
        DONE: max_value_bytes + MAX_FAILURE_BYTES,
    }


class MisuseError(Exception):
    """A message that no honest program sends."""


def frame(kind: bytes, *parts: bytes | memoryview) -> bytes:
    return b"".join((_HEADER.pack(kind, sum(map(len, parts))), *parts))


class Frames:
    """Splits received bytes into frames; with `limits`, only of these kinds and up to these sizes."""

    def __init__(self, limits: Mapping[bytes, int] | None = None) -> None:
        self._limits = limits
        self._received = bytearray()
        self.missing = 0
        """The number of bytes until the current frame is complete."""

    def add(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Take bytes, and yield the frames that are complete now."""
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
    """Yield frames until the other side closes the connection."""
    while part := connection.recv(CHUNK):
        yield from frames.add(part)
