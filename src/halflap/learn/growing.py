"""Places and records that count while results are observed; frozen, they are those of a shape."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from halflap.learn.formats import ALL, FORMATS, MATCHERS, format_of
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
    from collections.abc import Callable, Mapping

    from halflap.learn.shape import Scalar, Tag

__all__ = ["KIND_OF", "SEVERAL", "Count", "GrowingPlace", "GrowingRecord", "Layout", "TagLayouts", "joined"]

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
"""The types that a JSON reader gives."""


def joined(once: int, digest: int) -> int:
    return digest if once in (NOT_YET, digest) else SEVERAL


class Count:
    """A tally that grows."""

    __slots__ = ("once", "times")

    def __init__(self, times: int = 0, once: int = NOT_YET) -> None:
        self.times = times
        self.once = once

    def add(self, times: int, once: int) -> None:
        self.times += times
        if self.once != once:
            self.once = once if self.once == NOT_YET else SEVERAL

    def freeze(self) -> Tally:
        return Tally(self.times, self.once if self.once >= 0 else None)


class Layout:
    """Objects of one record with the same keys in the same order, and the same types under them."""

    __slots__ = ("count", "inner", "left", "once", "record", "texts", "types", "visits")

    def __init__(self, record: GrowingRecord, example: Mapping[str, Any]) -> None:
        self.record = record
        self.types = {key: type(value) for key, value in example.items()}
        self.count = 0
        self.once = NOT_YET
        self.texts: list[tuple[str, GrowingPlace]] = []
        """The keys with texts that may bring something new."""
        self.inner: list[tuple[str, GrowingPlace, Any, Any]] = []
        """The keys that must be looked under, each with how to visit one value or many."""
        self.left = 0
        """After so many objects both are listed again: less and less has to be looked at."""
        self.visits = 1


class TagLayouts(dict[Any, Layout]):
    """The layouts of objects with the same keys and types that differ in the value of a tag key."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key


def _undecided(_text: str) -> bool:
    return False


