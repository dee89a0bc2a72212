"""The kernel's packet filter, as far as our filter uses it: what becomes of one system call."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ARCHES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL = "allow", "kill"


def verdict(code: bytes, arch: int, number: int, arguments: Sequence[int] = ()) -> str | int:
    """Interpret a filter for one call; gives `allow`, `kill`, or the error that the caller gets."""
    padded = [value & (1 << 64) - 1 for value in (*arguments, *[0] * 6)[:6]]
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, arch, 0, *padded)
    program = list(struct.iter_unpack("=HBBI", code))
    at, loaded = 0, 0
    while True:
        operation, yes, no, value = program[at]
        at += 1
        if operation == 0x20:
            (loaded,) = struct.unpack_from("=I", data, value)
        elif operation == 0x54:
            loaded &= value
        elif operation == 0x15:
            at += yes if loaded == value else no
        elif operation == 0x35:
            at += yes if loaded >= value else no
        elif operation == 0x06:
            break
        else:
            raise AssertionError(f"an instruction that the filter should not need: {operation:#x}")
    if value == 0x7FFF0000:
        return ALLOW
    if value == 0x80000000:
        return KILL
    assert value & 0xFFFF0000 == 0x00050000
    return int(value) & 0xFFFF
