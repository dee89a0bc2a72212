"""How many parts a JSON text may have: tiny ones cost a hundred times their bytes in time and memory."""

from __future__ import annotations

import re
from typing import Final

MAX_PARTS: Final = 500_000
"""Takes at most about 0.2 s to parse, which no thread can share, and 70 MB."""

_OUTSIDE_TEXTS: Final = re.compile(rb'([^"]*+)(?:"[^"]*+"?)?+')


class TooManyPartsError(ValueError):
    """A JSON text has more parts than are read."""

    def __init__(self, most: int) -> None:
        super().__init__(f"it has more than {most:,} parts")


def check_parts(data: bytes | str, most: int = MAX_PARTS) -> None:
    """Raise `TooManyPartsError` if a JSON text has more than so many values, without parsing it."""
    if len(data) <= most:
        return
    encoded = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if _marks(encoded) <= most:
        return
    # Commas and brackets within texts are none. The loop ends early where there are many others.
    parts = 0
    for found in _OUTSIDE_TEXTS.finditer(encoded.replace(b"\\\\", b"").replace(b'\\"', b"")):
        parts += _marks(found[1])
        if parts > most:
            raise TooManyPartsError(most)


def _marks(data: bytes) -> int:
    """Count what begins a part: each follows a comma, or the bracket of what it is in."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")
