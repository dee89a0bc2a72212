"""Chances of times: which durations something can have, and how likely each is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Chances", "TooManyError", "certain", "expected", "latest", "mixed", "repeated", "summed"]

Chances = tuple[tuple[float, float], ...]
"""Times in order, each with its probability."""

_MOST = 512
_MOST_WORK = 50_000
_SMALL = 1e-12
_DIGITS = 9


class TooManyError(Exception):
    """There are more different times than are looked at one by one."""


def certain(time: float) -> Chances:
    """Give what always takes this long."""
    return ((time, 1.0),)


def expected(chances: Chances) -> float:
    """Give the mean."""
    return sum(time * chance for time, chance in chances)


def summed(one: Chances, other: Chances) -> Chances:
    """Give what takes as long as both, one after the other."""
    if len(one) * len(other) > _MOST * 8:
        raise TooManyError
    return _gathered((a + b, p * q) for a, p in one for b, q in other)


def mixed(parts: Iterable[tuple[float, Chances]]) -> Chances:
    """Give what is one of these, each with its probability."""
    return _gathered((time, chance * p) for p, chances in parts for time, chance in chances if p > 0)


def latest(parts: Sequence[tuple[float, Chances]]) -> Chances:
    """Give what takes as long as the longest of those that are done: each by its own probability, and at least one."""
    times = sorted({time for _, chances in parts for time, _ in chances})
    if len(times) > _MOST:
        raise TooManyError
    none = 1.0
    for p, _ in parts:
        none *= 1 - p
    below = [0.0] * len(parts)
    at = [0] * len(parts)
    found = []
    before = none
    for time in times:
        so_far = 1.0
        for number, (p, chances) in enumerate(parts):
            while at[number] < len(chances) and chances[at[number]][0] <= time:
                below[number] += chances[at[number]][1]
                at[number] += 1
            so_far *= 1 - p + p * below[number]
        found.append((time, (so_far - before) / (1 - none)))
        before = so_far
    return _gathered(found)


def repeated(once: Chances, again: Chances, back: float) -> Chances:
    """Give what is done once, and again after each time that the way back is taken."""
    turn = summed(again, once)
    parts = []
    left, now = 1.0, once
    work = 0
    while left > _SMALL:
        work += len(now) * len(turn)
        if work > _MOST_WORK:
            raise TooManyError
        parts.append((left * (1 - back), now))
        left *= back
        if left > _SMALL:
            now = summed(now, turn)
    parts[-1] = (parts[-1][0] + left, parts[-1][1])
    return mixed(parts)


def _gathered(pairs: Iterable[tuple[float, float]]) -> Chances:
    found: dict[float, float] = {}
    for time, chance in pairs:
        if chance > 0:
            key = round(time, _DIGITS)
            found[key] = found.get(key, 0.0) + chance
    if len(found) > _MOST:
        raise TooManyError
    return tuple(sorted(found.items()))
