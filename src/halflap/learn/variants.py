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
    from halflap.learn.shape import Key, Place, Record, Scalar, Tag

__all__ = ["Variant", "repeated_values", "variants_of"]

_CHANCE = 20
"""What would come about by chance once in so many cases is no rule."""
_KEYS_OF_A_MAP = 12
_OBJECTS_OF_A_MAP = 4
_SHARE_OF_A_MAP = 0.25
_SHARE_OF_OBJECTS = 0.5
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
    """Take names for data where there are many that come and go, with much the same under them."""
    sparse = {name: key for name, key in record.keys.items() if key.missing.times}
    if len(sparse) < _OBJECTS_OF_A_MAP or not _is_map(sparse.values(), record.seen.times):
        return record
    merged = reduce(merge_places, (unnamed(key.place) for key in sparse.values()))
    return replace(
        record,
        keys={name: key for name, key in record.keys.items() if name not in sparse},
        rest=merged if record.rest is None else merge_places(record.rest, merged),
    )


def _is_map(keys: Iterable[Key], objects: int) -> bool:
    places = [key.place for key in keys]
    families = set().union(*(_families(place) - {"null"} for place in places))
    if len(families) != 1:
        return False
    share = sum(place.count for place in places) / (len(places) * objects)
    if families != {"object"}:
        return len(places) >= _KEYS_OF_A_MAP and share <= _SHARE_OF_A_MAP
    always = [
        {name for name, key in record.keys.items() if not key.missing.times}
        for place in places
        for record in place.records.values()
    ]
    return share <= _SHARE_OF_OBJECTS and bool(always) and bool(set.intersection(*always))