class GrowingPlace:
    """A place. What `Layout`s count is added only when it is frozen."""

    __slots__ = (
        *("base", "check", "cut", "items", "keeps_all", "keeps_words", "kept", "kinds", "layouts", "level"),
        *("longest", "lost", "lost_to", "mixed", "nameless", "records", "shortest", "values"),
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
        """It stands for many keys that are data, under which no values are kept."""
        self.kinds: dict[type, Count] = {}
        """By the types of `KIND_OF`; `object` stands for all others."""
        self.check: Callable[[str], Any] | None = _undecided
        """What a string must pass to bring nothing new; None if no string can bring anything new."""
        self.kept = ALL
        self.lost: dict[int, int] = {}
        """Formats lost by one set of arguments alone, with its digest."""
        self.lost_to = NOT_YET
        """The arguments by which all formats were lost: their other strings need not be looked at."""
        self.values: dict[Scalar, Count] | None = {}
        self.shortest = self.longest = -1
        self.items: GrowingPlace | None = None
        self.records: dict[Tag | None, GrowingRecord] = {}
        self.layouts: dict[Any, Layout | TagLayouts] = {}
        """By keys and types."""
        self.mixed = False
        self.cut = False
        self.base: Place | None = None
        """What was seen here before and is frozen already."""

    def count(self, kind: type, times: int, once: int) -> None:
        if kind not in self.kinds:
            self.kinds[kind] = Count()
        self.kinds[kind].add(times, once)

    def look(self, text: str, digest: int) -> None:
        """Look closely at a string."""
        if self.values is not None:
            self.keep(text, digest)
        if self.lost_to != digest and (self.kept or self.lost):
            self._fit(text, digest)
        if self.lost or (self.kept and self.values is not None):
            self.check = _undecided
        elif self.values is not None:
            self.check = self._knows
        else:
            self.check = MATCHERS[FORMATS[self.kept.bit_length() - 1]] if self.kept else None

    def keep(self, value: Scalar, digest: int) -> None:
        assert self.values is not None
        if value in self.values:
            self.values[value].add(1, digest)
        elif len(self.values) < MOST_VALUES and self._may_keep(value):
            self.values[value] = Count(1, digest)
        else:
            self.values = None

    def _knows(self, text: str) -> bool:
        """Count a string about which there is nothing new."""
        known = None if self.values is None else self.values.get(text)
        if known is None or known.once != SEVERAL:
            return False
        known.times += 1
        return True

    def _may_keep(self, value: Scalar) -> bool:
        if self.keeps_words and is_tag_value(value):
            return True
        if self.nameless or not self.keeps_all:
            return False
        return type(value) is str and len(value) <= LONGEST_VALUE and value.isprintable()

    def _fit(self, text: str, digest: int) -> None:
        has = format_of(text)
        for bit in [bit for bit, once in self.lost.items() if once != digest and not bit & has]:
            del self.lost[bit]
        self.lost |= {1 << at: digest for at in range(len(FORMATS)) if (self.kept & ~has) >> at & 1}
        self.kept &= has
        is_all = not self.kept and all(once == digest for once in self.lost.values())
        self.lost_to = digest if is_all else NOT_YET

    def record_of(self, tag: Tag | None) -> GrowingRecord:
        record = self.records.get(None if self.mixed else tag)
        if record is not None:
            return record
        base = None
        if len(self.records) >= MOST_VARIANTS:
            self.forget_own_layouts()
            base = reduce(merge_records, (record.freeze() for record in self.records.values()))
            self.records, self.mixed, tag = {}, True, None
        made = self.records[tag] = GrowingRecord(self.level + 1, base, keeps_all=self.keeps_all)
        return made

    def remember(self, signature: tuple[Any, ...], tag: Tag | None, layout: Layout) -> None:
        """Find objects with these keys and types by them; where a tag key is among them, by its value, too."""
        key = (
            None
            if self.mixed
            else next((key for key in TAG_RANKS if layout.types.get(key) in (str, bool)), None)
        )
        if key is None:
            self.layouts[signature] = layout
        elif tag is not None and tag.key == key:
            known = self.layouts.get(signature)
            if type(known) is not TagLayouts:
                known = self.layouts[signature] = TagLayouts(key)
            known[tag.value] = layout

    def below(self) -> list[GrowingPlace]:
        items = [] if self.items is None else [self.items]
        return items + [place for record in self.records.values() for place in record.places()]

    def forget_own_layouts(self) -> None:
        for record in self.records.values():
            record.fold_all()
            record.layouts.clear()
        self.layouts.clear()

    def forget_layouts(self) -> None:
        """Forget all layouts here and below."""
        self.forget_own_layouts()
        for place in self.below():
            place.forget_layouts()

    def prune(self, deepest: int) -> None:
        """Drop everything below a level. Whoever is still counting there counts for nothing."""
        if self.level < deepest:
            for place in self.below():
                place.prune(deepest)
            return
        self.cut = (
            self.cut or self.items is not None or any(record.has_places() for record in self.records.values())
        )
        self.items, self.records, self.layouts, self.mixed = None, {}, {}, False

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


class GrowingRecord:
    """A record, and the layouts of its objects."""

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
        self.layouts: dict[Any, Layout] = {}
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
        """Take all names for data from now on; they are too many. No layout may be left."""
        frozen = [unnamed(place.freeze()) for place in self.keys.values()]
        if frozen:
            rest = self.rest_place()
            rest.base = reduce(merge_places, frozen if rest.base is None else [rest.base, *frozen])
        self.keys, self.missing, self.crowded = {}, {}, True

    def fold(self, layout: Layout) -> None:
        """Add what a layout counted to the places under its keys."""
        times, once = layout.count, layout.once
        if not times:
            return
        layout.count, layout.once = 0, NOT_YET
        self.seen.add(times, once)
        for key, place in self.keys.items():
            kind = layout.types.get(key)
            if kind is None:
                self.missing[key].add(times, once)
            else:
                place.count(kind if kind in KIND_OF else object, times, once)

    def fold_all(self) -> None:
        for layout in self.layouts.values():
            self.fold(layout)

    def freeze(self) -> Record:
        self.fold_all()
        keys = {name: Key(place.freeze(), self.missing[name].freeze()) for name, place in self.keys.items()}
        rest = None if self.rest is None else self.rest.freeze()
        record = Record(self.seen.freeze(), keys, rest, self.crowded)
        return record if self.base is None else merge_records(self.base, record)
