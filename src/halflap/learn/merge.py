"""Merge shapes: associative, commutative, and equal to observing everything in one pass."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, Any

from halflap.learn.shape import (
    MOST_KEYS,
    MOST_PLACES,
    MOST_VALUES,
    MOST_VARIANTS,
    NEVER,
    NOTHING,
    Formats,
    Key,
    Place,
    Record,
    Shape,
    add,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.learn.shape import Scalar, Tag, Tally

__all__ = [
    "bounded",
    "cut_below",
    "is_lost",
    "merge",
    "merge_formats",
    "merge_optional",
    "merge_places",
    "merge_records",
    "unnamed",
]


def merge(*shapes: Shape) -> Shape:
    return reduce(_merge_two, shapes, NOTHING)


def _merge_two(one: Shape, other: Shape) -> Shape:
    if not one.observations or not other.observations:
        return one if one.observations else other
    depth = min(one.depth, other.depth)
    return bounded(
        Shape(
            merge_places(cut_below(one.root, depth), cut_below(other.root, depth)),
            one.observations + other.observations,
            one.sample.union(other.sample),
            min((time for time in (one.first, other.first) if time is not None), default=None),
            max((time for time in (one.last, other.last) if time is not None), default=None),
            depth,
        )
    )


def merge_places(one: Place, other: Place) -> Place:
    mixed = one.mixed or other.mixed or len(one.records.keys() | other.records.keys()) > MOST_VARIANTS
    return Place(
        kinds={
            kind: add(one.kinds.get(kind, NEVER), other.kinds.get(kind, NEVER))
            for kind in one.kinds.keys() | other.kinds.keys()
        },
        formats=merge_formats(one.formats, other.formats),
        values=_merge_values(one.values, other.values),
        items=merge_optional(one.items, other.items),
        records=_as_one(one, other) if mixed else _by_tag(one.records, other.records),
        mixed=mixed,
        cut=one.cut or other.cut,
    )


def merge_records(one: Record, other: Record) -> Record:
    names = one.keys.keys() | other.keys.keys()
    rest = merge_optional(one.rest, other.rest)
    seen = add(one.seen, other.seen)
    if one.crowded or other.crowded or len(names) > MOST_KEYS:
        places = (unnamed(key.place) for record in (one, other) for key in record.keys.values())
        return Record(seen, {}, reduce(merge_optional, places, rest), crowded=True)
    return Record(seen, {name: _merge_keys(name, one, other) for name in names}, rest)


def unnamed(place: Place) -> Place:
    """Return a place as it is under keys that are data, where no values are kept."""
    return replace(place, values=None if "string" in place.kinds else {})


def _merge_keys(name: str, one: Record, other: Record) -> Key:
    mine, theirs = one.keys.get(name), other.keys.get(name)
    if mine is None:
        assert theirs is not None
        return Key(theirs.place, add(theirs.missing, one.seen))
    if theirs is None:
        return Key(mine.place, add(mine.missing, other.seen))
    return Key(merge_places(mine.place, theirs.place), add(mine.missing, theirs.missing))


def _by_tag(one: Mapping[Tag | None, Record], other: Mapping[Tag | None, Record]) -> dict[Tag | None, Record]:
    merged = {**one, **other}
    for tag in one.keys() & other.keys():
        merged[tag] = merge_records(one[tag], other[tag])
    return merged


def _as_one(*places: Place) -> dict[Tag | None, Record]:
    return {None: reduce(merge_records, (record for place in places for record in place.records.values()))}


def merge_formats(one: Formats | None, other: Formats | None) -> Formats | None:
    if one is None or other is None:
        return one or other
    kept = one.kept & other.kept
    once: dict[int, int] = {}
    for digest in one.once.keys() | other.once.keys():
        # Each side kept it or lost it by these arguments.
        lost = (one.kept | one.once.get(digest, 0)) & (other.kept | other.once.get(digest, 0)) & ~kept
        if lost:
            once[digest] = lost
    return Formats(kept, once)


def _merge_values(
    one: Mapping[Scalar, Tally] | None, other: Mapping[Scalar, Tally] | None
) -> dict[Scalar, Tally] | None:
    if one is None or other is None:
        return None
    names = one.keys() | other.keys()
    if len(names) > MOST_VALUES:
        return None
    return {value: add(one.get(value, NEVER), other.get(value, NEVER)) for value in names}


def merge_optional(one: Place | None, other: Place | None) -> Place | None:
    if one is None or other is None:
        return one or other
    return merge_places(one, other)


def bounded(shape: Shape) -> Shape:
    """Keep the levels that have at most `MOST_PLACES` places together.

    Places of records or variants that were merged for their number count as often as there could have been, so
    observing more never lowers the count, and a level that is cut off would be cut off in any order.
    """
    kept = sum(1 for total in accumulate(_level_sizes(shape.root)) if total <= MOST_PLACES) - 1
    if kept >= _height(shape.root):
        return shape
    return replace(shape, root=cut_below(shape.root, kept), depth=kept)


def cut_below(place: Place, levels: int) -> Place:
    """Keep this many levels below a place."""
    return place if _height(place) < levels else _cut(place, levels)


def _cut(place: Place, levels: int) -> Place:
    if levels:
        return replace(
            place,
            items=None if place.items is None else _cut(place.items, levels - 1),
            records={tag: _cut_record(record, levels - 1) for tag, record in place.records.items()},
        )
    is_cut = place.cut or place.items is not None or any(one.places() for one in place.records.values())
    return replace(place, items=None, records={}, mixed=False, cut=is_cut)


def _cut_record(record: Record, levels: int) -> Record:
    return replace(
        record,
        keys={name: Key(_cut(key.place, levels), key.missing) for name, key in record.keys.items()},
        rest=None if record.rest is None else _cut(record.rest, levels),
    )


def _height(place: Place) -> int:
    below = place.below()
    return 1 + max(map(_height, below)) if below else 0


def _level_sizes(place: Place) -> list[int]:
    """Count the places on each level, beginning with this place."""
    levels = [] if place.items is None else _level_sizes(place.items)
    for record in place.records.values():
        times = (MOST_VARIANTS + 1 if place.mixed else 1) * (MOST_KEYS + 1 if record.crowded else 1)
        for inner in record.places():
            levels = [a + times * b for a, b in zip_longest(levels, _level_sizes(inner), fillvalue=0)]
    return [1, *levels]


def is_lost(before: Shape, after: Shape) -> bool:
    """Return whether names, variants or levels of a shape are gone because too much was merged with it."""
    return bool(before.observations) and not set(_paths(before.root)) <= set(_paths(after.root))


def _paths(place: Place, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if place.items is not None:
        yield from _paths(place.items, (*path, 0))
    for tag, record in place.records.items():
        for name, key in record.keys.items():
            yield from _paths(key.place, (*path, tag, name))
        if record.rest is not None:
            yield from _paths(record.rest, (*path, tag, None))
