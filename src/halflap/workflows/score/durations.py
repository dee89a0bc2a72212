"""Random durations: the times something can take, each with its probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Durations", "certain", "gathered", "longest", "mixed", "repeated", "shares"]

_MAX_POINTS = 20
"""More times than this are merged with their neighbours; the mean stays the same."""
_SAME = 1e-9
_MAX_TURNS = 40
_TINY = 1e-6
"""Repetitions of a loop that are less likely than this are counted by their mean."""


@dataclass(frozen=True, slots=True)
class Durations:
    """Times in order, each with its probability."""

    points: tuple[tuple[float, float], ...]
    exact: bool = True
    """Whether no times were merged, sampled or estimated."""

    @property
    def mean(self) -> float:
        return sum(time * chance for time, chance in self.points)

    @property
    def deviation(self) -> float:
        mean = self.mean
        return math.sqrt(sum(chance * (time - mean) ** 2 for time, chance in self.points))

    def __add__(self, other: Durations) -> Durations:
        pairs = ((a + b, p * q) for a, p in self.points for b, q in other.points)
        return gathered(pairs, exact=self.exact and other.exact)


def certain(time: float) -> Durations:
    return Durations(((time, 1.0),))


def shares(weights: Sequence[float]) -> list[float]:
    """Return probabilities for weights; all the same where all are 0."""
    whole = sum(weights)
    return [weight / whole for weight in weights] if whole > 0 else [1 / len(weights)] * len(weights)


def mixed(parts: Iterable[tuple[float, Durations]]) -> Durations:
    """Return what is one of these, each with its probability."""
    listed = [(p, one) for p, one in parts if p > 0]
    pairs = ((time, chance * p) for p, one in listed for time, chance in one.points)
    return gathered(pairs, exact=all(one.exact for _, one in listed))


def longest(parts: Sequence[tuple[float, Durations]]) -> Durations:
    """Return the longest of those that happen: each with its own probability, and at least one of them."""
    times = sorted({time for _, one in parts for time, _ in one.points})
    below, at = [0.0] * len(parts), [0] * len(parts)
    none = 1.0
    for p, _ in parts:
        none *= 1 - p
    found = []
    before = none
    for time in times:
        so_far = 1.0
        for number, (p, one) in enumerate(parts):
            while at[number] < len(one.points) and one.points[at[number]][0] <= time:
                below[number] += one.points[at[number]][1]
                at[number] += 1
            so_far *= 1 - p + p * below[number]
        found.append((time, (so_far - before) / (1 - none)))
        before = so_far
    return gathered(found, exact=all(one.exact for _, one in parts))


def repeated(once: Durations, again: Durations, back: float) -> Durations:
    """Return what is done once, and again each time the way back is taken."""
    turn = again + once
    parts: list[tuple[float, Durations]] = []
    left, now = 1.0, once
    while left > _TINY and len(parts) < _MAX_TURNS:
        parts.append((left * (1 - back), now))
        left *= back
        now += turn
    # What is left takes as long as it would on average.
    rest = Durations(certain(now.mean + turn.mean * back / (1 - back)).points, exact=left <= _TINY)
    return mixed([*parts, (left, rest)])


def gathered(pairs: Iterable[tuple[float, float]], *, exact: bool) -> Durations:
    """Return the distribution of times with probabilities."""
    found: dict[float, float] = {}
    for time, chance in pairs:
        if chance > 0:
            found[time] = found.get(time, 0.0) + chance
    points = _joined(sorted(found.items()))
    if len(points) <= _MAX_POINTS:
        return Durations(tuple(points), exact)
    size = -(-len(points) // _MAX_POINTS)
    merged = []
    for begin in range(0, len(points), size):
        group = points[begin : begin + size]
        chance = sum(p for _, p in group)
        merged.append((sum(time * p for time, p in group) / chance, chance))
    return Durations(tuple(merged), exact=False)


def _joined(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Join times that differ by rounding only."""
    found: list[tuple[float, float]] = []
    for time, chance in points:
        if found and time - found[-1][0] < _SAME:
            found[-1] = (found[-1][0], found[-1][1] + chance)
        else:
            found.append((time, chance))
    return found
