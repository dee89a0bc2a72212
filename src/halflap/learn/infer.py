"""Observe results, fast; the shape is the same as that of every single result, merged.

Objects with the same keys and types have one layout, which says what must be looked at in them: most numbers, and texts
whose place has no format left to lose, need no look at all. Everything else about an object is counted by its layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import reduce
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any

from halflap.learn.formats import ALL, format_of
from halflap.learn.layout import KIND_OF, MATCHER_OF, WIDEST, Group, Layout, fold, keep, known_layout
from halflap.learn.merge import (
    bounded,
    cut_below,
    merge,
    merge_formats,
    merge_optional,
    merge_records,
    unnamed,
)
from halflap.learn.names import TAG_KEYS, TAG_RANKS, Unkept, is_name, is_tag_value
from halflap.learn.shape import (
    DEEPEST,
    LONGEST_VALUE,
    MOST_DIGESTS,
    MOST_KEYS,
    MOST_PLACES,
    MOST_VARIANTS,
    NEVER,
    NOTHING,
    Formats,
    Key,
    Place,
    Record,
    Sample,
    Shape,
    Tag,
    Tally,
    add,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.learn.layout import Visit
    from halflap.learn.shape import Scalar


__all__ = ["Observer", "infer"]

MOST_LAYOUTS = 4_000
"""Layouts remembered at once. Doubling it doubles what irregular results take beside their shape, about 4 MB."""
MOST_AT_ONCE = 8_192
"""Items of arrays in one column. Doubling it doubles what a long array takes beside its shape, about 1 MB a level."""
_DIGESTS = 1 << 64
_DATA = "\0"
"""Instead of a name: the key of values under keys that are data, none of which are kept."""


def infer(values: Iterable[Any], digests: Iterable[int] = repeat(0), *, keep_values: bool = False) -> Shape:
    """Return the shape of results, each with the digest of the arguments it answers."""
    observer = Observer(values=keep_values)
    for value, digest in zip(values, digests, strict=False):
        observer.observe(value, digest)
    return observer.shape()


class Observer:
    """Observes any number of results; with `values`, short strings are kept while they are few."""

    def __init__(self, *, values: bool = False) -> None:
        self._keeps_all = values
        self._visits: dict[type, Visit] = {
            dict: self._objects,
            list: self._arrays,
            str: self._texts,
            bool: self._booleans,
            object: self._column,
        }
        self._begin(NOTHING)

    def _begin(self, before: Shape) -> None:
        self._before = before
        """What was observed before this."""
        self._root = Place()
        self._observations = 0
        self._digests: set[int] = set()
        self._first: float | None = None
        self._last: float | None = None
        self._digest = 0
        """That of the result that is being looked at."""
        self._deepest = before.depth
        self._made = [1] + [0] * DEEPEST
        """How many places were made on each level."""
        self._layouts = 0

    def observe(self, value: Any, digest: int = 0, at: float | None = None) -> None:
        """Count one result: `digest` is that of the arguments it answers, `at` is when, in seconds."""
        digest = self._digest = digest % _DIGESTS
        self._observations += 1
        self._digests.add(digest)
        if len(self._digests) > 8 * MOST_DIGESTS:
            self._digests = set(Sample.of(self._digests).digests)
        if at is not None:
            self._first = at if self._first is None else min(self._first, at)
            self._last = at if self._last is None else max(self._last, at)
        self._column(self._root, (value,), 0, None)

    def shape(self) -> Shape:
        """Return what was observed so far; more can be observed afterwards."""
        if self._observations:
            fold(self._root)
            root = cut_below(self._root, self._deepest)
            sample = Sample.of(self._digests)
            seen = Shape(root, self._observations, sample, self._first, self._last, self._deepest)
            self._begin(merge(self._before, bounded(seen)))
        return self._before

    def _column(self, place: Place, values: Sequence[Any], level: int, key: str | None) -> None:
        """Count values that one result has at the same place."""
        kinds = set(map(type, values))
        by_kind: dict[type, Sequence[Any]] = dict.fromkeys(kinds, values)
        if len(kinds) > 1:
            lists: dict[type, list[Any]] = {kind: [] for kind in kinds}
            for one in values:
                lists[type(one)].append(one)
            by_kind.update(lists)
        for kind, alike in by_kind.items():
            name = KIND_OF.get(kind)
            if name is None:
                self._odd(place, alike, level, key)
                continue
            if name not in place.kinds:
                place.kinds[name] = Tally()
            place.kinds[name].count(len(alike), self._digest)
            visit = self._visits.get(kind)
            if visit is not None:
                visit(place, alike, level, key)

    def _odd(self, place: Place, values: Sequence[Any], level: int, key: str | None) -> None:
        """Count values of a type that no JSON reader returns."""
        plain = list(map(_as_json, values))
        if type(plain[0]) in KIND_OF:
            self._column(place, plain, level, key)
        else:
            place.kinds.setdefault("other", Tally()).count(len(values), self._digest)
        if any(isinstance(one, Unkept) for one in values):
            place.values = None

    def _booleans(self, place: Place, values: Sequence[bool], _: int, key: str | None) -> None:
        if key in TAG_KEYS:
            self._keep_all(place, values, key)

    def _texts(self, place: Place, texts: Sequence[str], _: int, key: str | None) -> None:
        if place.values is not None:
            self._keep_all(place, texts, key)
        kept, once = place.formats or (ALL, {})
        if not kept and (not once or [*once] == [self._digest]):
            # Nothing that these arguments still bring is news.
            return
        matcher = MATCHER_OF.get(kept) if not once else None
        if matcher is not None and all(map(matcher, texts)):
            return
        has = ALL
        for text in texts:
            has &= format_of(text)
            if not has:
                break
        place.formats = merge_formats(place.formats, Formats(has, {self._digest: ALL & ~has}))

    def _keep_all(self, place: Place, values: Sequence[Scalar], key: str | None) -> None:
        """Keep values if all may be kept and they are few."""
        for value in values:
            if place.values is None:
                return
            if value in place.values or self._may_keep(value, key):
                keep(place, value, Tally(1, self._digest))
            else:
                place.values = None

    def _may_keep(self, value: Scalar, key: str | None) -> bool:
        if key in TAG_KEYS and is_tag_value(value):
            return True
        if not self._keeps_all or key == _DATA:
            return False
        return type(value) is str and len(value) <= LONGEST_VALUE and value.isprintable()

    def _arrays(self, place: Place, arrays: Sequence[list[Any]], level: int, _: str | None) -> None:
        if not any(arrays):
            return
        if place.items is None:
            if not self._take(level + 1):
                place.cut = True
                return
            place.items = Place()
        if len(arrays) == 1 and len(arrays[0]) <= MOST_AT_ONCE:
            self._column(place.items, arrays[0], level + 1, None)
            return
        # A few at a time: a column must not take memory as an array of millions does.
        inner, items = place.items, chain.from_iterable(arrays)
        while column := list(islice(items, MOST_AT_ONCE)):
            self._column(inner, column, level + 1, None)

    def _objects(self, place: Place, objects: Sequence[dict[Any, Any]], level: int, _: str | None) -> None:
        plain = place.records.get(None)
        if plain is not None and plain.crowded:
            # Nothing but their tags can tell such objects apart.
            crowd = [one for one in objects if place.mixed or TAG_KEYS.isdisjoint(one)]
            self._maps(place, plain, crowd, level)
            objects = [one for one in objects if not (place.mixed or TAG_KEYS.isdisjoint(one))]
        if len(objects) == 1:
            layout = known_layout(place, objects[0]) or self._layout(place, objects[0], level)
            if layout is not None:
                self._row(place, layout, objects[0], level)
            return
        found: dict[Layout, list[dict[Any, Any]]] = {}
        for one in objects:
            layout = known_layout(place, one)
            if layout is None:
                # What is new may change what was found before.
                self._rows(place, found, level)
                found = {}
                layout = self._layout(place, one, level)
            if layout in found:
                found[layout].append(one)
            elif layout is not None:
                found[layout] = [one]
        self._rows(place, found, level)

    def _row(self, place: Place, layout: Layout, one: dict[Any, Any], level: int) -> None:
        """Count an object by its layout, and visit what has to be looked at."""
        layout.count(1, self._digest)
        for key, inner, fits in layout.checks:
            if not fits(one[key]):
                self._texts(inner, (one[key],), level, key)
        for key, inner, visit in layout.inner:
            visit(inner, (one[key],), level + 1, key)
        if layout.data:
            self._rest(place, layout.record, [one[key] for key in layout.data], level)

    def _rows(self, place: Place, found: dict[Layout, list[dict[Any, Any]]], level: int) -> None:
        """Do the same with many objects at once."""
        # All are counted first: a visit may fold the layouts, and then they are no longer those of the place.
        for layout, rows in found.items():
            layout.count(len(rows), self._digest)
        for layout, rows in found.items():
            for key, inner, fits in layout.checks:
                texts = [row[key] for row in rows]
                if not all(map(fits, texts)):
                    self._texts(inner, texts, level, key)
            for key, inner, visit in layout.inner:
                visit(inner, [row[key] for row in rows], level + 1, key)
            if layout.data:
                data = [row[key] for row in rows for key in layout.data]
                self._rest(place, layout.record, data, level)

    def _layout(self, place: Place, one: dict[Any, Any], level: int) -> Layout | None:
        """Make the layout of an object; None if it was counted without, or if there is no room for it."""
        if level >= self._deepest:
            place.cut = place.cut or bool(one)
            return None
        tag_keys = [] if place.mixed else [key for key in TAG_RANKS if type(one.get(key)) in (str, bool)]
        tag = next((Tag(key, one[key]) for key in tag_keys if is_tag_value(one[key])), None)
        record = _record_of(place, tag)
        if place.mixed:
            tag, tag_keys = None, []
        # One name too many decides it; a hostile object may have millions.
        names = [] if record.crowded else list(islice(filter(is_name, one), MOST_KEYS + 1))
        if len(record.keys.keys() | names) > MOST_KEYS:
            _crowd(place, record)
        if record.crowded or not names:
            self._maps(place, record, [one], level)
            return None
        for key in names:
            if key not in record.keys:
                if not self._take(level + 1):
                    place.cut = True
                    return None
                record.keys[key] = Key(Place(), add(record.seen, NEVER))
        if len(one) > WIDEST:
            self._objects(place, [{key: one[key] for key in names}], level, None)
            data = [value for key, value in one.items() if key not in record.keys]
            self._rest(place, record, data, level)
            return None
        if self._layouts >= MOST_LAYOUTS:
            fold(self._root)
            self._layouts = 0
        self._layouts += 1
        group = place.groups.setdefault((*one, *map(type, one.values())), Group(tag_keys))
        group.layouts[tag] = layout = Layout(record, tag, one, self._visits)
        return layout

    def _maps(self, place: Place, record: Record, objects: list[dict[Any, Any]], level: int) -> None:
        """Count objects none of whose keys are names."""
        if not objects:
            return
        for tally in (record.seen, *(key.missing for key in record.keys.values())):
            tally.count(len(objects), self._digest)
        data = list(chain.from_iterable(map(dict.values, objects)))
        if data:
            self._rest(place, record, data, level)

    def _rest(self, place: Place, record: Record, data: Sequence[Any], level: int) -> None:
        if record.rest is None:
            if not self._take(level + 1):
                place.cut = True
                return
            record.rest = Place()
        self._column(record.rest, data, level + 1, _DATA)

    def _take(self, level: int) -> bool:
        """Take room for one more place; if there is none, this level and those below are dropped for good."""
        if level > self._deepest:
            return False
        self._made[level] += 1
        if sum(self._made[: level + 1]) > MOST_PLACES:
            self._deepest = level - 1
            _prune(self._root, self._deepest)
        return level <= self._deepest


def _record_of(place: Place, tag: Tag | None) -> Record:
    record = place.records.get(None if place.mixed else tag)
    if record is None and len(place.records) < MOST_VARIANTS:
        record = place.records[tag] = Record()
    elif record is None:
        fold(place)
        record = reduce(merge_records, [*place.records.values(), Record()])
        place.records, place.mixed = {None: record}, True
    return record


def _crowd(place: Place, record: Record) -> None:
    """Take all names for data from now on; they are too many."""
    fold(place)
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
        place.items, place.records, place.groups, place.mixed = None, {}, {}, False


def _as_json(value: Any) -> Any:
    """Return the nearest value of a type that a JSON reader returns; what JSON does not have stays as it is."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | Decimal):
        return 0.0
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, list | tuple) else value
