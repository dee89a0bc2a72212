"""Keep what grows within its bounds while it grows: a single result may have more than can ever be kept."""

from __future__ import annotations

from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING

from halflap.learn.bound import cut_below, cut_record, levels_of, levels_of_record
from halflap.learn.limits import DEEPEST, MOST_KEYS, MOST_PLACES, MOST_VARIANTS

if TYPE_CHECKING:
    from halflap.learn.growing import GrowingPlace, GrowingRecord

__all__ = ["Room"]

_STEPS = 8
"""Looking takes as long as there are places; so it is done when their number may have grown by this part."""


class Room:
    """How many places there may be yet, and how deep.

    It counts as `bound` does, never more: of places that stand for many and are frozen in part, the larger of what is
    frozen and what grows. Since more to see never makes that count smaller, what is cut off here would have been cut
    off at the end; and what is exactly too much is decided there.
    """

    __slots__ = ("_left", "deepest")

    def __init__(self) -> None:
        self.deepest = DEEPEST
        """The deepest level that is kept."""
        self._left = MOST_PLACES

    def take(self, places: int, root: GrowingPlace) -> None:
        """Note that so many places were made, and cut off what is too much."""
        self._left -= places
        if self._left < 0:
            self._look(root)

    def _look(self, root: GrowingPlace) -> None:
        totals = list(accumulate(_grown(root)))
        kept = sum(1 for total in totals if total <= MOST_PLACES)
        if kept < len(totals):
            self.deepest = kept - 1
            _prune(root, self.deepest)
        self._left = max(MOST_PLACES - totals[kept - 1], MOST_PLACES // _STEPS)


def _grown(root: GrowingPlace) -> list[int]:
    """Count the places on each level, at least."""
    totals = [0] * (DEEPEST + 1)
    _count(root, 1, 0, totals)
    while not totals[-1]:
        totals.pop()
    return totals


def _count(place: GrowingPlace, times: int, level: int, totals: list[int]) -> None:
    if place.base is None:
        totals[level] += times
        _count_below(place, times, level, totals)
        return
    growing = [0] * (DEEPEST + 1)
    growing[level] = times
    _count_below(place, times, level, growing)
    _add_larger(totals, growing, times, level, levels_of(place.base))


def _count_below(place: GrowingPlace, times: int, level: int, totals: list[int]) -> None:
    if place.items is not None:
        _count(place.items, times, level + 1, totals)
    for record in place.records.values():
        kinds = times * (MOST_VARIANTS + 1 if place.mixed else 1)
        many = kinds * (MOST_KEYS + 1 if record.crowded else 1)
        if record.base is None:
            _count_keys(record, many, level + 1, totals)
        else:
            growing = [0] * (DEEPEST + 1)
            _count_keys(record, many, level + 1, growing)
            # Keys that are frozen one by one, beside a crowd, are yet to be merged.
            frozen = kinds * (MOST_KEYS + 1 if record.base.crowded else 1)
            _add_larger(totals, growing, frozen, level + 1, levels_of_record(record.base))


def _count_keys(record: GrowingRecord, times: int, level: int, totals: list[int]) -> None:
    for inner in record.keys.values():
        _count(inner, times, level, totals)
    if record.rest is not None and record.rest.is_used():
        _count(record.rest, times, level, totals)


def _add_larger(totals: list[int], growing: list[int], times: int, level: int, frozen: list[int]) -> None:
    for at, (mine, theirs) in enumerate(zip_longest(growing[level:], frozen, fillvalue=0), start=level):
        if mine or theirs:
            totals[at] += max(mine, times * theirs)


def _prune(place: GrowingPlace, levels: int) -> None:
    """Keep so many levels below a place.

    What was cut off may still be walked over, by those who were on their way there; it is no longer a part of
    anything, and grows no further.
    """
    if place.base is not None:
        place.base = cut_below(place.base, levels)
    if not levels:
        place.cut_off()
        return
    if place.items is not None:
        _prune(place.items, levels - 1)
    for record in place.records.values():
        for inner in record.keys.values():
            _prune(inner, levels - 1)
        if record.rest is not None:
            _prune(record.rest, levels - 1)
        if record.base is not None:
            record.base = cut_record(record.base, levels - 1)
