"""Observe results, fast; the shape equals that of every single result, merged.

Results are read column by column. A column has the values at one place, of all results that are observed together, each with
the digest of the arguments that its result answers. Objects with the same keys are split into columns at once, so most of the
work is a few calls for each column.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

from halflap.learn.columns import columns_of, flattened, joined, split, values_of
from halflap.learn.formats import all_have, common_format
from halflap.learn.merge import bounded, cut_below, merge, merge_optional, merge_records, unnamed
from halflap.learn.names import TAG_KEYS, TAG_RANKS, Unkept, is_name, is_tag_value
from halflap.learn.shape import (
    DEEPEST,
    LONGEST_TEXT,
    MOST_DIGESTS,
    MOST_KEYS,
    MOST_PLACES,
    MOST_VALUES,
    MOST_VARIANTS,
    NOTHING,
    Key,
    Place,
    Record,
    Sample,
    Scalar,
    Shape,
    Tag,
    Tally,
)

if TYPE_CHECKING:
    from halflap.learn.columns import Column, Digests, Group, Object

_DIGESTS = 1 << 64
_AT_ONCE = 8_192
"""Items of arrays in one column. Doubling it doubles what a long array takes beside its shape, about 1 MB a level."""
_DATA = "\0"
"""Instead of a name: the key of values under keys that are data, none of which are kept."""
_KIND_OF: dict[type, str] = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object",
    Unkept: "string",
}  # fmt: skip
"""The types that a JSON reader returns, and texts that are not to be kept."""


def infer(values: Iterable[Any], digests: Iterable[int] = repeat(0), *, keep_values: bool = False) -> Shape:
    """Return the shape of results, each with the digest of the arguments it answers."""
    observer = Observer(values=keep_values)
    pairs = list(zip(values, digests, strict=False))
    observer.observe_all([value for value, _ in pairs], [digest for _, digest in pairs])
    return observer.shape()


class Observer:
    """Observes any number of results; with `values`, short strings are kept while they are few."""

    def __init__(self, *, values: bool = False) -> None:
        self._keeps_all = values
        self._begin(NOTHING)

    def _begin(self, before: Shape) -> None:
        self._before = before
        """What was observed before this."""
        self._root = Place()
        self._observations = 0
        self._digests: set[int] = set()
        self._times: list[float] = []
        self._deepest = before.depth
        self._made = [1] + [0] * DEEPEST
        """How many places were made on each level."""
        self._unchecked: defaultdict[str, list[tuple[Place, Sequence[str]]]] = defaultdict(list)
        """Texts at places that have a format, by that format."""

    def observe(self, value: Any, digest: int = 0, at: float | None = None) -> None:
        """Count one result: `digest` is that of the arguments it answers, `at` is when, in seconds."""
        self.observe_all([value], [digest], [] if at is None else [at])

    def observe_all(self, values: Sequence[Any], digests: Sequence[int], times: Sequence[float] = ()) -> None:
        """Count results, each with its digest. Many at once take a fraction of the time."""
        own = [digest % _DIGESTS for digest in digests]
        self._observations += len(own)
        self._digests.update(own)
        if len(self._digests) > 8 * MOST_DIGESTS:
            self._digests = set(Sample.of(self._digests).digests)
        if times:
            self._times = [min([*self._times, *times]), max([*self._times, *times])]
        if own:
            self._column(self._root, values, own, 0, None)
            self._check_formats()

    def shape(self) -> Shape:
        """Return what was observed so far; more can be observed afterwards."""
        if self._observations:
            first, last = self._times or (None, None)
            root = cut_below(self._root, self._deepest)
            seen = Shape(root, self._observations, Sample.of(self._digests), first, last, self._deepest)
            self._begin(merge(self._before, bounded(seen)))
        return self._before

    def _column(
        self, place: Place, values: Sequence[Any], digests: Digests, level: int, key: str | None
    ) -> None:
        kinds = set(map(type, values))
        if len(kinds) > 1:
            for _, some, whose in split(values, digests, list(map(type, values))):
                self._column(place, some, whose, level, key)
            return
        kind = kinds.pop()
        name = _KIND_OF.get(kind, "other")
        tally = place.kinds.get(name)
        if tally is None:
            tally = place.kinds[name] = Tally()
        if tally.once is None and tally.times:
            tally.times += len(values)
        else:
            tally.count(len(values), digests)
        if name == "string":
            self._texts(place, values, digests, key)
        elif kind is dict:
            self._objects(place, values, digests, level)
        elif kind is list:
            self._arrays(place, values, digests, level)
        elif kind is bool and key in TAG_KEYS:
            self._keep(place, values, digests, key)

    def _texts(self, place: Place, texts: Sequence[str], digests: Digests, key: str | None) -> None:
        if type(texts[0]) is Unkept:
            place.values = None
        if place.values is not None:
            self._keep(place, texts, digests, key)
        if place.format is None:
            place.format = common_format(texts)
        elif place.format:
            self._unchecked[place.format].append((place, texts))

    def _check_formats(self) -> None:
        """Check all texts together that should have the same format: that takes a fraction of the time."""
        for name, columns in self._unchecked.items():
            if not all_have(name, list(chain.from_iterable(texts for _, texts in columns))):
                for place, texts in columns:
                    if not all_have(name, texts):
                        place.format = ""
        self._unchecked.clear()

    def _keep(self, place: Place, values: Sequence[Scalar], digests: Digests, key: str | None) -> None:
        """Keep values if all may be kept and they are few."""
        if place.values is None:
            return
        counts = Counter(values)
        new = [value for value in counts if value not in place.values]
        if len(place.values) + len(new) > MOST_VALUES or not all(self._may_keep(value, key) for value in new):
            place.values = None
            return
        for value, times in counts.items():
            tally = place.values.setdefault(value, Tally())
            whose = digests
            if not tally.has_several:
                whose = [digest for digest, one in zip(digests, values, strict=True) if one == value]
            tally.count(times, whose)

    def _may_keep(self, value: Scalar, key: str | None) -> bool:
        if key in TAG_KEYS and is_tag_value(value):
            return True
        if not self._keeps_all or key == _DATA:
            return False
        return type(value) is str and len(value) <= LONGEST_TEXT and value.isprintable()

    def _arrays(self, place: Place, arrays: Sequence[list[Any]], digests: Digests, level: int) -> None:
        if not any(arrays):
            return
        if place.items is None:
            if not self._take(level + 1):
                place.cut = True
                return
            place.items = Place()
        items = place.items
        # Not all at once: an array may have millions of items.
        values, whose = flattened(arrays, digests)
        while column := list(islice(values, _AT_ONCE)):
            self._column(items, column, list(islice(whose, _AT_ONCE)), level + 1, None)

    def _objects(self, place: Place, objects: Sequence[Object], digests: Digests, level: int) -> None:
        if level >= self._deepest:
            place.cut = place.cut or any(objects)
            return
        plain = place.records.get(None)
        if plain is not None and plain.crowded:
            # Nothing but their tags can tell such objects apart.
            keys = [() if place.mixed or TAG_KEYS.isdisjoint(one) else tuple(one) for one in objects]
        else:
            keys = list(map(tuple, objects))
        by_tag: dict[Any, list[Group]] = defaultdict(list)
        for alike, rows, whose in split(objects, digests, keys):
            if place.mixed or TAG_KEYS.isdisjoint(alike):
                by_tag[None].append((alike, rows, whose))
                continue
            for tag, some, own in split(rows, whose, _tags_of(rows)):
                by_tag[tag].append((alike, some, own))
        if not place.mixed and len(place.records.keys() | by_tag) > MOST_VARIANTS:
            self._check_formats()
            place.records = {None: reduce(merge_records, place.records.values(), Record())}
            place.mixed = True
            by_tag = {None: list(chain.from_iterable(by_tag.values()))}
        for tag, groups in by_tag.items():
            if tag not in place.records:
                place.records[None if tag is None else Tag(*tag)] = Record()
            self._record(place, place.records[tag], groups, level)

    def _record(self, place: Place, record: Record, groups: list[Group], level: int) -> None:
        """Count objects of one record, and split them into columns."""
        before = record.seen
        record.seen = Tally(before.times, before.once)
        for _, rows, digests in groups:
            record.seen.count(len(rows), digests)
        names = [] if record.crowded else _new_names(record, groups)
        if len(record.keys) + len(names) > MOST_KEYS:
            self._check_formats()
            _crowd(record)
            names = []
        for name in names:
            if not self._take(level + 1):
                place.cut = True
                return
            record.keys[name] = Key(Place(), Tally(before.times, before.once))
        # Most often all objects have the same keys; then there is nothing to join.
        data = (
            self._alike(record, groups[0], level) if len(groups) == 1 else self._mixed(record, groups, level)
        )
        if data:
            if record.rest is None:
                if not self._take(level + 1):
                    place.cut = True
                    return
                record.rest = Place()
            self._column(record.rest, *joined(data), level + 1, _DATA)

    def _alike(self, record: Record, group: Group, level: int) -> list[Column]:
        """Observe objects with the same keys, and return what they have under keys that are data."""
        names, rows, digests = group
        known = record.keys
        for name in known.keys() - names if known.keys() != set(names) else ():
            known[name].missing.count(len(rows), digests)
        if known.keys().isdisjoint(names):
            return values_of(rows, digests)
        data: list[Column] = []
        for name, values in zip(names, zip(*map(dict.values, rows), strict=True), strict=True):
            if name in known:
                self._column(known[name].place, values, digests, level + 1, name)
            else:
                data.append((values, digests))
        return data

    def _mixed(self, record: Record, groups: list[Group], level: int) -> list[Column]:
        """Observe objects with different keys, and return what they have under keys that are data."""
        columns, data = columns_of(groups, record.keys)
        _count_missing(record, groups, columns)
        for name, column in columns.items():
            self._column(record.keys[name].place, *column, level + 1, name)
        return data

    def _take(self, level: int) -> bool:
        """Take room for one more place; if there is none, this level and those below are dropped for good."""
        if level > self._deepest:
            return False
        self._made[level] += 1
        if sum(self._made[: level + 1]) > MOST_PLACES:
            self._deepest = level - 1
            _prune(self._root, self._deepest)
        return level <= self._deepest


def _count_missing(record: Record, groups: Sequence[Group], columns: Mapping[Any, Column]) -> None:
    """Count for each name of a record the objects that do not have it."""
    everyone = list(chain.from_iterable(digests for _, _, digests in groups))
    is_of_one = everyone.count(everyone[0]) == len(everyone)
    for name, (_, missing) in record.keys.items():
        times = len(everyone) - (len(columns[name][0]) if name in columns else 0)
        if times and (is_of_one or missing.has_several):
            missing.count(times, everyone)
        elif times:
            for keys, rows, digests in groups:
                if name not in keys:
                    missing.count(len(rows), digests)


def _tags_of(rows: Sequence[Object]) -> list[tuple[str, Scalar] | None]:
    """Return the tags of objects with the same keys."""
    tags: list[tuple[str, Scalar] | None] = [None] * len(rows)
    for key in sorted(TAG_KEYS.intersection(rows[0]), key=TAG_RANKS.__getitem__):
        values = [row[key] for row in rows]
        if set(map(type, values)) == {str}:
            # Most often the same few words.
            known = {value: (key, value) if is_tag_value(value) else None for value in set(values)}
            found = [known[value] for value in values]
        else:
            found = [(key, value) if is_tag_value(value) else None for value in values]
        tags = [tag or other for tag, other in zip(tags, found, strict=True)]
        if None not in tags:
            break
    return tags


def _new_names(record: Record, groups: Sequence[Group]) -> list[str]:
    """Return names that a record does not have yet; of too many, only enough to show that."""
    found: dict[str, None] = {}
    for keys, _, _ in groups:
        for key in keys:
            if key not in record.keys and key not in found and is_name(key):
                found[key] = None
                if len(record.keys) + len(found) > MOST_KEYS:
                    return list(found)
    return list(found)


def _crowd(record: Record) -> None:
    """Take all names for data from now on; they are too many."""
    places = [unnamed(key.place) for key in record.keys.values()]
    record.rest = reduce(merge_optional, places, record.rest)
    record.keys, record.crowded = {}, True


def _prune(place: Place, levels: int) -> None:
    """Drop everything deeper than some levels below a place. What is still being counted there has no effect."""
    below = place.below()
    if levels:
        for inner in below:
            _prune(inner, levels - 1)
    else:
        place.cut = place.cut or bool(below)
        place.items, place.records, place.mixed = None, {}, False
