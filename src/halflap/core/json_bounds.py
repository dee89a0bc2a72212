"""Limit the number of values in a JSON text: parsing many tiny ones takes a hundred times their bytes in memory."""

from __future__ import annotations

import re
from typing import Final

MAX_PARTS: Final = 500_000
"""Parsing that many holds the interpreter lock for up to 0.2 s and takes 70 MB."""

_OUTSIDE_TEXTS: Final = re.compile(rb'([^"]*+)(?:"[^"]*+"?)?+')


class TooManyPartsError(ValueError):
    """A JSON text has too many values."""

    def __init__(self, most: int) -> None:
        super().__init__(f"it has more than {most:,} parts")


def check_parts(data: bytes | str, most: int = MAX_PARTS) -> None:
    """Raise `TooManyPartsError` if a JSON text has more than `most` values, without parsing it."""
    if len(data) <= most:
        return
    encoded = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if _marks(encoded) <= most:
        return
    # Count only outside of strings; usually this ends early.
    parts = 0
    for found in _OUTSIDE_TEXTS.finditer(encoded.replace(b"\\\\", b"").replace(b'\\"', b"")):
        parts += _marks(found[1])
        if parts > most:
            raise TooManyPartsError(most)


def _marks(data: bytes) -> int:
    """Count the characters that precede a value."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")
