"""Merge shapes: commutative, associative, and the same as observing everything in one pass, counts included."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from halflap.learn.bound import bounded, cut_below
from halflap.learn.evidence import NEVER, add
from halflap.learn.limits import MOST_KEYS, MOST_VALUES, MOST_VARIANTS
from halflap.learn.shape import NOTHING, Formats, Key, Lengths, Place, Record, Shape

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.learn.evidence import Tally
    from halflap.learn.shape import Scalar, Tag

__all__ = ["merge", "merge_places", "merge_records", "unnamed"]


def merge(*shapes: Shape) -> Shape:
    """Put together what was observed apart."""
    return reduce(_merge_two, shapes, NOTHING)


def _merge_two(one: Shape, other: Shape) -> Shape:
    if not one.observations or not other.observations:
        return one if one.observations else other
    depth = min(one.depth, other.depth)
    root = merge_places(cut_below(one.root, depth), cut_below(other.root, depth))
    return bounded(
        Shape(
            root,
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
        formats=_merge_formats(one.formats, other.formats),
        values=_merge_values(one.values, other.values),
        lengths=_merge_lengths(one.lengths, other.lengths),
        items=_merge_optional(one.items, other.items),
        records=_mixed(one, other) if mixed else _apart(one.records, other.records),
        mixed=mixed,
        cut=one.cut or other.cut,
    )


def merge_records(one: Record, other: Record) -> Record:
    names = one.keys.keys() | other.keys.keys()
    rest = _merge_optional(one.rest, other.rest)
    seen = add(one.seen, other.seen)
    if one.crowded or other.crowded or len(names) > MOST_KEYS:
        places = (unnamed(key.place) for record in (one, other) for key in record.keys.values())
        return Record(seen, {}, reduce(_merge_optional, places, rest), crowded=True)
    return Record(seen, {name: _merge_keys(name, one, other) for name in names}, rest)


def unnamed(place: Place) -> Place:
    """Give a place without its name: under keys that are data, no values are kept."""
    return Place(
        place.kinds,
        place.formats,
        None if "string" in place.kinds else {},
        place.lengths,
        place.items,
        place.records,
        place.mixed,
        place.cut,
    )


def _merge_keys(name: str, one: Record, other: Record) -> Key:
    mine, theirs = one.keys.get(name), other.keys.get(name)
    if mine is None:
        assert theirs is not None
        return Key(theirs.place, add(theirs.missing, one.seen))
    if theirs is None:
        return Key(mine.place, add(mine.missing, other.seen))
    return Key(merge_places(mine.place, theirs.place), add(mine.missing, theirs.missing))


def _apart(one: Mapping[Tag | None, Record], other: Mapping[Tag | None, Record]) -> dict[Tag | None, Record]:
    merged = {**one, **other}
    for tag in one.keys() & other.keys():
        merged[tag] = merge_records(one[tag], other[tag])
    return merged


def _mixed(*places: Place) -> dict[Tag | None, Record]:
    records: Iterable[Record] = (record for place in places for record in place.records.values())
    return {None: reduce(merge_records, records)}


def _merge_formats(one: Formats | None, other: Formats | None) -> Formats | None:
    if one is None or other is None:
        return one or other
    kept = one.kept & other.kept
    once: dict[int, int] = {}
    for bit in one.once.keys() | other.once.keys():
        # Where the other side kept the format, or lost it by the same arguments, there is still but one set of them.
        digests = {side.once.get(bit) for side in (one, other) if not side.kept & bit}
        if len(digests) == 1 and None not in digests:
            (once[bit],) = (digest for digest in digests if digest is not None)
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


def _merge_lengths(one: Lengths | None, other: Lengths | None) -> Lengths | None:
    if one is None or other is None:
        return one or other
    return Lengths(min(one.shortest, other.shortest), max(one.longest, other.longest))


def _merge_optional(one: Place | None, other: Place | None) -> Place | None:
    if one is None or other is None:
        return one or other
    return merge_places(one, other)
