"""JSON as its standard has it: without `NaN` and `Infinity`, which Python reads; and in words why something is none."""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

__all__ = ["parse_json", "why_no_json"]

_TOO_LONG = "Exceeds the limit"
"""How Python's word begins on a number of too many digits: it has no exception of its own."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"there is no {name} in it")


_parse = json.JSONDecoder(parse_constant=_no_constant).decode
"""Made once: to make it takes as long as to read a short line."""


def parse_json(text: str) -> Any:
    """Read a value; `ValueError` or `RecursionError` where that cannot be."""
    return _parse(text)


def why_no_json(error: ValueError) -> str:
    """Say why something could not be read, for whoever has it and knows nothing of Python."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg}, at character {error.pos + 1}"
    if str(error).startswith(_TOO_LONG):
        return f"a number in it has more than {sys.get_int_max_str_digits():,} digits"
    return f"not JSON: {error}"
