"""Which values reveal their source: those that rarely coincide by chance."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice, repeat
from typing import Any

from halflap.graph.paths import EACH, NAME, VALUE, Path, Step, path_text
from halflap.graph.paths import key as key_step
from halflap.learn import is_name
from halflap.learn.formats import PATTERNS

NOTHING, WEAK, SURE = 0, 1, 2
"""How much a value reveals: nothing; something, together with another one; enough alone."""

_SHORTEST = 5
_LONGEST = 20_000
_WORD = re.compile(r"(?:[A-Za-z][a-z]*(?:[ _/-][a-z]+){0,3}|[A-Z]+(?:[ _-][A-Z]+){0,3})").fullmatch
"""Written like a value of an enumeration: `in_transit`, `OPEN`, `Pending`, `text/html`."""
_NUMERAL = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)*%?").fullmatch
_DAY_OR_CLOCK = re.compile(
    r"(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{2,4})(?:[T ]\d\d?:[0-9:.]+)?(?: ?Z|[+-][0-9:]+)?"
    r"|\d\d?:\d\d(?::[0-9.]+)?(?: ?[AaPp][Mm]|Z|[+-][0-9:]+)?"
).fullmatch
_DURATION = PATTERNS["duration"].fullmatch
_MASKED = re.compile(r"(?i)[\[<(*](?:redacted|masked|hidden|secret|cut)[\]>)*]|[*•█]{4}|xxxx|\A\W*\Z").search
"""What was redacted in a log, and what has no letter in it."""
_SMALLEST_NUMBER = 10_000
_ROUND = 1_000
_CLOCKS = ((1_000_000_000, 2_200_000_000), (1_000_000_000_000, 2_200_000_000_000))
"""Seconds and milliseconds since 1970."""
_MOST_BITS = 256
_DEEPEST = 16
_WIDEST = 1_000
_MOST_LEAVES = 10_000
_MOST_SPOTS = 5_000


def telling(value: Any) -> int:
    """Return how much a leaf reveals about its source."""
    if type(value) is not str:
        return _number(value) if type(value) is int else NOTHING
    text = value
    if not _SHORTEST <= len(text) <= _LONGEST:
        return NOTHING
    if text.isalnum() and not text.isalpha():
        # Most identifiers; of the other patterns only numbers match it.
        return WEAK if (text.endswith("000") and text.isdecimal()) or _DURATION(text) else SURE
    if _WORD(text) or _DAY_OR_CLOCK(text):
        return WEAK
    return NOTHING if _NUMERAL(text) or _MASKED(text) else SURE


def _number(number: int) -> int:
    size = abs(number)
    if size < _SMALLEST_NUMBER or size.bit_length() > _MOST_BITS:
        return NOTHING
    is_time = any(low <= size < high for low, high in _CLOCKS)
    return WEAK if is_time or not size % _ROUND else SURE


def _may_tell(value: Any) -> bool:
    if type(value) is str:
        return _SHORTEST <= len(value) <= _LONGEST
    return type(value) is int and abs(value) >= _SMALLEST_NUMBER


class Spot:
    """A place in a tool's values, with its text; inner ones are made when they are first reached."""

    __slots__ = ("inner", "path", "text")

    def __init__(self, path: Path = ()) -> None:
        self.path = path
        self.text = path_text(path)
        self.inner: dict[str | Step, Spot] = {}

    def at(self, step: str | Step) -> Spot:
        """Return the place one step further; a string is a key."""
        spot = Spot((*self.path, key_step(step) if isinstance(step, str) else step))
        self.inner[step] = spot
        return spot


class Spots:
    """The places of one tool's values: only names, and made again when there are too many."""

    def __init__(self) -> None:
        self._root = Spot()
        self._left = _MOST_SPOTS

    def leaves(self, value: Any) -> list[tuple[str, Any]]:
        """Return the strings and integers in a value that may tell something, and keys that are data, with their paths."""
        if self._left < 0:
            self._root, self._left = Spot(), _MOST_SPOTS
        found: list[tuple[str, Any]] = []
        if type(value) is dict or type(value) is list:
            self._gather(self._root, value, found, _DEEPEST)
        elif _may_tell(value):
            found.append((self._root.text, value))
        return found

    def _gather(self, spot: Spot, value: Any, found: list[tuple[str, Any]], left: int) -> None:
        # The hot loop: no function is called for a leaf.
        known = spot.inner
        inner: Spot | None
        parts: Iterable[tuple[Any, Any]]
        if type(value) is dict:
            parts = value.items() if len(value) <= _WIDEST else islice(value.items(), _WIDEST)
        else:
            inner = known.get(EACH) or self._further(spot, EACH)
            parts = zip(repeat(EACH), islice(value, _WIDEST))
        for key, part in parts:
            inner = known.get(key)
            if inner is None:
                inner = self._unknown(spot, key, found)
            kind = type(part)
            if kind is str:
                if _SHORTEST <= len(part) <= _LONGEST:
                    found.append((inner.text, part))
            elif kind is dict or kind is list:
                if part and left and len(found) < _MOST_LEAVES:
                    self._gather(inner, part, found, left - 1)
            elif kind is int and (part >= _SMALLEST_NUMBER or part <= -_SMALLEST_NUMBER):
                found.append((inner.text, part))

    def _unknown(self, spot: Spot, key: Any, found: list[tuple[str, Any]]) -> Spot:
        """Return the place under a key that is new here, or data."""
        if is_name(key):
            return self._further(spot, key)
        name = spot.inner.get(NAME) or self._further(spot, NAME)
        if _may_tell(key):
            found.append((name.text, key))
        return spot.inner.get(VALUE) or self._further(spot, VALUE)

    def _further(self, spot: Spot, step: str | Step) -> Spot:
        self._left -= 1
        return spot.at(step)
