"""What the objects at a place are: a record, a map, or one of several variants that a tag tells apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import reduce
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple

from halflap.learn.merge import merge_places, merge_records, unnamed
from halflap.learn.names import TAG_RANKS

if TYPE_CHECKING:
    from halflap.learn.shape import Place, Record, Scalar, Tag, Tally

_CHANCE = 20
"""What comes about by chance once in this many cases is no rule. Doubling it needs more results to tell variants apart."""
_NAMES_OF_A_MAP = 24
"""Keys without numbers that come and go, at least, for them to be data. Doubling it leaves more maps as records."""
_NUMBERED_KEYS_OF_A_MAP = 4
"""The same for keys that differ in their numbers alone."""
_SHARE_THAT_CAME_ONCE = 0.75
_KEYS_IN_COMMON = 2
_FEWEST_OF_AN_ENUMERATION = 2
_REPEATED = 3
"""How often a value must be seen on average to be one of an enumeration."""
_NUMBER = re.compile(r"\d+").sub


class Variant(NamedTuple):
    """Objects that are alike."""

    record: Record
    key: str | None = None
    """The key that tells them from the others, if there are others."""
    values: Mapping[Scalar, Tally] = {}
    """What was seen under that key."""


def variants_of(place: Place) -> list[Variant]:
    """Return the variants of the objects at a place. Tags of records that do not differ make no variants."""
    groups: list[list[Tag | None]] = []
    for tag in sorted(place.records, key=lambda tag: _rank(place.records, tag)):
        key, record = _key(tag), place.records[tag]
        for group in groups:
            if _key(group[0]) == key and not any(_differ(record, place.records[one], {key}) for one in group):
                group.append(tag)
                break
        else:
            groups.append([tag])
    found = [_variant(place.records, group) for group in groups]
    if found and not any(
        _differ(one.record, other.record, {one.key, other.key}) for one, other in combinations(found, 2)
    ):
        found = [Variant(reduce(merge_records, (variant.record for variant in found)))]
    return [variant._replace(record=_with_map(variant.record)) for variant in found]


def repeated_values(place: Place) -> list[str]:
    """Return the strings at a place if they are an enumeration: each came with different arguments, again and again."""
    words = {value: tally for value, tally in (place.values or {}).items() if isinstance(value, str)}
    if len(words) < _FEWEST_OF_AN_ENUMERATION or any(tally.once is not None for tally in words.values()):
        return []
    return sorted(words) if sum(tally.times for tally in words.values()) >= _REPEATED * len(words) else []


def _rank(records: Mapping[Tag | None, Record], tag: Tag | None) -> tuple[int, int, str]:
    if tag is None:
        return len(TAG_RANKS) + 1, 0, ""
    return TAG_RANKS.get(tag.key, len(TAG_RANKS)), -records[tag].seen.times, repr(tag.value)


def _key(tag: Tag | None) -> str | None:
    return None if tag is None else tag.key


def _variant(records: Mapping[Tag | None, Record], tags: list[Tag | None]) -> Variant:
    record = reduce(merge_records, (records[tag] for tag in tags))
    values = {tag.value: records[tag].seen for tag in tags if tag is not None}
    return Variant(record, _key(tags[0]), values)


def _differ(one: Record, other: Record, tags: set[str | None]) -> bool:
    """Return whether two records are of different kinds, beyond their tags and beyond chance."""
    if one.crowded or other.crowded:
        return False
    mine, theirs = _own(one, other) - tags, _own(other, one) - tags
    times, others = one.seen.times, other.seen.times
    # Of many, there are at least as many ways to fall apart as there are objects; the exact number would be huge.
    is_sure = bool(times and others) and (times + others >= _CHANCE or comb(times + others, times) >= _CHANCE)
    if (mine and theirs) or (is_sure and (mine or theirs)):
        return True
    return any(
        _unlike(one.keys[name].place, other.keys[name].place, is_sure)
        for name in one.keys.keys() & other.keys.keys()
    )


def _own(one: Record, other: Record) -> set[str | None]:
    """Return the keys that the one always has and the other never."""
    return {name for name, key in one.keys.items() if not key.missing.times and name not in other.keys}


def _unlike(one: Place, other: Place, is_sure: bool) -> bool:
    mine, theirs = _families(one), _families(other)
    if mine & theirs:
        return False
    # A null may be a value that is not there.
    return is_sure or ({"null"} not in (mine, theirs) and bool(mine) and bool(theirs))


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
    """Find names that come and go and have the same under them.

    They are data if they differ in their numbers alone; if they have the same under them as keys that are data; or
    if there are many, most of which never came again: fields of a record do come again.
    """
    optional = {name: key.place for name, key in record.keys.items() if key.missing.times}
    numbered: dict[str, dict[str, Place]] = defaultdict(dict)
    for name, place in optional.items():
        numbered[_NUMBER("0", name)][name] = place
    many = [places for places in numbered.values() if len(places) >= _NUMBERED_KEYS_OF_A_MAP]
    found = {name for places in many if _are_alike(places.values()) for name in places}
    objects = {name: place for name, place in optional.items() if _families(place) == {"object"}}
    if record.rest is not None and _families(record.rest) == {"object"}:
        return found | {name for name, place in objects.items() if _are_alike([place, record.rest])}
    once = sum(_came_once(place, record) for place in objects.values())
    if len(objects) >= _NAMES_OF_A_MAP and once >= _SHARE_THAT_CAME_ONCE * len(objects):
        found |= set(objects) if _are_alike(objects.values()) else set()
    return found


def _came_once(place: Place, record: Record) -> bool:
    """Return whether it came with one call alone; if there was only one call, whether it came once."""
    return place.count == 1 if record.seen.once is not None else place.kinds["object"].once is not None


def _are_alike(places: Collection[Place]) -> bool:
    """Return whether places have the same kinds; objects must also share most of their keys, always."""
    if len({frozenset(_families(place)) for place in places}) > 1:
        return False
    records = [record for place in places for record in place.records.values()]
    if not records:
        return not any("object" in place.kinds for place in places)
    if any(record.crowded for record in records):
        return False
    always = [{name for name, key in record.keys.items() if not key.missing.times} for record in records]
    common, every = set.intersection(*always), set().union(*(record.keys for record in records))
    return len(common) >= max(_KEYS_IN_COMMON, len(every) / 2)
