"""Keep a shape within its bounds, by cutting off its deepest levels where there are too many places."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING

from halflap.learn.limits import MOST_KEYS, MOST_PLACES, MOST_VARIANTS
from halflap.learn.shape import Key, Place, Record, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["bounded", "cut_below", "cut_record", "levels_of", "levels_of_record"]


def bounded(shape: Shape) -> Shape:
    """Keep the levels that have at most `MOST_PLACES` places together.

    The places of a record or variant that was merged away for its number are counted as if it were still there,
    as often as there could have been: so the count never falls when more is observed, and a level that was cut
    off would have been cut off in any order.
    """
    kept = sum(1 for total in accumulate(levels_of(shape.root)) if total <= MOST_PLACES) - 1
    levels = _height(shape.root)
    if kept >= levels:
        return shape
    return replace(shape, root=cut_below(shape.root, kept), depth=kept)


def cut_below(place: Place, levels: int) -> Place:
    """Keep so many levels below a place."""
    if _height(place) < levels:
        return place
    return _cut(place, levels)


def cut_record(record: Record, levels: int) -> Record:
    """Keep so many levels below what stands under the keys of a record."""
    return replace(
        record,
        keys={name: Key(_cut(key.place, levels), key.missing) for name, key in record.keys.items()},
        rest=None if record.rest is None else _cut(record.rest, levels),
    )


def _cut(place: Place, levels: int) -> Place:
    if levels:
        return replace(
            place,
            items=None if place.items is None else _cut(place.items, levels - 1),
            records={tag: cut_record(record, levels - 1) for tag, record in place.records.items()},
        )
    is_cut = (
        place.cut
        or place.items is not None
        or any(record.keys or record.rest is not None for record in place.records.values())
    )
    return replace(place, items=None, records={}, mixed=False, cut=is_cut)


def _below(record: Record) -> Iterable[Place]:
    yield from (key.place for key in record.keys.values())
    if record.rest is not None:
        yield record.rest


def _height(place: Place) -> int:
    """Say how many levels there are below a place."""
    below = [] if place.items is None else [place.items]
    below += [inner for record in place.records.values() for inner in _below(record)]
    return 1 + max(map(_height, below)) if below else 0


def levels_of(place: Place) -> list[int]:
    """Count the places on each level, from that of the place itself."""
    levels = [] if place.items is None else levels_of(place.items)
    for record in place.records.values():
        times = (MOST_VARIANTS + 1 if place.mixed else 1) * (MOST_KEYS + 1 if record.crowded else 1)
        levels = _sum(levels, levels_of_record(record), times)
    return [1, *levels]


def levels_of_record(record: Record) -> list[int]:
    """Count the places on each level, from that of what stands under its keys."""
    levels: list[int] = []
    for inner in _below(record):
        levels = _sum(levels, levels_of(inner))
    return levels


def _sum(mine: list[int], theirs: list[int], times: int = 1) -> list[int]:
    return [one + times * other for one, other in zip_longest(mine, theirs, fillvalue=0)]
