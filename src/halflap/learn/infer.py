"""Observe results, fast; the shape is the same as that of every single result, merged.

Most objects look like others before them. So each place remembers the *layouts* of its objects (their keys and the
types under them) and counts those; what a layout implies for each key is added up only when a shape is asked for.
Only texts that may have lost a format, nested objects and arrays are visited one by one, and in a long array key by
key. `growing.py` has the state that this walk counts in.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from halflap.learn.growing import KIND_OF, SEVERAL, Count, GrowingPlace, Layout, TagLayouts, joined
from halflap.learn.kept_values import Unkept
from halflap.learn.merge import bounded, cut_below
from halflap.learn.names import is_name, tag_of
from halflap.learn.shape import DEEPEST, MOST_DIGESTS, MOST_KEYS, MOST_PLACES, NOTHING, Sample, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from halflap.learn.growing import GrowingRecord

__all__ = ["Observer", "infer"]

MOST_LAYOUTS = 4_000
"""Layouts remembered at once. Doubling it doubles what irregular results take beside their shape, about 4 MB."""
_FEW = 4
"""Arrays with fewer objects are not worth going through key by key."""
_DIGESTS = 1 << 64


def infer(values: Iterable[Any], digests: Iterable[int] = repeat(0), *, keep_values: bool = False) -> Shape:
    """Return the shape of results, each with the digest of the arguments it answers."""
    observer = Observer(values=keep_values)
    for value, digest in zip(values, digests, strict=False):
        observer.observe(value, digest)
    return observer.shape()


class Observer:
    """Observes any number of results; with `values`, short strings are kept while they are few."""

    def __init__(self, *, values: bool = False) -> None:
        self._root = GrowingPlace(0, keeps_all=values)
        self._observations = 0
        self._digest = 0
        self._digests: set[int] = set()
        self._first: float | None = None
        self._last: float | None = None
        self._deepest = DEEPEST
        self._places = [1] + [0] * DEEPEST
        """How many places were made on each level."""
        self._layouts = 0
        self._visits: dict[type, tuple[Callable[..., None], Callable[..., None]]] = {
            dict: (self._object, self._objects),
            list: (self._array, self._arrays),
            bool: (self._boolean, self._booleans),
        }

    def observe(self, value: Any, digest: int = 0, at: float | None = None) -> None:
        """Count one result: `digest` stands for the arguments it answers, `at` is when, in seconds."""
        self._digest = digest = digest % _DIGESTS
        self._observations += 1
        self._digests.add(digest)
        if len(self._digests) > 8 * MOST_DIGESTS:
            self._digests = set(Sample.of(self._digests).digests)
        if at is not None:
            self._first = at if self._first is None else min(at, self._first)
            self._last = at if self._last is None else max(at, self._last)
        if self._layouts >= MOST_LAYOUTS:
            self._root.forget_layouts()
            self._layouts = 0
        self._value(self._root, value)

    def shape(self) -> Shape:
        """Return what was observed so far; more can be observed afterwards."""
        if not self._observations:
            return NOTHING
        root = cut_below(self._root.freeze(), self._deepest)
        sample = Sample.of(self._digests)
        return bounded(Shape(root, self._observations, sample, self._first, self._last, self._deepest))

    def _value(self, place: GrowingPlace, value: Any) -> None:
        kind = type(value)
        count = place.kinds.get(kind)
        if count is None:
            if kind not in KIND_OF:
                self._odd(place, value)
                return
            count = place.kinds[kind] = Count()
        count.times += 1
        if count.once not in (SEVERAL, self._digest):
            count.once = joined(count.once, self._digest)
        if kind is str:
            if place.check is not None and not place.check(value):
                place.look(value, self._digest)
        elif kind in self._visits:
            self._visits[kind][0](place, value)

    def _values(self, place: GrowingPlace, values: Sequence[Any]) -> None:
        """Count values of any types at a place."""
        kinds = set(map(type, values)) if len(values) >= _FEW else ()
        if len(kinds) != 1 or not kinds <= KIND_OF.keys():
            for value in values:
                self._value(place, value)
            return
        (kind,) = kinds
        place.count(kind, len(values), self._digest)
        if kind is str:
            self._texts(place, values)
        elif kind in self._visits:
            self._visits[kind][1](place, values)

    def _odd(self, place: GrowingPlace, value: Any) -> None:
        plain = as_json(value)
        if type(plain) in KIND_OF:
            self._value(place, plain)
        else:
            place.count(object, 1, self._digest)
        if isinstance(value, Unkept):
            place.values = None

    def _texts(self, place: GrowingPlace, texts: Sequence[str]) -> None:
        check = place.check
        if check is None or (place.values is None and all(map(check, texts))):
            return
        for text in texts:
            if place.check is not None and not place.check(text):
                place.look(text, self._digest)

    def _boolean(self, place: GrowingPlace, value: bool) -> None:
        if place.keeps_words and place.values is not None:
            place.keep(value, self._digest)

    def _booleans(self, place: GrowingPlace, values: Sequence[bool]) -> None:
        for value in values:
            self._boolean(place, value)

    def _array(self, place: GrowingPlace, array: list[Any]) -> None:
        length = len(array)
        place.longest = max(place.longest, length)
        if length < place.shortest or place.shortest < 0:
            place.shortest = length
        if array and self._has_items(place):
            assert place.items is not None
            self._values(place.items, array)

    def _arrays(self, place: GrowingPlace, arrays: Sequence[list[Any]]) -> None:
        lengths = set(map(len, arrays))
        place.longest = max(place.longest, *lengths)
        place.shortest = min(lengths) if place.shortest < 0 else min(place.shortest, *lengths)
        if place.longest and any(arrays) and self._has_items(place):
            assert place.items is not None
            self._values(place.items, list(chain.from_iterable(arrays)))

    def _has_items(self, place: GrowingPlace) -> bool:
        """Return whether there is a place for items; without room for one, the place is cut."""
        if place.items is None and place.level < self._deepest and self._take(place.level + 1):
            place.items = GrowingPlace(place.level + 1, keeps_all=place.keeps_all)
        if place.level >= self._deepest:
            place.cut = True
            return False
        return True

    def _take(self, level: int) -> bool:
        """Take room for one more place; if there is none, this level and those below are dropped for good."""
        self._places[level] += 1
        if level <= self._deepest and sum(self._places[: level + 1]) > MOST_PLACES:
            self._deepest = level - 1
            self._root.prune(self._deepest)
        return level <= self._deepest

    def _objects(self, place: GrowingPlace, objects: Sequence[dict[Any, Any]]) -> None:
        if len(objects) < _FEW or place.level >= self._deepest:
            for one in objects:
                self._object(place, one)
            return
        alike: dict[Layout, list[dict[Any, Any]]] = {}
        for one in objects:
            layout = place.layouts.get((*one, *map(type, one.values())))
            if isinstance(layout, TagLayouts):
                layout = layout.get(one[layout.key])
            if layout is None:
                # Room for new keys may be made by merging what those before it are counted in.
                self._count_alike(alike)
                alike = {}
                self._learn(place, one)
                if place.level >= self._deepest:
                    place.cut = True
                    return
            elif layout in alike:
                alike[layout].append(one)
            else:
                alike[layout] = [one]
        self._count_alike(alike)

    def _count_alike(self, alike: dict[Layout, list[dict[Any, Any]]]) -> None:
        for layout, objects in alike.items():
            layout.count += len(objects)
            layout.once = joined(layout.once, self._digest)
            layout.left -= len(objects)
            if layout.left <= 0:
                self._refresh(layout)
            for key, place in layout.texts:
                self._texts(place, [one[key] for one in objects])
            for key, place, _, visit_all in layout.inner:
                visit_all(place, [one[key] for one in objects])

    def _object(self, place: GrowingPlace, value: dict[Any, Any]) -> None:
        if place.level >= self._deepest:
            place.cut = place.cut or bool(value)
            return
        layout = place.layouts.get((*value, *map(type, value.values())))
        if isinstance(layout, TagLayouts):
            layout = layout.get(value[layout.key])
        if layout is None:
            self._learn(place, value)
        else:
            self._count(layout, value)

    def _count(self, layout: Layout, value: Mapping[Any, Any]) -> None:
        layout.count += 1
        digest = self._digest
        if layout.once not in (SEVERAL, digest):
            layout.once = joined(layout.once, digest)
        layout.left -= 1
        if layout.left <= 0:
            self._refresh(layout)
        for key, place in layout.texts:
            check = place.check
            if check is not None and not check(value[key]):
                place.look(value[key], digest)
        for key, place, visit, _ in layout.inner:
            visit(place, value[key])

    def _refresh(self, layout: Layout) -> None:
        """List the keys to look under; texts that can bring nothing new are left out, once that is known."""
        places = layout.record.keys
        layout.texts = [
            (key, places[key])
            for key, kind in layout.types.items()
            if kind is str and places[key].check is not None
        ]
        layout.inner = [
            (key, places[key], *self._visits[kind])
            for key, kind in layout.types.items()
            if kind in self._visits and (kind is not bool or places[key].keeps_words)
        ]
        layout.visits *= 2
        layout.left = layout.visits

    def _learn(self, place: GrowingPlace, value: dict[Any, Any]) -> None:
        """Count an object whose layout is not known, and remember the layout if all its keys are names."""
        tag = None if place.mixed else tag_of(value)
        record = place.record_of(tag)
        if not record.crowded and not self._make_keys(place, record, value):
            place.cut = True
            return
        if not record.keys:
            record.seen.add(1, self._digest)
            if value and self._has_rest(place, record):
                self._values(record.rest_place(), list(value.values()))
            return
        keys = record.keys
        named = {key: as_json(inner) for key, inner in value.items() if key in keys}
        signature = (*named, *map(type, named.values()))
        layout = record.layouts.get(signature)
        is_regular = len(named) == len(value) and all(type(inner) in KIND_OF for inner in value.values())
        if layout is not None or self._layouts < MOST_LAYOUTS:
            if layout is None:
                self._layouts += 1
                layout = record.layouts[signature] = Layout(record, named)
            if is_regular:
                place.remember(signature, tag, layout)
            self._count(layout, named)
        else:
            layout = Layout(record, named)
            self._count(layout, named)
            record.fold(layout)
        for key in named:
            if isinstance(value[key], Unkept):
                keys[key].values = None
        if len(named) < len(value) and self._has_rest(place, record):
            self._values(record.rest_place(), [inner for key, inner in value.items() if key not in keys])

    def _make_keys(self, place: GrowingPlace, record: GrowingRecord, value: dict[Any, Any]) -> bool:
        """Make places for the names that are new in a record; return whether there is room for them."""
        new: list[str] = []
        for key in value:
            if key not in record.keys and is_name(key):
                new.append(key)
                if len(record.keys) + len(new) > MOST_KEYS:
                    place.forget_own_layouts()
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


def as_json(value: Any) -> Any:
    """Return the nearest value of a type that a JSON reader gives; what JSON does not have stays as it is."""
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
