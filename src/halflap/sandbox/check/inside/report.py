"""Read what ty printed: its diagnostics, cut to what anybody will read."""

from __future__ import annotations

import itertools
import json
from typing import Any

__all__ = ["MOST_DIAGNOSTICS", "diagnostics"]

MOST_DIAGNOSTICS = 500
_LONGEST_MESSAGE = 2_000
_MOST_CHARACTERS = 100_000
"""Of all messages together: written as JSON they stay far below the largest answer."""
_SYNTAX = "invalid-syntax"


def diagnostics(printed: bytes, *, compiles: bool, cut: bool = False) -> list[list[Any]]:
    """Give rule, begin, end and message of each; of a report that was cut off, of those that are whole."""
    text = printed.decode("utf-8", "replace")
    every = _whole(text) if cut else json.loads(text)
    if not isinstance(every, list):
        raise TypeError("ty's report is no list")
    read = (_read(one) for one in every)
    # ty knows no `await` outside a function; who could compile the program knows better.
    found = [one for one in read if one is not None and not (compiles and one[0] == _SYNTAX)]
    sizes = itertools.accumulate(len(one[-1]) for one in found)
    kept = sum(size <= _MOST_CHARACTERS for size in sizes)
    return found[: min(kept, MOST_DIAGNOSTICS)]


def _whole(text: str) -> list[Any]:
    decoder, every = json.JSONDecoder(), []
    place = text.find("{")
    while place >= 0:
        try:
            one, end = decoder.raw_decode(text, place)
        except ValueError:
            break
        every.append(one)
        place = text.find("{", end)
    return every


def _read(one: dict[str, Any]) -> list[Any] | None:
    rule, where = one["check_name"], one["location"]
    if where["path"] != "program.py":
        return None
    begin, end = where["positions"]["begin"], where["positions"]["end"]
    message = one["description"].removeprefix(f"{rule}: ")[:_LONGEST_MESSAGE]
    return [rule, begin["line"], begin["column"], end["line"], end["column"], message]
