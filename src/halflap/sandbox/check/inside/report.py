"""ty's report (`--output-format gitlab`): rule, place and message of each diagnostic, cut to what anyone will read."""

from __future__ import annotations

import itertools
import json
from typing import Any, NamedTuple

from halflap.sandbox.check.inside.edits import Place

__all__ = ["Diagnostic", "read_report"]

_MAX_DIAGNOSTICS = 4_000
_MAX_MESSAGE = 2_000
_MAX_CHARACTERS = 100_000
"""Of all messages together: as JSON they stay far below the largest answer."""
_SYNTAX = "invalid-syntax"


class Diagnostic(NamedTuple):
    """What ty says about a place in the program."""

    rule: str
    place: Place
    message: str


def read_report(printed: bytes, *, cut: bool = False) -> list[Diagnostic]:
    """Read a report; of one that was cut off, the diagnostics that are whole."""
    text = printed.decode("utf-8", "replace")
    every = _whole(text) if cut else json.loads(text)
    if not isinstance(every, list):
        raise TypeError("ty's report is no list")
    # ty knows no `await` outside a function. The program compiles, so there is no mistake in its syntax.
    found = [one for one in map(_read, every) if one is not None and one.rule != _SYNTAX]
    sizes = itertools.accumulate(len(one.message) for one in found)
    kept = sum(size <= _MAX_CHARACTERS for size in sizes)
    return found[: min(kept, _MAX_DIAGNOSTICS)]


def _whole(text: str) -> list[Any]:
    decoder, every = json.JSONDecoder(), []
    at = text.find("{")
    while at >= 0:
        try:
            one, end = decoder.raw_decode(text, at)
        except ValueError:
            break
        every.append(one)
        at = text.find("{", end)
    return every


def _read(one: dict[str, Any]) -> Diagnostic | None:
    rule, where = one["check_name"], one["location"]
    if where["path"] != "program.py":
        return None
    begin, end = where["positions"]["begin"], where["positions"]["end"]
    place = Place(begin["line"], begin["column"], end["line"], end["column"])
    return Diagnostic(rule, place, one["description"].removeprefix(f"{rule}: ")[:_MAX_MESSAGE])
