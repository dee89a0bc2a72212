"""What the objects at a place are: a record, a map, or one of several variants, distinguished by a tag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations
from math import lgamma, log
from typing import TYPE_CHECKING, NamedTuple

from halflap.learn.merge import join_records, merge_optional, merge_records
from halflap.learn.names import TAG_RANKS
from halflap.learn.shape import Key, Record

if TYPE_CHECKING:
    from halflap.learn.shape import Place, Scalar, Tag, Tally

_CHANCE = 20
"""A rule must not hold by chance in more than one of this many cases. Doubling it needs more results to find variants."""
_MIN_COMMON_KEYS = 2
_MIN_ENUM_VALUES = 2
_MIN_REPETITIONS = 8
"""How often the values of an enumeration must be seen on average. With half as many, a few logins that repeat would be one."""
_MAX_ALIKE_KEYS = 96
"""More keys are data if their values are alike, or have one type and may be missing. Doubling it shows larger maps as records."""
_NULL = frozenset({"null"})


class Variant(NamedTuple):
    """Objects that a tag tells from the others at their place."""

    record: Record
    key: str | None
    """The key of the tag; None for objects without a tag."""
    values: Mapping[Scalar, Tally]
    """What was seen under that key."""
    own: frozenset[str] = frozenset()
    """The keys that only this variant describes; all others are described by what was seen in all variants."""


class Objects(NamedTuple):
    """The objects at a place."""

    every: Record
    """What was seen of all of them."""
    variants: Sequence[Variant] = ()
    """Empty, or at least two."""

    @property
    def shared(self) -> dict[str, Key]:
        """The keys that mean the same in all variants."""
        own = set().union(*(variant.own for variant in self.variants))
        return {name: key for name, key in self.every.keys.items() if name not in own}


def objects_of(place: Place) -> Objects:
    """Group the objects at a place by tag, where objects with different tags differ."""
    found: list[Variant] = []
    for tag in sorted(place.records, key=lambda tag: _rank(place.records, tag)):
        record = place.records[tag]
        new = Variant(record, *((None, {}) if tag is None else (tag.key, {tag.value: record.seen})))
        same = next((one for one in found if one.key == new.key and not _differ(one, new)), None)
        if same is None:
            found.append(new)
        else:
            both = merge_records(same.record, record)
            found[found.index(same)] = Variant(both, new.key, {**same.values, **new.values})
    records = [variant.record for variant in found]
    if any(record.crowded for record in records) or not any(
        _differ(*pair) for pair in combinations(found, 2)
    ):
        every = reduce(merge_records, records or [Record()])
        return Objects(_without(every, _data_among(every)))
    data = set().union(*map(_data_among, records))
    records = [_without(record, data) for record in records]
    every = reduce(join_records, records)
    own = _own_keys(records, every) | {variant.key for variant in found}
    variants = [
        variant._replace(
            record=_completed(record, variant.key, every, own), own=frozenset(record.keys.keys() & own)
        )
        for variant, record in zip(found, records, strict=True)
    ]
    return Objects(every, variants)


def repeated_values(place: Place) -> list[str]:
    """Return the strings at a place if they are an enumeration: few, and each was seen for different arguments."""
    values = place.values or {}
    if len(values) < _MIN_ENUM_VALUES or any(tally.once is not None for tally in values.values()):
        return []
    times = sum(tally.times for tally in values.values())
    return sorted(values) if times >= _MIN_REPETITIONS * len(values) else []


# Variants


def _rank(records: Mapping[Tag | None, Record], tag: Tag | None) -> tuple[int, int, str]:
    if tag is None:
        return len(TAG_RANKS) + 1, 0, ""
    return TAG_RANKS.get(tag.key, len(TAG_RANKS)), -records[tag].seen.times, repr(tag.value)


def _differ(one: Variant, other: Variant) -> bool:
    """Return whether the objects of two variants differ beyond their tags, and beyond chance."""
    if one.record.crowded or other.record.crowded:
        return False
    keys, others = (
        {name: key for name, key in variant.record.keys.items() if name not in {one.key, other.key}}
        for variant in (one, other)
    )
    tests = len(keys | others)
    mine, theirs = _exclusive(keys, others), _exclusive(others, keys)
    times, other_times = one.record.seen.times, other.record.seen.times
    if (mine and theirs) or ((mine or theirs) and _is_rule(times, times + other_times, other_times, tests)):
        return True
    return any(
        _unlike(_typed(keys[name]), _typed(others[name]), tests) for name in keys.keys() & others.keys()
    )


def _typed(key: Key) -> tuple[frozenset[str], int]:
    return _types(key.place), key.place.count


def _exclusive(keys: Mapping[str, Key], others: Mapping[str, Key]) -> set[str]:
    """Return the keys that some objects always have and others never."""
    return {name for name, key in keys.items() if not key.missing.times and name not in others}


def _unlike(one: tuple[frozenset[str], int], other: tuple[frozenset[str], int], tests: int) -> bool:
    """Return whether values with these types and counts are of different kinds."""
    (mine, times), (theirs, other_times) = one, other
    if mine & theirs:
        return False
    # A null may be a value that is missing.
    return _NULL not in (mine, theirs) or _is_rule(times, times + other_times, other_times, tests)


def _types(place: Place) -> frozenset[str]:
    return frozenset("number" if kind == "integer" else kind for kind in place.kinds)


def _is_rule(times: int, every: int, missing: int, tests: int) -> bool:
    """Return whether it is beyond chance that none of these objects lacks a key, which `missing` of `every` objects lack.

    This is Fisher's exact test: if the objects without the key were drawn at random, how often would all of them be among the
    others? The more keys are tested, the more often one of them passes by chance.
    """
    if not missing or not times:
        return False
    ways = lgamma(every + 1) - lgamma(every - missing + 1)
    ways -= lgamma(every - times + 1) - lgamma(every - times - missing + 1)
    return ways >= log(_CHANCE * tests)


def _own_keys(records: Sequence[Record], every: Record) -> set[str | None]:
    """Find the keys that one variant alone has, or that have other types in another variant."""
    found: set[str | None] = set()
    for name in every.keys:
        places = [record.keys[name].place for record in records if name in record.keys]
        seen: Counter[frozenset[str]] = Counter()
        for place in places:
            seen[_types(place)] += place.count
        if len(places) == 1 or any(_unlike(*pair, len(every.keys)) for pair in combinations(seen.items(), 2)):
            found.add(name)
    return found


def _completed(record: Record, tag: str | None, every: Record, own: Collection[str | None]) -> Record:
    """Describe the keys of a variant by what was seen in all variants, except where it surely differs.

    Otherwise, a rare variant would be described by very few objects.
    """
    keys = {}
    for name, (place, missing) in record.keys.items():
        of_all = every.keys[name]
        is_required = not missing.times and (
            name == tag
            or _is_rule(record.seen.times, every.seen.times, of_all.missing.times, len(every.keys))
        )
        keys[name] = Key(
            place if name in own else of_all.place,
            missing if missing.times or is_required else of_all.missing,
        )
    return replace(record, keys=keys, rest=every.rest)


# Maps


def _without(record: Record, data: Collection[str]) -> Record:
    """Move keys that are data to `rest`."""
    places = (record.keys[name].place for name in data if name in record.keys)
    keys = {name: key for name, key in record.keys.items() if name not in data}
    return replace(record, keys=keys, rest=reduce(merge_optional, places, record.rest))


def _data_among(record: Record) -> set[str]:
    """Find names that are data: very many alike, or a few ids that look like names, with values like those of the others."""
    every = {name: key.place for name, key in record.keys.items()}
    optional = {name: place for name, place in every.items() if record.keys[name].missing.times}
    if len(every) > _MAX_ALIKE_KEYS and _are_alike(*every.values()):
        return {*every}
    types = frozenset[str]().union(*map(_types, optional.values())) - _NULL
    if len(optional) > _MAX_ALIKE_KEYS and len(types) <= 1:
        return {*optional}
    rest = record.rest
    return set() if rest is None else {name for name, place in optional.items() if _are_alike(place, rest)}


def _are_alike(*places: Place) -> bool:
    """Return whether all places have only objects, which always share most of their keys."""
    if any(place.kinds.keys() != {"object"} for place in places):
        return False
    records = [record for place in places for record in place.records.values()]
    if any(record.crowded for record in records):
        return False
    always = [{name for name, key in record.keys.items() if not key.missing.times} for record in records]
    common, every = set.intersection(*always), set().union(*(record.keys for record in records))
    return len(common) >= max(_MIN_COMMON_KEYS, len(every) / 2)
