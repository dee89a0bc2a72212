"""Merge shapes: associative, commutative, and equal to observing everything in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import reduce

from halflap.learn.shape import (
    DEEPEST,
    MOST_KEYS,
    MOST_PLACES,
    MOST_VALUES,
    MOST_VARIANTS,
    NEVER,
    NOTHING,
    Key,
    Place,
    Record,
    Shape,
    Tag,
    Tally,
    add,
)


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
    tags = one.records.keys() | other.records.keys()
    mixed = one.mixed or other.mixed or len(tags) > MOST_VARIANTS
    records: dict[Tag | None, Record]
    if mixed:
        records = {None: reduce(merge_records, (*one.records.values(), *other.records.values()))}
    else:
        records = one.records | other.records
        for tag in one.records.keys() & other.records.keys():
            records[tag] = merge_records(one.records[tag], other.records[tag])
    return Place(
        kinds={
            kind: add(one.kinds.get(kind, NEVER), other.kinds.get(kind, NEVER))
            for kind in one.kinds.keys() | other.kinds.keys()
        },
        format=_merge_formats(one.format, other.format),
        values=_merge_values(one.values, other.values),
        items=merge_optional(one.items, other.items),
        records=records,
        mixed=mixed,
        cut=one.cut or other.cut,
    )


def merge_records(one: Record, other: Record) -> Record:
    if one.crowded or other.crowded or len(one.keys.keys() | other.keys.keys()) > MOST_KEYS:
        places = (key.place for record in (one, other) for key in record.keys.values())
        rest = reduce(merge_optional, places, merge_optional(one.rest, other.rest))
        return Record(add(one.seen, other.seen), {}, rest, crowded=True)
    return join_records(one, other)


def join_records(one: Record, other: Record) -> Record:
    """Merge records that are not crowded, however many keys they have together."""
    names = one.keys.keys() | other.keys.keys()
    keys = {name: _merge_keys(name, one, other) for name in names}
    return Record(add(one.seen, other.seen), keys, merge_optional(one.rest, other.rest))


def _merge_keys(name: str, one: Record, other: Record) -> Key:
    mine, theirs = one.keys.get(name), other.keys.get(name)
    if mine is None:
        assert theirs is not None
        return Key(theirs.place, add(theirs.missing, one.seen))
    if theirs is None:
        return Key(mine.place, add(mine.missing, other.seen))
    return Key(merge_places(mine.place, theirs.place), add(mine.missing, theirs.missing))


def _merge_formats(one: str | None, other: str | None) -> str | None:
    if one is None or other is None:
        return other if one is None else one
    return one if one == other else ""


def _merge_values(
    one: Mapping[str, Tally] | None, other: Mapping[str, Tally] | None
) -> dict[str, Tally] | None:
    if one is None or other is None or len(one.keys() | other.keys()) > MOST_VALUES:
        return None
    return {value: add(one.get(value, NEVER), other.get(value, NEVER)) for value in one.keys() | other.keys()}


def merge_optional(one: Place | None, other: Place | None) -> Place | None:
    return merge_places(one, other) if one and other else one or other


def bounded(shape: Shape) -> Shape:
    """Keep the levels that have at most `MOST_PLACES` places together.

    Places of records or variants that were merged for their number count as often as there could have been, so
    observing more never lowers the count, and a level that is cut off would be cut off in any order.
    """
    count, level, depth = 0, [(shape.root, 1)], 0
    while level:
        count += sum(times for _, times in level)
        if count > MOST_PLACES:
            return replace(shape, root=cut_below(shape.root, depth - 1), depth=depth - 1)
        level, depth = [inner for place, times in level for inner in _counted_below(place, times)], depth + 1
    return shape


def _counted_below(place: Place, times: int) -> Iterator[tuple[Place, int]]:
    if place.items is not None:
        yield place.items, times
    for record in place.records.values():
        merged = (MOST_VARIANTS + 1 if place.mixed else 1) * (MOST_KEYS + 1 if record.crowded else 1)
        yield from ((inner, times * merged) for inner in record.places())


def cut_below(place: Place, levels: int) -> Place:
    """Keep this many levels below a place."""
    if levels >= DEEPEST:
        return place
    if levels:
        return with_inner(place, lambda inner: cut_below(inner, levels - 1))
    return replace(place, items=None, records={}, mixed=False, cut=place.cut or bool(place.below()))


def with_inner(place: Place, change: Callable[[Place], Place]) -> Place:
    """Return a place with every place directly below it changed."""

    def changed(inner: Place | None) -> Place | None:
        return None if inner is None else change(inner)

    records = {}
    for tag, record in place.records.items():
        keys = {name: Key(change(key.place), key.missing) for name, key in record.keys.items()}
        records[tag] = replace(record, keys=keys, rest=changed(record.rest))
    return replace(place, items=changed(place.items), records=records)
