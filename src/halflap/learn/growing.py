"""Places and records that count while results are observed; frozen, they are those of a shape."""

from __future__ import annotations

from functools import reduce
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from halflap.learn.formats import ALL, MATCHERS, format_of
from halflap.learn.merge import merge_places, merge_records, unnamed
from halflap.learn.names import TAG_KEYS, TAG_RANKS, is_tag_value
from halflap.learn.shape import (
    LONGEST_VALUE,
    MOST_VALUES,
    MOST_VARIANTS,
    Formats,
    Key,
    Lengths,
    Place,
    Record,
    Tally,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.learn.shape import Scalar, Tag

__all__ = ["KIND_OF", "SEVERAL", "Count", "Group", "GrowingPlace", "GrowingRecord", "Layout"]

NOT_YET = -1
SEVERAL = -2
"""Instead of a digest, which is never negative: nothing was seen yet, or with several arguments."""
KIND_OF: dict[type, str] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
"""The types that a JSON reader returns."""
MATCHER_OF = {1 << at: matcher for at, matcher in enumerate(MATCHERS.values())}


class Count:
    """A tally that grows."""

    __slots__ = ("once", "times")

    def __init__(self, times: int = 0, once: int = NOT_YET) -> None:
        self.times = times
        self.once = once

    def add(self, times: int, digests: Iterable[int]) -> None:
        self.times += times
        if self.once != SEVERAL:
            distinct = {self.once, *digests} - {NOT_YET}
            self.once = distinct.pop() if len(distinct) == 1 else SEVERAL

    def freeze(self) -> Tally:
        return Tally(self.times, self.once if self.once >= 0 else None)


class GrowingPlace:
    """A place."""

    __slots__ = (
        *("base", "cut", "groups", "items", "keeps_all", "keeps_words", "kept", "kinds", "level", "longest"),
        *("lost", "mixed", "nameless", "possible", "records", "shortest", "values"),
    )

    def __init__(
        self, level: int, *, keeps_words: bool = False, keeps_all: bool = False, nameless: bool = False
    ) -> None:
        self.level = level
        self.keeps_words = keeps_words
        """It is under a tag key, where words are always kept."""
        self.keeps_all = keeps_all
        """Short strings are kept, here and below."""
        self.nameless = nameless
        """It is under keys that are data, where no values are kept."""
        self.kinds: dict[type, Count] = {}
        """By the types of `KIND_OF`; `object` is for all others."""
        self.kept = ALL
        self.lost: dict[int, int] = {}
        """Formats lost by one set of arguments alone, by its digest."""
        self.possible = ALL
        """The formats of both: another text can change something about these only."""
        self.values: dict[Scalar, Count] | None = {}
        self.shortest = self.longest = -1
        self.items: GrowingPlace | None = None
        self.records: dict[Tag | None, GrowingRecord] = {}
        self.groups: dict[tuple[Any, ...], Group] = {}
        """By keys and types."""
        self.mixed = False
        self.cut = False
        self.base: Place | None = None
        """What was seen here before and is frozen already."""

    def add_lengths(self, lengths: Sequence[int]) -> None:
        self.shortest = min(lengths) if self.shortest < 0 else min(self.shortest, *lengths)
        self.longest = max(self.longest, *lengths)

    def add_values(self, values: Sequence[Scalar], digests: Sequence[int]) -> None:
        """Keep values if all may be kept and they are few."""
        if self.values is None:
            return
        for value, digest in zip(values, digests, strict=True):
            count = self.values.get(value)
            if count is None:
                if len(self.values) == MOST_VALUES or not self._may_keep(value):
                    self.values = None
                    return
                count = self.values[value] = Count()
            if count.once == SEVERAL:
                count.times += 1
            else:
                count.add(1, [digest])

    def add_formats(self, texts: Sequence[str], digests: Sequence[int]) -> None:
        at = 0
        while self.possible and at < len(texts):
            matcher = MATCHER_OF.get(self.possible)
            if not self.kept and len(self.lost) == 1:
                # Nothing that these arguments still bring is news.
                (once,) = self.lost
                at += len(list(takewhile(once.__eq__, islice(digests, at, None))))
            if matcher is not None:
                at += len(list(takewhile(matcher, islice(texts, at, None))))
            if at < len(texts):
                self._fit(texts[at], digests[at])
                at += 1

    def _fit(self, text: str, digest: int) -> None:
        has = format_of(text)
        for once in [*self.lost]:
            if once != digest:
                self.lost[once] &= has
                if not self.lost[once]:
                    del self.lost[once]
        if self.kept & ~has:
            self.lost[digest] = self.lost.get(digest, 0) | (self.kept & ~has)
        self.kept &= has
        self.possible = self.kept | sum(self.lost.values())

    def _may_keep(self, value: Scalar) -> bool:
        if self.keeps_words and is_tag_value(value):
            return True
        if self.nameless or not self.keeps_all:
            return False
        return type(value) is str and len(value) <= LONGEST_VALUE and value.isprintable()

    def record_of(self, tag: Tag | None) -> GrowingRecord:
        record = self.records.get(None if self.mixed else tag)
        if record is not None:
            return record
        base = None
        if len(self.records) >= MOST_VARIANTS:
            base = reduce(merge_records, (record.freeze() for record in self.records.values()))
            self.records, self.groups, self.mixed, tag = {}, {}, True, None
        made = self.records[tag] = GrowingRecord(self.level + 1, base, keeps_all=self.keeps_all)
        return made

    def below(self) -> list[GrowingPlace]:
        items = [] if self.items is None else [self.items]
        return items + [place for record in self.records.values() for place in record.places()]

    def forget_layouts(self) -> None:
        """Forget all layouts here and below."""
        self.groups.clear()
        for record in self.records.values():
            record.fold()
            record.layouts.clear()
        for place in self.below():
            place.forget_layouts()

    def prune(self, deepest: int) -> None:
        """Drop everything below a level. What is still being counted there has no effect."""
        if self.level < deepest:
            for place in self.below():
                place.prune(deepest)
            return
        self.cut = (
            self.cut or self.items is not None or any(record.has_places() for record in self.records.values())
        )
        self.items, self.records, self.groups, self.mixed = None, {}, {}, False

    def freeze(self) -> Place:
        place = Place(
            kinds={KIND_OF.get(kind, "other"): count.freeze() for kind, count in self.kinds.items()},
            formats=Formats(self.kept, dict(self.lost)) if str in self.kinds else None,
            values=None
            if self.values is None
            else {value: count.freeze() for value, count in self.values.items()},
            lengths=Lengths(self.shortest, self.longest) if self.longest >= 0 else None,
            items=None if self.items is None else self.items.freeze(),
            records={tag: record.freeze() for tag, record in self.records.items()},
            mixed=self.mixed,
            cut=self.cut,
        )
        return place if self.base is None else merge_places(self.base, place)


class Layout(Count):
    """Counts a record's objects with the same keys in the same order and the same types under them."""

    __slots__ = ("data", "formatted", "inner", "kinds", "record", "refresh_at", "texts", "unsettled")

    def __init__(self, record: GrowingRecord, keys: Iterable[Any], types: Iterable[type]) -> None:
        super().__init__()
        self.record = record
        self.kinds: dict[str, type] = {}
        """Of the keys under which nothing but the type is counted for every object."""
        self.texts: list[tuple[str, GrowingPlace]] = []
        self.inner: list[tuple[str, GrowingPlace, type]] = []
        """What has to be visited in every object."""
        self.data: list[Any] = []
        """The keys that are data."""
        for key, kind in zip(keys, types, strict=True):
            place = record.keys.get(key)
            if place is None:
                self.data.append(key)
                continue
            if kind in KIND_OF:
                self.kinds[key] = kind
            if kind is str:
                self.texts.append((key, place))
            elif kind in (dict, list) or kind not in KIND_OF or (kind is bool and place.keeps_words):
                self.inner.append((key, place, kind))
        self.refresh_at = 0
        self.formatted: dict[int, list[tuple[str, GrowingPlace]]] = {}
        self.unsettled: list[tuple[str, GrowingPlace, type]] = []
        """The texts to look at: together those that have the same format, one by one those that may lose one."""

    def refresh(self) -> None:
        """Leave out texts that can change nothing any more; less and less has to be looked at."""
        self.refresh_at = 2 * self.times + 2
        self.formatted, self.unsettled = {}, []
        for key, place in self.texts:
            if place.values is None and place.possible in MATCHER_OF:
                self.formatted.setdefault(place.possible, []).append((key, place))
            elif place.values is not None or place.possible:
                self.unsettled.append((key, place, str))


class Group:
    """The objects of a batch with the same keys and types at a place; their tags may differ."""

    __slots__ = ("digests", "keys", "layouts", "objects", "tag_keys", "types")

    def __init__(self, keys: tuple[Any, ...], types: tuple[type, ...]) -> None:
        self.keys = keys
        self.types = types
        words = [
            key for key, kind in zip(keys, types, strict=True) if kind in (str, bool) and key in TAG_KEYS
        ]
        self.tag_keys = sorted(words, key=TAG_RANKS.__getitem__)
        self.layouts: dict[Tag | None, Layout] = {}
        self.objects: list[dict[Any, Any]] = []
        self.digests: list[int] = []


class GrowingRecord:
    """A record, and the layouts of its objects, which say how often each key was missing."""

    __slots__ = ("base", "crowded", "keeps_all", "keys", "layouts", "level", "missing", "rest", "seen")

    def __init__(self, level: int, base: Record | None, *, keeps_all: bool) -> None:
        self.level = level
        """That of the places under its keys."""
        self.base = base
        """What was seen of its objects before and is frozen already."""
        self.keeps_all = keeps_all
        self.seen = Count()
        self.keys: dict[str, GrowingPlace] = {}
        self.missing: dict[str, Count] = {}
        self.rest: GrowingPlace | None = None
        self.layouts: list[Layout] = []
        self.crowded = base is not None and base.crowded

    def places(self) -> list[GrowingPlace]:
        return [*self.keys.values(), *([] if self.rest is None else [self.rest])]

    def has_places(self) -> bool:
        return bool(self.places() or (self.base is not None and self.base.places()))

    def add_key(self, key: str) -> None:
        self.keys[key] = GrowingPlace(self.level, keeps_words=key in TAG_KEYS, keeps_all=self.keeps_all)
        self.missing[key] = Count(self.seen.times, self.seen.once)

    def rest_place(self) -> GrowingPlace:
        if self.rest is None:
            self.rest = GrowingPlace(self.level, keeps_all=self.keeps_all, nameless=True)
        return self.rest

    def crowd(self) -> None:
        """Take all names for data from now on; they are too many."""
        self.fold()
        frozen = [unnamed(place.freeze()) for place in self.keys.values()]
        if frozen:
            rest = self.rest_place()
            rest.base = reduce(merge_places, frozen if rest.base is None else [rest.base, *frozen])
        self.keys, self.missing, self.layouts, self.crowded = {}, {}, [], True

    def fold(self) -> None:
        """Add what the layouts counted."""
        for layout in self.layouts:
            self.fold_one(layout)

    def fold_one(self, layout: Layout) -> None:
        times, once = layout.times, [layout.once]
        if not times:
            return
        layout.times, layout.once = 0, NOT_YET
        self.seen.add(times, once)
        present = {*layout.kinds, *(key for key, _, _ in layout.inner)}
        for key in self.missing.keys() - present:
            self.missing[key].add(times, once)
        for key, kind in layout.kinds.items():
            self.keys[key].kinds.setdefault(kind, Count()).add(times, once)

    def freeze(self) -> Record:
        self.fold()
        keys = {name: Key(place.freeze(), self.missing[name].freeze()) for name, place in self.keys.items()}
        rest = None if self.rest is None else self.rest.freeze()
        record = Record(self.seen.freeze(), keys, rest, self.crowded)
        return record if self.base is None else merge_records(self.base, record)
