"""Read what ty printed: its diagnostics, cut to what anybody will read."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["MOST_DIAGNOSTICS", "diagnostics"]

MOST_DIAGNOSTICS = 500
_LONGEST_MESSAGE = 2_000
_SYNTAX = "invalid-syntax"


def diagnostics(printed: bytes, *, compiles: bool) -> list[list[Any]]:
    """Give rule, begin, end and message of each; the text may end anywhere, for it may have been cut."""
    text, decoder = printed.decode("utf-8", "replace"), json.JSONDecoder()
    found: list[list[Any]] = []
    place = text.find("{")
    while place >= 0 and len(found) < MOST_DIAGNOSTICS:
        try:
            one, end = decoder.raw_decode(text, place)
        except ValueError:
            break
        read = _read(one)
        # ty knows no `await` outside a function; who could compile the program knows better.
        if read is not None and not (compiles and read[0] == _SYNTAX):
            found.append(read)
        place = text.find("{", end)
    return found


def _read(one: dict[str, Any]) -> list[Any] | None:
    rule, where = one["check_name"], one["location"]
    if where["path"] != "program.py":
        return None
    begin, end = where["positions"]["begin"], where["positions"]["end"]
    message = one["description"].removeprefix(f"{rule}: ")[:_LONGEST_MESSAGE]
    return [rule, begin["line"], begin["column"], end["line"], end["column"], message]
