"""What a program prints: each line goes to the gateway at once, so that nothing is lost when it is killed."""

from __future__ import annotations

import io
import sys
from typing import TYPE_CHECKING, NoReturn

from halflap.execution.jail import frames
from halflap.execution.words import NO_INPUT

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from halflap.execution.jail.inside.door import Door

__all__ = ["attach", "no_input"]


class _Outlet(io.RawIOBase):
    """Bytes that go through the door."""

    def __init__(self, door: Door) -> None:
        super().__init__()
        self._door = door

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        piece = bytes(memoryview(data)[: frames.CHUNK])
        if piece:
            self._door.send(frames.OUTPUT, piece)
        return len(piece)


def attach(door: Door) -> None:
    """Make stdout and stderr go through the door, and stdin be empty."""
    for name in ("stdout", "stderr"):
        stream = io.TextIOWrapper(
            io.BufferedWriter(_Outlet(door), frames.CHUNK),
            encoding="utf-8",
            errors="backslashreplace",
            newline="\n",
            line_buffering=True,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.stdin = io.StringIO()


def no_input(_prompt: object = "") -> NoReturn:
    """Refuse to ask anybody anything."""
    raise EOFError(NO_INPUT)
