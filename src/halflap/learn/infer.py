"""Infer the shape of many results at a time. It equals the shapes of the single results, merged.

Results are observed column by column: a column has the values of many results at one place, so a few calls of C functions
do most of the work. The digests of arguments are looked up only where something is new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache, reduce
from itertools import chain, compress, count, filterfalse, islice, repeat
from operator import contains, eq, not_
from typing import TYPE_CHECKING, Any, TypeVar

from halflap.learn.formats import all_have, format_of
from halflap.learn.merge import bounded, cut_below, merge_optional, merge_records
from halflap.learn.names import TAG_KEYS, TAG_RANKS, is_name, is_tag_value
from halflap.learn.shape import (
    DEEPEST,
    MOST_DIGESTS,
    MOST_KEYS,
    MOST_PLACES,
    MOST_VALUES,
    MOST_VARIANTS,
    Key,
    Place,
    Record,
    Sample,
    Shape,
    Tag,
    Tally,
)

if TYPE_CHECKING:
    Object = dict[Any, Any]
    Digests = int | Callable[[], Sequence[int]]
    """One for all values of a column, or a function that looks up one for each, which is rarely needed."""

_AT_ONCE = 2_048
"""Values in one column. Doubling it doubles the memory for a large result besides its shape: some 100 KB a level."""
_KIND_OF: dict[type, str] = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object",
}  # fmt: skip
"""The types that a JSON reader returns."""

_SCALARS = frozenset({str, bool, type(None)})

_T = TypeVar("_T")
_K = TypeVar("_K", bound=Hashable)


def infer(values: Iterable[Any], digests: Iterable[int] = repeat(0), *, keep_values: bool = False) -> Shape:
    """Return the shape of results, each with the digest of the arguments it answers."""
    observer = Observer(values=keep_values)
    pairs = list(zip(values, digests, strict=False))
    observer.observe([value for value, _ in pairs], [digest for _, digest in pairs])
    return observer.shape()


class Observer:
    """Observes any number of results; with `values`, strings that could be names are stored while they are few."""

    def __init__(self, *, values: bool = False) -> None:
        self._keeps_values = values
        self._root = Place()
        self._observations = 0
        self._digests: set[int] = set()
        self._times: list[float] = []
        self._deepest = DEEPEST
        self._created = [1] + [0] * DEEPEST
        """Places created on each level."""

    def observe(self, values: Sequence[Any], digests: Sequence[int], times: Sequence[float] = ()) -> None:
        """Count results, each with the digest of the arguments it answers; `times` are in seconds."""
        self._observations += len(values)
        self._digests.update(digests)
        if len(self._digests) > 8 * MOST_DIGESTS:
            self._digests = set(Sample.of(self._digests).digests)
        if times:
            self._times = [min([*self._times, *times]), max([*self._times, *times])]
        if values:
            self._column(self._root, values, _one_or_all(digests), 0)

    def shape(self) -> Shape:
        """Return the shape of everything observed. The observer must not be used afterwards."""
        first, last = self._times or (None, None)
        root, sample = cut_below(self._root, self._deepest), Sample.of(self._digests)
        return bounded(Shape(root, self._observations, sample, first, last, self._deepest))

    def _column(self, place: Place, values: Sequence[Any], digests: Digests, level: int) -> None:
        kinds = list(map(type, values))
        kind = kinds[0]
        if kinds.count(kind) < len(kinds):
            for _, some, whose in _split(values, digests, kinds):
                self._column(place, some, whose, level)
            return
        name = _KIND_OF.get(kind, "other")
        tally = place.kinds.get(name)
        if tally is None:
            tally = place.kinds[name] = Tally()
        tally.count(len(values), digests)
        if name == "string":
            self._texts(place, values, digests)
        elif kind is dict:
            self._objects(place, values, digests, level)
        elif kind is list and any(values):
            place.items = place.items or self._new_place(place, level + 1)
            self._flattened(place.items, values, digests, level + 1)

    def _texts(self, place: Place, texts: Sequence[str], digests: Digests) -> None:
        self._keep(place, texts, digests)
        if place.format is None:
            place.format = format_of(texts[0])
        if place.format and not all_have(place.format, texts):
            place.format = ""

    def _keep(self, place: Place, texts: Sequence[str], digests: Digests) -> None:
        """Store texts if all of them could be names and they are few."""
        # Mostly, the first text already shows that none is stored.
        if self._keeps_values and place.values is not None and is_name(texts[0]):
            different = place.values.keys() | texts
            if len(different) <= MOST_VALUES and all(map(is_name, different)):
                for text, some, whose in _split(texts, digests, texts):
                    place.values.setdefault(text, Tally()).count(len(some), whose)
                return
        place.values = None

    def _objects(self, place: Place, objects: Sequence[Object], digests: Digests, level: int) -> None:
        if level >= self._deepest:
            place.cut = place.cut or any(objects)
            return
        are_alike = _are_alike(objects)
        tags = [None] * len(objects) if place.mixed else _tags_of(objects, are_alike=are_alike)
        if len(place.records.keys() | set(tags)) > MOST_VARIANTS:
            place.records = {None: reduce(merge_records, place.records.values(), Record())}
            place.mixed = True
            tags = [None] * len(objects)
        for tag, some, whose in _split(objects, digests, tags):
            record = place.records.setdefault(tag, Record())
            self._record(place, record, some, whose, level + 1, are_alike=are_alike or _are_alike(some))

    def _record(
        self,
        place: Place,
        record: Record,
        rows: Sequence[Object],
        digests: Digests,
        level: int,
        *,
        are_alike: bool,
    ) -> None:
        """Count objects of one record, and split them into columns."""
        keys = rows[0].keys() if are_alike else set().union(*rows)
        before = replace(record.seen)
        record.seen.count(len(rows), digests)
        for name in _new_names(record, keys):
            new = self._new_place(place, level)
            if new is None:
                return
            record.keys[name] = Key(new, replace(before))
        names = record.keys.keys() & keys
        columns = _columns_of(rows, names, are_alike=are_alike and len(names) == len(keys))
        for name, key in record.keys.items():
            values, whose = columns.get(name, ()), digests
            if len(values) < len(rows):
                has = map(contains, rows, repeat(name))
                key.missing.count(len(rows) - len(values), _where(digests, map(not_, has)))
                whose = _where(digests, map(contains, rows, repeat(name)))
            if values:
                self._column(key.place, values, whose, level)
        if len(names) < len(keys):
            record.rest = record.rest or self._new_place(place, level)
            data: list[Collection[Any]] = list(map(dict.values, rows))
            if names:
                data = [[value for name, value in row.items() if name not in names] for row in rows]
            self._flattened(record.rest, data, digests, level)

    def _flattened(
        self,
        place: Place | None,
        collections: Sequence[Collection[Any]],
        digests: Digests,
        level: int,
    ) -> None:
        """Observe the items of arrays or objects, in parts, since there may be millions."""
        if place is None:
            return
        values = chain.from_iterable(collections)
        whose = _repeated(digests, collections)
        for start in count(0, _AT_ONCE):
            column = list(islice(values, _AT_ONCE))
            if not column:
                break
            self._column(place, column, _slice(whose, start, start + len(column)), level)

    def _new_place(self, above: Place, level: int) -> Place | None:
        """Make a place; if there is no room for it, drop this level and those below permanently."""
        if level <= self._deepest:
            self._created[level] += 1
            if sum(self._created[: level + 1]) > MOST_PLACES:
                self._deepest = level - 1
                _prune(self._root, self._deepest)
        if level <= self._deepest:
            return Place()
        above.cut = True
        return None


def _where(digests: Digests, picks: Iterable[bool]) -> Digests:
    return digests if isinstance(digests, int) else cache(lambda: list(compress(digests(), picks)))


def _slice(digests: Digests, start: int, stop: int) -> Digests:
    return digests if isinstance(digests, int) else lambda: digests()[start:stop]


def _repeated(digests: Digests, collections: Sequence[Collection[Any]]) -> Digests:
    """Return the digests of the items of collections."""
    if isinstance(digests, int):
        return digests
    return cache(lambda: list(chain.from_iterable(map(repeat, digests(), map(len, collections)))))


def _one_or_all(digests: Sequence[int]) -> Digests:
    return digests[0] if digests.count(digests[0]) == len(digests) else lambda: digests


def _split(
    values: Sequence[_T], digests: Digests, keys: Sequence[_K]
) -> Iterable[tuple[_K, Sequence[_T], Digests]]:
    """Split a column by a key for each value."""
    if keys.count(keys[0]) == len(keys):
        return [(keys[0], values, digests)]
    parts: defaultdict[_K, list[_T]] = defaultdict(list)
    for key, value in zip(keys, values, strict=True):
        parts[key].append(value)
    return [(key, some, _where(digests, map(eq, keys, repeat(key)))) for key, some in parts.items()]


def _are_alike(rows: Sequence[Object]) -> bool:
    """Return whether objects have the same keys in the same order."""
    return len(rows) == 1 or all(map(eq, map(list, rows), repeat(list(rows[0]))))


def _columns_of(
    rows: Sequence[Object], names: AbstractSet[Any], *, are_alike: bool
) -> dict[Any, Sequence[Any]]:
    """Return the values under names; with `are_alike`, all objects have the same keys, which are all names."""
    if are_alike:
        return dict(zip(rows[0], zip(*map(dict.values, rows), strict=True), strict=True))
    columns: dict[Any, list[Any]] = {name: [] for name in names}
    for row in rows if names else ():
        for name, value in row.items():
            if name in columns:
                columns[name].append(value)
    return dict(columns)


def _tags_of(rows: Sequence[Object], *, are_alike: bool) -> list[Tag | None]:
    keys = rows[0] if are_alike else chain.from_iterable(rows)
    tags: list[Tag | None] = [None] * len(rows)
    for key in sorted(TAG_KEYS.intersection(keys), key=TAG_RANKS.__getitem__, reverse=True):
        values: Sequence[Any] = list(map(dict.get, rows, repeat(key)))
        if not _SCALARS.issuperset(map(type, values)):
            # Others may be unhashable.
            values = [value if type(value) in _SCALARS else None for value in values]
        known = {value: Tag(key, value) for value in set(values) if is_tag_value(value)}
        tags = list(map(known.get, values, tags))
    return tags


def _new_names(record: Record, keys: AbstractSet[Any]) -> list[str]:
    """Return names that a record does not have yet; if it gets too many, turn all its keys into data."""
    names: list[str] = []
    if record.crowded:
        return names
    for key in filterfalse(record.keys.__contains__, keys):
        if is_name(key):
            names.append(key)
            if len(record.keys) + len(names) > MOST_KEYS:
                places = [key.place for key in record.keys.values()]
                record.rest = reduce(merge_optional, places, record.rest)
                record.keys, record.crowded = {}, True
                return []
    return names


def _prune(place: Place, levels: int) -> None:
    """Drop everything deeper than some levels below a place. Counting there may continue, without effect."""
    below = place.below()
    if levels:
        for inner in below:
            _prune(inner, levels - 1)
    else:
        place.cut = place.cut or bool(below)
        place.items, place.records, place.mixed = None, {}, False
