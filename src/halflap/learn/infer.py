"""Observe results, fast; the shape is the same as that of every single result, merged.

Results are looked at column by column: all that is at one place in a batch of results together. Objects with the same
keys are taken apart at once, so most of the work is done by `map`, `zip` and `set` and little by Python. `growing.py`
has the state that this walk counts in.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import chain, compress, islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.learn.formats import all_have
from halflap.learn.growing import KIND_OF, SEVERAL, Count, Group, GrowingPlace, Layout
from halflap.learn.kept_values import Unkept
from halflap.learn.merge import bounded, cut_below
from halflap.learn.names import TAG_KEYS, is_name, is_tag_value
from halflap.learn.shape import DEEPEST, MOST_DIGESTS, MOST_KEYS, MOST_PLACES, NOTHING, Sample, Shape, Tag

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from halflap.learn.growing import GrowingRecord

    _Objects = list[dict[Any, Any]]
    _Digests = list[int]
    _Visit = Callable[[GrowingPlace, Any, _Digests], None]
    _Columns = dict[tuple[GrowingPlace, _Visit], tuple[list[Any], _Digests]]
    """What is still to be visited, by place."""

__all__ = ["Observer", "infer"]

MOST_LAYOUTS = 4_000
"""Layouts remembered at once. Doubling it doubles what irregular results take beside their shape, about 4 MB."""
MOST_AT_ONCE = 8_192
"""Items of arrays in one column. Doubling it doubles what a long array takes beside its shape, about 1 MB a level."""
_DIGESTS = 1 << 64


def infer(values: Iterable[Any], digests: Iterable[int] = repeat(0), *, keep_values: bool = False) -> Shape:
    """Return the shape of results, each with the digest of the arguments it answers."""
    observer = Observer(values=keep_values)
    pairs = list(zip(values, digests, strict=False))
    observer.observe_all([value for value, _ in pairs], [digest for _, digest in pairs])
    return observer.shape()


class _Part(NamedTuple):
    """Objects of a group with the same tag."""

    group: Group
    tag: Tag | None
    objects: _Objects
    digests: _Digests


class Observer:
    """Observes any number of results; with `values`, short strings are kept while they are few."""

    def __init__(self, *, values: bool = False) -> None:
        self._root = GrowingPlace(0, keeps_all=values)
        self._observations = 0
        self._digests: set[int] = set()
        self._first: float | None = None
        self._last: float | None = None
        self._deepest = DEEPEST
        self._places = [1] + [0] * DEEPEST
        """How many places were made on each level."""
        self._layouts = 0
        self._visits: dict[type, _Visit] = {
            dict: self._objects,
            list: self._arrays,
            str: self._texts,
            bool: self._booleans,
        }

    def observe(self, value: Any, digest: int = 0, at: float | None = None) -> None:
        """Count one result: `digest` is that of the arguments it answers, `at` is when, in seconds."""
        self.observe_all([value], [digest], [at])

    def observe_all(
        self, values: Sequence[Any], digests: Collection[int], times: Iterable[float | None] = ()
    ) -> None:
        """Count results. Some hundreds at once take a fraction of the time that they take one by one."""
        if not values:
            return
        digests = [digest % _DIGESTS for digest in digests]
        self._observations += len(values)
        self._digests.update(digests)
        if len(self._digests) > 8 * MOST_DIGESTS:
            self._digests = set(Sample.of(self._digests).digests)
        known = [at for at in times if at is not None]
        if known:
            self._first = min(known) if self._first is None else min(self._first, *known)
            self._last = max(known) if self._last is None else max(self._last, *known)
        if self._layouts >= MOST_LAYOUTS:
            self._root.forget_layouts()
            self._layouts = 0
        self._column(self._root, values, digests)

    def shape(self) -> Shape:
        """Return what was observed so far; more can be observed afterwards."""
        if not self._observations:
            return NOTHING
        self._layouts = 0
        root = cut_below(self._root.freeze(), self._deepest)
        sample = Sample.of(self._digests)
        return bounded(Shape(root, self._observations, sample, self._first, self._last, self._deepest))

    def _column(self, place: GrowingPlace, values: Sequence[Any], digests: _Digests) -> None:
        """Count the values at a place, each with the digest of the result that it is in."""
        kinds = set(map(type, values))
        if len(kinds) == 1:
            self._alike(place, kinds.pop(), values, digests)
            return
        for kind in kinds:
            chosen = [type(value) is kind for value in values]
            self._alike(place, kind, list(compress(values, chosen)), list(compress(digests, chosen)))

    def _alike(self, place: GrowingPlace, kind: type, values: Sequence[Any], digests: _Digests) -> None:
        count = place.kinds.get(kind)
        if count is None:
            if kind not in KIND_OF:
                self._odd(place, values, digests)
                return
            count = place.kinds[kind] = Count()
        if count.once == SEVERAL:
            count.times += len(values)
        else:
            count.add(len(values), digests)
        visit = self._visits.get(kind)
        if visit is not None:
            visit(place, values, digests)

    def _odd(self, place: GrowingPlace, values: Sequence[Any], digests: _Digests) -> None:
        """Count values of a type that no JSON reader returns."""
        plain = list(map(as_json, values))
        if type(plain[0]) in KIND_OF:
            self._column(place, plain, digests)
        else:
            place.kinds.setdefault(object, Count()).add(len(values), digests)
        if isinstance(values[0], Unkept):
            place.values = None

    @staticmethod
    def _texts(place: GrowingPlace, texts: Sequence[str], digests: _Digests) -> None:
        if place.values is not None:
            place.add_values(texts, digests)
        if place.possible:
            place.add_formats(texts, digests)

    @staticmethod
    def _booleans(place: GrowingPlace, values: Sequence[bool], digests: _Digests) -> None:
        if place.keeps_words:
            place.add_values(values, digests)

    def _arrays(self, place: GrowingPlace, arrays: Sequence[list[Any]], digests: _Digests) -> None:
        lengths = list(map(len, arrays))
        place.add_lengths(lengths)
        if not place.longest or not any(lengths):
            return
        if place.items is None and self._take(place.level + 1):
            place.items = GrowingPlace(place.level + 1, keeps_all=place.keeps_all)
        if place.items is None:
            place.cut = True
            return
        # A few at a time: a column must not take memory as an array of millions does.
        items, owners = chain.from_iterable(arrays), chain.from_iterable(map(repeat, digests, lengths))
        inner = place.items
        while column := list(islice(items, MOST_AT_ONCE)):
            self._column(inner, column, list(islice(owners, len(column))))

    def _objects(self, place: GrowingPlace, objects: _Objects, digests: _Digests) -> None:
        if place.level >= self._deepest:
            place.cut = place.cut or any(objects)
            return
        crowd: tuple[_Objects, _Digests] = [], []
        plain = place.records.get(None)
        if plain is not None and plain.crowded:
            # Nothing but their tags can tell such objects apart.
            is_plain = [place.mixed or TAG_KEYS.isdisjoint(one) for one in objects]
            crowd = list(compress(objects, is_plain)), list(compress(digests, is_plain))
            is_tagged = [not one for one in is_plain]
            objects, digests = list(compress(objects, is_tagged)), list(compress(digests, is_tagged))
        parts: list[_Part] = []
        for group in self._grouped(place, objects, digests):
            parts += _by_tag(group, group.objects, group.digests, [] if place.mixed else group.tag_keys)
            group.objects, group.digests = [], []
        # First all records, then all keys: too many of either change what those before them are counted in.
        for part in parts:
            place.record_of(part.tag)
        if not all(self._is_known(place, part) or self._make_keys(place, part) for part in parts):
            place.cut = True
            return
        columns: _Columns = {}
        if crowd[0]:
            self._rest(place, place.record_of(None), *crowd, columns)
        for part in parts:
            record = place.record_of(part.tag)
            if record.crowded or not part.group.keys:
                self._rest(place, record, part.objects, part.digests, columns)
            else:
                self._count(place, record, part, columns)
        del objects, digests, crowd, parts
        while columns:
            (inner, visit), (values, owners) = columns.popitem()
            visit(inner, values, owners)

    def _grouped(self, place: GrowingPlace, objects: _Objects, digests: _Digests) -> list[Group]:
        """Group objects with the same keys and types; all that have no names among their keys are one group."""
        found = []
        known = place.groups
        for one, digest in zip(objects, digests, strict=True):
            signature = (*one, *map(type, one.values()))
            group = known.get(signature)
            if group is None:
                if any(map(is_name, one)):
                    group = Group(tuple(one), signature[len(one) :])
                    if self._layouts < MOST_LAYOUTS:
                        known[signature] = group
                else:
                    group = known.setdefault((), Group((), ()))
            if not group.objects:
                found.append(group)
            group.objects.append(one)
            group.digests.append(digest)
        return found

    def _count(self, place: GrowingPlace, record: GrowingRecord, part: _Part, columns: _Columns) -> None:
        """Count objects of a record that have the same keys and types; what must be visited goes to the columns."""
        layout = part.group.layouts.get(part.tag)
        is_kept = True
        if layout is None or layout.record is not record:
            layout = Layout(record, part.group.keys, part.group.types)
            is_kept = self._layouts < MOST_LAYOUTS
            if is_kept:
                part.group.layouts[part.tag] = layout
                record.layouts.append(layout)
                self._layouts += 1
        if layout.times >= layout.refresh_at:
            layout.refresh()
        objects, digests = part.objects, part.digests
        layout.add(len(objects), digests)
        for possible, texts in layout.formatted.items():
            if not all_have(possible, [one[key] for one in objects for key, _ in texts]):
                for key, inner in texts:
                    inner.add_formats([one[key] for one in objects], digests)
        for key, inner, kind in chain(layout.unsettled, layout.inner):
            values, owners = columns.setdefault((inner, self._visits.get(kind, self._odd)), ([], []))
            values += [one[key] for one in objects]
            owners += digests
        if layout.data and self._has_rest(place, record):
            values, owners = columns.setdefault((record.rest_place(), self._column), ([], []))
            values += [one[key] for key in layout.data for one in objects]
            owners += digests * len(layout.data)
        if not is_kept:
            record.fold_one(layout)

    def _rest(
        self,
        place: GrowingPlace,
        record: GrowingRecord,
        objects: _Objects,
        digests: _Digests,
        columns: _Columns,
    ) -> None:
        """Count objects of a record none of whose keys are names."""
        for count in (record.seen, *record.missing.values()):
            count.add(len(objects), digests)
        if any(objects) and self._has_rest(place, record):
            values, owners = columns.setdefault((record.rest_place(), self._column), ([], []))
            values += chain.from_iterable(map(dict.values, objects))
            owners += chain.from_iterable(map(repeat, digests, map(len, objects)))

    @staticmethod
    def _is_known(place: GrowingPlace, part: _Part) -> bool:
        record = place.record_of(part.tag)
        layout = part.group.layouts.get(part.tag)
        return record.crowded or (layout is not None and layout.record is record)

    def _make_keys(self, place: GrowingPlace, part: _Part) -> bool:
        """Make places for the names that are new in a record; return whether there is room for them."""
        record = place.record_of(part.tag)
        new = [key for key in part.group.keys if key not in record.keys and is_name(key)]
        if len(record.keys) + len(new) > MOST_KEYS:
            record.crowd()
            return True
        for key in new:
            if not self._take(place.level + 1):
                return False
            record.add_key(key)
        return True

    def _has_rest(self, place: GrowingPlace, record: GrowingRecord) -> bool:
        if record.rest is None and not self._take(place.level + 1):
            place.cut = True
            return False
        return True

    def _take(self, level: int) -> bool:
        """Take room for one more place; if there is none, this level and those below are dropped for good."""
        if level > self._deepest:
            return False
        self._places[level] += 1
        if sum(self._places[: level + 1]) > MOST_PLACES:
            self._deepest = level - 1
            self._root.prune(self._deepest)
        return level <= self._deepest


def _by_tag(group: Group, objects: _Objects, digests: _Digests, tag_keys: Sequence[str]) -> Iterator[_Part]:
    """Split objects by tag: by the value under the first tag key whose value may be one."""
    if not tag_keys:
        yield _Part(group, None, objects, digests)
        return
    column = [one[tag_keys[0]] for one in objects]
    for value in set(column):
        chosen = [one == value for one in column]
        members, owners = list(compress(objects, chosen)), list(compress(digests, chosen))
        if is_tag_value(value):
            yield _Part(group, Tag(tag_keys[0], value), members, owners)
        else:
            yield from _by_tag(group, members, owners, tag_keys[1:])


def as_json(value: Any) -> Any:
    """Return the nearest value of a type that a JSON reader returns; what JSON does not have stays as it is."""
    if type(value) in KIND_OF:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float | Decimal):
        return 0.0
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, list | tuple) else value
