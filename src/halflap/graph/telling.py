"""Which values tell where they come from: those that nobody passes by chance."""

from __future__ import annotations

import re
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from halflap.graph.edge import EACH, NAME, VALUE, Step, path_text
from halflap.graph.edge import key as key_step
from halflap.learn import is_name
from halflap.learn.formats import MATCHERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.graph.edge import Path

__all__ = ["NOTHING", "SURE", "WEAK", "Spots", "telling"]

NOTHING, WEAK, SURE = 0, 1, 2
"""How much a value tells: nothing; something, beside another that goes the same way; enough by itself."""

_SHORTEST = 5
_LONGEST = 20_000
_WORD = re.compile(r"(?:[a-z]+(?:[ _-][a-z]+){0,3}|[A-Z]+(?:[ _-][A-Z]+){0,3})").fullmatch
"""Written as programs write the few values of an enumeration: `basic_economy`, `OPEN`."""
_NUMERAL = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)*%?").fullmatch
_DAY_OR_CLOCK = re.compile(
    r"(?:\d{4}[-/.]\d\d?[-/.]\d\d?|\d\d?[-/.]\d\d?[-/.]\d{2,4})(?:[T ]\d\d?:[0-9:.]+)?(?: ?Z|[+-][0-9:]+)?"
    r"|\d\d?:\d\d(?::[0-9.]+)?(?: ?[AaPp][Mm]|Z|[+-][0-9:]+)?"
).fullmatch
_DURATION = MATCHERS["duration"]
_SAID_EVERYWHERE = frozenset(
    re.findall(
        r"\S+",
        """
        accepted active anonymous application/json approved april archived august available blocked business
        canceled cancelled closed completed confirmed created customer december declined default deleted
        delivered disabled draft editor enabled english error expired failed false february female friday
        german granted inactive invalid invoice january large literal march medium message monday normal
        november object october other owner pending private processed public published queued ready rejected
        removed resolved running saturday scheduled september shipped small string succeeded success sunday
        text/html text/plain thursday title tuesday unavailable undefined unknown updated urgent valid value
        viewer warning wednesday
        """,
    )
)
"""Capitalised or not, these say what many things are, and of none which it is."""
_MASKED = re.compile(r"(?i)[\[<(*](?:redacted|masked|hidden|secret|cut)[\]>)*]|[*•█]{4}|xxxx|\A\W*\Z").search
"""What was taken out of a log; and what has no letter in it."""
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
    """Say how much a leaf tells of where it comes from."""
    if type(value) is not str:
        return _number(value) if type(value) is int else NOTHING
    text = value
    if not _SHORTEST <= len(text) <= _LONGEST:
        return NOTHING
    if text.isalnum() and not text.isalpha():
        # Most identifiers, and nothing else that is looked for here but numbers.
        return WEAK if (text.endswith("000") and text.isdecimal()) or _DURATION(text) else SURE
    if _WORD(text) or text.casefold() in _SAID_EVERYWHERE or _DAY_OR_CLOCK(text):
        return WEAK
    return NOTHING if _NUMERAL(text) or _MASKED(text) else SURE


def _number(number: int) -> int:
    size = abs(number)
    if size < _SMALLEST_NUMBER or size.bit_length() > _MOST_BITS:
        return NOTHING
    is_time = any(low <= size < high for low, high in _CLOCKS)
    return WEAK if is_time or not size % _ROUND else SURE


class Spot:
    """A place in a tool's values, with its text; those within it are made when they are first come to."""

    __slots__ = ("inner", "path", "text")

    def __init__(self, path: Path = ()) -> None:
        self.path = path
        self.text = path_text(path)
        self.inner: dict[str | Step, Spot] = {}

    def at(self, step: str | Step) -> Spot:
        """Give the place one step further; a text is a key."""
        spot = Spot((*self.path, key_step(step) if isinstance(step, str) else step))
        self.inner[step] = spot
        return spot


class Spots:
    """The places of one tool's values. They are names alone, and made again when there were too many."""

    def __init__(self) -> None:
        self._root = Spot()
        self._left = _MOST_SPOTS

    def leaves(self, value: Any) -> list[tuple[str, Any]]:
        """Give the texts and whole numbers in a value that may tell, and the keys that are data, with where each is."""
        if self._left < 0:
            self._root, self._left = Spot(), _MOST_SPOTS
        found: list[tuple[str, Any]] = []
        self._gather(((self._root, value),), found, _DEEPEST)
        return found

    def _gather(self, pairs: Iterable[tuple[Spot, Any]], found: list[tuple[str, Any]], left: int) -> None:
        for spot, value in pairs:
            kind = type(value)
            if kind is str:
                if _SHORTEST <= len(value) <= _LONGEST:
                    found.append((spot.text, value))
            elif kind is int:
                if value >= _SMALLEST_NUMBER or value <= -_SMALLEST_NUMBER:
                    found.append((spot.text, value))
            elif not value or not left or len(found) >= _MOST_LEAVES:
                continue
            elif kind is list:
                inner = spot.inner.get(EACH) or self._further(spot, EACH)
                self._gather(zip(repeat(inner), islice(value, _WIDEST)), found, left - 1)
            elif kind is dict:
                self._gather(self._within(spot, value, found), found, left - 1)

    def _within(
        self, spot: Spot, value: dict[Any, Any], found: list[tuple[str, Any]]
    ) -> list[tuple[Spot, Any]]:
        known = spot.inner
        pairs = []
        for key, part in islice(value.items(), _WIDEST):
            inner = known.get(key)
            if inner is None:
                if is_name(key):
                    inner = self._further(spot, key)
                else:
                    found.append(((known.get(NAME) or self._further(spot, NAME)).text, key))
                    inner = known.get(VALUE) or self._further(spot, VALUE)
            pairs.append((inner, part))
        return pairs

    def _further(self, spot: Spot, step: str | Step) -> Spot:
        self._left -= 1
        return spot.at(step)
