"""What the objects at a place are: a record, a map, or one of several variants that a tag tells apart."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from math import comb
from typing import TYPE_CHECKING, NamedTuple

from halflap.learn.merge import merge_places, merge_records, unnamed
from halflap.learn.names import RANKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from halflap.learn.evidence import Tally
    from halflap.learn.shape import Place, Record, Scalar, Tag

__all__ = ["Variant", "repeated_values", "variants_of"]

_CHANCE = 20
"""What would come about by chance once in so many cases is no rule."""
_NAMES_OF_A_MAP = 24
_SHARE_THAT_CAME_ONCE = 0.75
_KEYS_IN_COMMON = 2
_REPEATED = 3


class Variant(NamedTuple):
    """Objects that are alike."""

    record: Record
    key: str | None = None
    """The key that tells them from the others, where there are others that it tells."""
    values: Mapping[Scalar, Tally] = {}
    """What stands under that key."""


def variants_of(place: Place) -> list[Variant]:
    """Give the variants of the objects at a place; of records that do not differ, tags make no variants."""
    by_key: dict[str | None, list[Tag | None]] = {}
    for tag in sorted(place.records, key=lambda tag: _rank(place.records, tag)):
        by_key.setdefault(None if tag is None else tag.key, []).append(tag)
    found = [
        _variant(place.records, tags) for tags in by_key.values() for tags in _alike(place.records, tags)
    ]
    differ = any(
        _differ(one.record, other.record, {one.key, other.key})
        for at, one in enumerate(found)
        for other in found[:at]
    )
    if len(found) > 1 and not differ:
        found = [Variant(reduce(merge_records, (variant.record for variant in found)))]
    if len(found) == 1:
        found = [Variant(found[0].record)]
    return [variant._replace(record=_with_map(variant.record)) for variant in found]


def repeated_values(place: Place) -> list[str]:
    """Give the strings at a place, if they are known and come again and again."""
    words = {value: tally for value, tally in (place.values or {}).items() if isinstance(value, str)}
    often = sum(tally.times for tally in words.values()) >= _REPEATED * len(words)
    return sorted(words) if often else []


def _rank(records: Mapping[Tag | None, Record], tag: Tag | None) -> tuple[int, int, str]:
    if tag is None:
        return len(RANKS) + 1, 0, ""
    return RANKS.get(tag.key, len(RANKS)), -records[tag].seen.times, repr(tag.value)


def _alike(records: Mapping[Tag | None, Record], tags: list[Tag | None]) -> list[list[Tag | None]]:
    """Put tags together whose records do not differ."""
    groups: list[list[Tag | None]] = []
    for tag in tags:
        for group in groups:
            key = None if tag is None else tag.key
            if not any(_differ(records[tag], records[other], {key}) for other in group):
                group.append(tag)
                break
        else:
            groups.append([tag])
    return groups


def _variant(records: Mapping[Tag | None, Record], tags: list[Tag | None]) -> Variant:
    record = reduce(merge_records, (records[tag] for tag in tags))
    named = [tag for tag in tags if tag is not None]
    if not named:
        return Variant(record)
    return Variant(record, named[0].key, {tag.value: records[tag].seen for tag in named})


def _differ(one: Record, other: Record, tags: AbstractSet[str | None]) -> bool:
    """Say whether two records are of different kinds, not by their tags, and do not only seem so by chance."""
    if one.crowded or other.crowded:
        return False
    mine, theirs = _own(one, other) - tags, _own(other, one) - tags
    if mine and theirs:
        return True
    sure = _is_sure(one.seen.times, other.seen.times)
    if sure and (mine or theirs):
        return True
    return any(
        _unlike(one.keys[name].place, other.keys[name].place, sure=sure)
        for name in one.keys.keys() & other.keys.keys()
    )


def _is_sure(one: int, other: int) -> bool:
    """Say whether so many of the one and so many of the other fall apart like this by chance only once in twenty."""
    if not one or not other:
        return False
    # Of many, the number of ways is large beyond reckoning, and at least as large as they are many.
    return one + other >= _CHANCE or comb(one + other, one) >= _CHANCE


def _own(one: Record, other: Record) -> set[str]:
    """Give the keys that one always has and the other never."""
    return {name for name, key in one.keys.items() if not key.missing.times and name not in other.keys}


def _unlike(one: Place, other: Place, *, sure: bool) -> bool:
    mine, theirs = _families(one), _families(other)
    if mine & theirs:
        return False
    # A null may just be a value that is not there.
    return sure or ({"null"} not in (mine, theirs) and bool(mine) and bool(theirs))


def _families(place: Place) -> set[str]:
    return {"number" if kind == "integer" else kind for kind in place.kinds}


def _with_map(record: Record) -> Record:
    """Take names for data where what is under them says so; in doubt they are names."""
    data = _data_among(record)
    if not data:
        return record
    merged = reduce(merge_places, (unnamed(record.keys[name].place) for name in data))
    return replace(
        record,
        keys={name: key for name, key in record.keys.items() if name not in data},
        rest=merged if record.rest is None else merge_places(record.rest, merged),
    )


def _data_among(record: Record) -> set[str]:
    """Find the names that are not always there, have objects under them, and yet name nothing.

    Beside keys that are data, those are more of them that have the same under them. Else it takes many, all with the
    same under them, most of which never came again: fields of a record do come again.
    """
    objects = {
        name: key.place
        for name, key in record.keys.items()
        if key.missing.times and _families(key.place) == {"object"}
    }
    if record.rest is not None and _families(record.rest) == {"object"}:
        return {name for name, place in objects.items() if _are_alike([place, record.rest])}
    if len(objects) < _NAMES_OF_A_MAP or not _are_alike(objects.values()):
        return set()
    alone = sum(_came_once(place, record) for place in objects.values())
    return set(objects) if alone >= _SHARE_THAT_CAME_ONCE * len(objects) else set()


def _came_once(place: Place, record: Record) -> bool:
    """Say whether something came with one call alone; of a single call, whether it came once."""
    return place.count == 1 if record.seen.once is not None else place.kinds["object"].once is not None


def _are_alike(places: Iterable[Place]) -> bool:
    """Say whether objects have most of their keys in common, and always."""
    records = [record for place in places for record in place.records.values()]
    if not records or any(record.crowded for record in records):
        return False
    always = [{name for name, key in record.keys.items() if not key.missing.times} for record in records]
    common = set.intersection(*always)
    every = set().union(*(record.keys for record in records))
    return len(common) >= _KEYS_IN_COMMON and len(common) >= len(every) / 2
