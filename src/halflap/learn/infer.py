"""From values to a shape: one pass over any number of them."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from itertools import repeat
from typing import TYPE_CHECKING, Any

from halflap.learn.bound import bounded
from halflap.learn.evidence import Sample
from halflap.learn.growing import SEVERAL, GrowingPlace, UnknownKeyError, joined
from halflap.learn.limits import MOST_DIGESTS
from halflap.learn.names import TAG_KEYS
from halflap.learn.pruning import Room
from halflap.learn.shape import NOTHING, Shape
from halflap.learn.unkept import Unkept

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.learn.growing import GrowingRecord

__all__ = ["Inference"]

_DIGESTS = 1 << 64
_LONG = 16
"""Arrays from this length on are looked at as a whole first: those of nothing but numbers can be long."""


class Inference:
    """Watches values pass; `shape` is what was seen so far."""

    def __init__(self, *, values: bool = False) -> None:
        self._values = values
        self._root = GrowingPlace(keeps_all=self._values)
        self._room = Room()
        self._observations = 0
        self._digests: set[int] = set()
        self._first: float | None = None
        self._last: float | None = None

    def observe(self, value: Any, digest: int = 0, at: float | None = None) -> None:
        """Take in one result; `digest` stands for the arguments that it was the answer to."""
        digest %= _DIGESTS
        self._observations += 1
        self._digests.add(digest)
        if len(self._digests) > 8 * MOST_DIGESTS:
            self._digests = set(Sample.of(self._digests).digests)
        if at is not None:
            self._first = at if self._first is None else min(at, self._first)
            self._last = at if self._last is None else max(at, self._last)
        self._walk(((self._root, value),), digest, 0)

    def shape(self) -> Shape:
        """Give what was seen so far; more can be observed afterwards."""
        if not self._observations:
            return NOTHING
        seen = Shape(
            self._root.freeze(),
            self._observations,
            Sample.of(self._digests),
            self._first,
            self._last,
            self._room.deepest,
        )
        return bounded(seen)

    def _walk(  # noqa: C901, PLR0912, PLR0915 -- the hot loop of the whole package: a call per value would double its time
        self, pairs: Iterable[tuple[GrowingPlace, Any]], digest: int, level: int
    ) -> None:
        room = self._room
        for place, value in pairs:
            kind = type(value)
            if kind is str:
                place.strings += 1
                check = place.check
                if check is not None and not check(value):
                    place.text(value, digest)
            elif kind is int:
                place.integers += 1
                if place.integer_once != SEVERAL:
                    place.integer_once = joined(place.integer_once, digest)
            elif kind is dict:
                place.objects += 1
                if place.object_once != SEVERAL:
                    place.object_once = joined(place.object_once, digest)
                if level >= room.deepest:
                    place.cut = place.cut or bool(value)
                    continue
                record = place.plain or place.record_of(value)
                inner: Iterable[GrowingPlace]
                try:
                    # A tag that no object here had before comes as a key that is not known; not so in a crowd.
                    inner = _crowd(place, record, value) if record.crowded else [*map(record.find, value)]
                except UnknownKeyError:
                    record, inner = self._settle(place, value)
                    if level >= room.deepest:
                        # There was no room for what is below here, which showed only now.
                        place.cut = True
                        continue
                if (len(value) != len(record.keys) or record.rest is not None) and (
                    record.missing or (record.lacked and record.lacked_with != digest)
                ):
                    record.lacks(value, digest)
                record.count += 1
                if record.once != SEVERAL:
                    record.once = joined(record.once, digest)
                if value:
                    self._walk(zip(inner, value.values()), digest, level + 1)  # noqa: B905 -- the argument costs time too
            elif kind is list:
                place.arrays += 1
                if place.array_once != SEVERAL:
                    place.array_once = joined(place.array_once, digest)
                length = len(value)
                if length > place.longest:  # noqa: PLR1730 -- a call of max takes longer than all else here
                    place.longest = length
                if length < place.shortest or place.shortest < 0:
                    place.shortest = length
                if not length:
                    pass
                elif level < room.deepest:
                    items = place.items
                    if items is None:
                        items = place.items = GrowingPlace(keeps_all=self._values)
                        room.take(1, self._root)
                    if length < _LONG or not _counted(items, value):
                        self._walk(zip(repeat(items), value), digest, level + 1)
                else:
                    place.cut = True
            elif kind is float:
                place.numbers += 1
                if place.number_once != SEVERAL:
                    place.number_once = joined(place.number_once, digest)
            elif value is None:
                place.nulls += 1
                if place.null_once != SEVERAL:
                    place.null_once = joined(place.null_once, digest)
            elif kind is bool:
                place.booleans += 1
                if place.boolean_once != SEVERAL or place.keeps_words:
                    place.truth(value, digest)
            else:
                self._odd(place, value, digest, level)

    def _settle(
        self, place: GrowingPlace, value: dict[Any, Any]
    ) -> tuple[GrowingRecord, Iterable[GrowingPlace]]:
        """Make room for an object with names that are new here."""
        made = place.settle(value)
        record = place.record_of(value)
        inner = repeat(record.rest_place()) if record.crowded else [*map(record.find, value)]
        self._room.take(made, self._root)
        return record, inner

    def _odd(self, place: GrowingPlace, value: Any, digest: int, level: int) -> None:
        """Take a value of a type that no JSON reader gives for the nearest that one does."""
        plain: Any
        if isinstance(value, str):
            plain = str.__str__(value)
            if isinstance(value, Unkept):
                place.values = None
        elif isinstance(value, int):
            plain = int(value)
        elif isinstance(value, float | Decimal):
            plain = 0.0
        elif isinstance(value, Mapping):
            plain = dict(value)
        elif isinstance(value, list | tuple):
            plain = list(value)
        else:
            place.others += 1
            place.other_once = (
                place.other_once if place.other_once == SEVERAL else joined(place.other_once, digest)
            )
            return
        self._walk(((place, plain),), digest, level)


def _counted(items: GrowingPlace, values: list[Any]) -> bool:
    """Count many items at once, where all are of one kind of which nothing can be new."""
    kinds = set(map(type, values))
    if kinds == {str} and items.check is None:
        items.strings += len(values)
    elif kinds == {int} and items.integer_once == SEVERAL:
        items.integers += len(values)
    elif kinds == {float} and items.number_once == SEVERAL:
        items.numbers += len(values)
    else:
        return False
    return True


def _crowd(place: GrowingPlace, record: GrowingRecord, value: dict[Any, Any]) -> Iterable[GrowingPlace]:
    if not place.mixed and not TAG_KEYS.intersection(value).issubset(place.tags):
        raise UnknownKeyError
    return repeat(record.rest_place())
