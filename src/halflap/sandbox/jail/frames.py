"""The protocol between the gateway and a locked program: frames with a kind, a length and a body."""

from __future__ import annotations

import struct
from typing import Final

__all__ = [
    "CALL",
    "CALLS_AT_ONCE",
    "CANCEL",
    "CHUNK",
    "DONE",
    "ERROR",
    "HEADER",
    "LARGEST_AT_ONCE",
    "LONGEST_FAILURE",
    "NUMBER",
    "OUTPUT",
    "PROGRAM",
    "READY",
    "RETURNED",
    "SHOW",
    "VALUE",
    "frame",
]

HEADER: Final = struct.Struct("!cI")
NUMBER: Final = struct.Struct("!Q")
"""The number of a call, which precedes what is about one."""

CHUNK: Final = 65_536
"""Output comes in pieces of at most this many bytes."""

LONGEST_FAILURE: Final = 262_144
"""The largest report of a failure."""

CALLS_AT_ONCE: Final = 1_000
LARGEST_AT_ONCE: Final = 2
"""How many calls, or calls of the largest size, are sent at a time; the others wait in the program."""

# To the program.
PROGRAM: Final = b"P"
VALUE: Final = b"V"
"""What a call returned: its number, then the value as the same interpreter marshals it."""
ERROR: Final = b"F"
"""How a call failed: its number, then JSON."""

# To the gateway, as JSON unless said otherwise: what comes from there is untrusted.
READY: Final = b"R"
CALL: Final = b"C"
CANCEL: Final = b"X"
"""The number alone."""
OUTPUT: Final = b"O"
"""Text in UTF-8."""
SHOW: Final = b"S"
RETURNED: Final = b"T"
"""What a script's `main` returned: any JSON, at most once."""
DONE: Final = b"D"


def frame(kind: bytes, *parts: bytes | memoryview) -> bytes:
    """Put a frame together."""
    return b"".join((HEADER.pack(kind, sum(map(len, parts))), *parts))
