"""What the objects at a place are: a record, a map, or one of several variants that a tag tells apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from math import lgamma, log
from typing import TYPE_CHECKING, NamedTuple

from halflap.learn.merge import join_records, merge_places, merge_records, unnamed
from halflap.learn.names import TAG_RANKS
from halflap.learn.shape import Key, Record

if TYPE_CHECKING:
    from halflap.learn.shape import Place, Scalar, Tag, Tally

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
    """Objects that a tag tells from the others at their place."""

    record: Record
    own: frozenset[str]
    """The keys that are its own; all other keys are described by what was seen in all variants."""
    key: str | None
    """The key of the tag; None for objects without a tag."""
    values: Mapping[Scalar, Tally]
    """What was seen under that key."""


class Objects(NamedTuple):
    """The objects at a place."""

    every: Record
    """What was seen of all of them."""
    variants: Sequence[Variant] = ()
    """None, or at least two."""

    @property
    def shared(self) -> dict[str, Key]:
        """The keys that all variants describe alike."""
        own = set().union(*(variant.own for variant in self.variants))
        return {name: key for name, key in self.every.keys.items() if name not in own}


def objects_of(place: Place) -> Objects:
    """Tell the objects at a place apart by their tags; tags of objects that do not differ make no variants."""
    groups: list[list[Tag | None]] = []
    for tag in sorted(place.records, key=lambda tag: _rank(place.records, tag)):
        key, record = _key(tag), place.records[tag]
        for group in groups:
            if _key(group[0]) == key and not any(_differ(record, place.records[one], {key}) for one in group):
                group.append(tag)
                break
        else:
            groups.append([tag])
    records = [reduce(merge_records, (place.records[tag] for tag in group)) for group in groups]
    pairs = combinations(zip(records, groups, strict=True), 2)
    if any(record.crowded for record in records) or not any(
        _differ(one, other, {_key(mine[0]), _key(theirs[0])}) for (one, mine), (other, theirs) in pairs
    ):
        return Objects(_with_map(reduce(merge_records, records or [Record()])))
    data = set().union(*map(_data_among, records))
    records = [_without(record, data) for record in records]
    every = reduce(join_records, records)
    own = _own_keys(records, every) | {_key(group[0]) for group in groups if group[0] is not None}
    return Objects(
        every,
        [
            Variant(
                _completed(record, every, records, own),
                frozenset(record.keys.keys() & own),
                _key(group[0]),
                {tag.value: place.records[tag].seen for tag in group if tag is not None},
            )
            for record, group in zip(records, groups, strict=True)
        ],
    )


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


def _own_keys(records: Sequence[Record], every: Record) -> set[str | None]:
    """Find the keys that one variant alone has, or that have other types in another one."""
    found: set[str | None] = set()
    for name in every.keys:
        places = [record.keys[name].place for record in records if name in record.keys]
        if len(places) == 1 or any(_unlike(*pair, len(every.keys)) for pair in combinations(places, 2)):
            found.add(name)
    return found


def _completed(
    record: Record, every: Record, records: Sequence[Record], own: Collection[str | None]
) -> Record:
    """Describe the keys of a variant by what was seen in all variants, except where it surely differs.

    A rare variant would otherwise be described by very few objects.
    """
    exclusive = {name for other in records if _own(other, record) for name in _own(record, other)}

    def key_of(name: str, key: Key) -> Key:
        missing, place = every.keys[name].missing, every.keys[name].place
        if (
            key.missing.times
            or name in exclusive
            or _is_sure(record.seen.times, every.seen.times, missing.times, len(every.keys))
        ):
            missing = key.missing
        return Key(key.place if name in own else place, missing)

    keys = {name: key_of(name, key) for name, key in record.keys.items()}
    return replace(record, keys=keys, rest=every.rest)


def _differ(one: Record, other: Record, tags: set[str | None]) -> bool:
    """Return whether two records are of different kinds, beyond their tags and beyond chance."""
    if one.crowded or other.crowded:
        return False
    mine, theirs = _own(one, other) - tags, _own(other, one) - tags
    names = (one.keys.keys() | other.keys.keys()) - tags
    times = one.seen.times
    if (mine and theirs) or (
        (mine or theirs) and _is_sure(times, times + other.seen.times, other.seen.times, len(names))
    ):
        return True
    return any(
        _unlike(one.keys[name].place, other.keys[name].place, len(names))
        for name in one.keys.keys() & other.keys.keys() - tags
    )


def _is_sure(times: int, every: int, missing: int, tests: int) -> bool:
    """Return whether it is no chance that none of these objects misses a key that so many of all objects miss.

    If those that miss it were drawn at random, that would happen in so many of all cases. The more keys are looked at,
    the more often one of them looks like a rule by chance.
    """
    if not missing or not times:
        return False
    # How many ways there are to choose the missing ones, from all objects and from the others.
    ways = lgamma(every + 1) - lgamma(every - missing + 1)
    ways -= lgamma(every - times + 1) - lgamma(every - times - missing + 1)
    return ways >= log(_CHANCE * tests)


def _own(one: Record, other: Record) -> set[str | None]:
    """Return the keys that the one always has and the other never."""
    return {name for name, key in one.keys.items() if not key.missing.times and name not in other.keys}


def _unlike(one: Place, other: Place, tests: int) -> bool:
    mine, theirs = _families(one), _families(other)
    if mine & theirs:
        return False
    # A null may be a value that is not there.
    return {"null"} not in (mine, theirs) or _is_sure(one.count, one.count + other.count, other.count, tests)


def _families(place: Place) -> set[str]:
    return {"number" if kind == "integer" else kind for kind in place.kinds}


def _with_map(record: Record) -> Record:
    return _without(record, _data_among(record))


def _without(record: Record, data: Collection[str]) -> Record:
    """Take names for data."""
    places = [unnamed(record.keys[name].place) for name in data if name in record.keys]
    if not places:
        return record
    merged = reduce(merge_places, places)
    return replace(
        record,
        keys={name: key for name, key in record.keys.items() if name not in data},
        rest=merged if record.rest is None else merge_places(record.rest, merged),
    )


def _data_among(record: Record) -> set[str]:
    """Find names that come and go and have the same under them.

    They are data if they differ in their numbers alone; if they have the same under them as keys that are data; or
    if there are many, most of which never came again: fields of a record do come again. In doubt they are names.
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
