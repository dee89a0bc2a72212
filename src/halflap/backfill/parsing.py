"""A record of a log, as JSON has it: strictly, and with what is wrong in words for whoever has the log."""

from __future__ import annotations

import json
from typing import Any, NoReturn

__all__ = ["NOTHING", "parsed", "reason_of"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
NOTHING = object()
"""What an empty line is."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"there is no {name} in it")


_parse = json.JSONDecoder(parse_constant=_no_constant).decode
"""Made once: to make it takes as long as to read a short line."""


def reason_of(error: ValueError) -> str:
    """Say why a record cannot be read."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg}, at character {error.pos + 1}"
    return f"not JSON: {error}"


def parsed(text: bytes) -> Any:
    """Read a record; `ValueError` or `RecursionError` where that cannot be."""
    if text[:1] == b"\xef" and text.startswith(_BYTE_ORDER_MARK):
        text = text[3:]
    line = text.decode()
    return NOTHING if line.isspace() else _parse(line)
