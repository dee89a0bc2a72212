"""Places and records that grow as values pass, made for speed; frozen, they are those of a shape."""

from __future__ import annotations

from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.learn.evidence import Tally
from halflap.learn.formats import ALL, FORMATS, MATCHERS, format_of
from halflap.learn.limits import LONGEST_VALUE, MOST_KEYS, MOST_VALUES, MOST_VARIANTS
from halflap.learn.merge import merge_places, merge_records, unnamed
from halflap.learn.names import RANKS, TAG_KEYS, is_name, is_tag_value
from halflap.learn.shape import Formats, Key, Lengths, Place, Record, Tag

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.learn.shape import Scalar

__all__ = ["NOT_YET", "SEVERAL", "GrowingPlace", "GrowingRecord", "UnknownKeyError", "joined"]

NOT_YET = -1
SEVERAL = -2
"""In place of a digest, which is never negative: nothing was seen, or it was with several arguments."""


class UnknownKeyError(Exception):
    """An object has a name for a key that its record has not yet."""


def joined(once: int, digest: int) -> int:
    return digest if once in (NOT_YET, digest) else SEVERAL


def _undecided(_text: str) -> bool:
    """Have every string looked at closely."""
    return False


class GrowingPlace:
    """A place; the walk in `infer` counts in it directly, and calls it only where something may be new."""

    __slots__ = (
        *("nulls", "booleans", "integers", "numbers", "strings", "arrays", "objects", "others"),
        *("null_once", "boolean_once", "integer_once", "number_once"),
        *("string_once", "array_once", "object_once", "other_once"),
        *("check", "kept", "lost", "lost_to", "values", "keeps_words", "keeps_all", "nameless"),
        *("shortest", "longest", "items", "tags", "records", "plain", "mixed", "cut", "base"),
    )

    def __init__(self, *, keeps_words: bool = False, keeps_all: bool = False, nameless: bool = False) -> None:
        self.nulls = self.booleans = self.integers = self.numbers = 0
        self.strings = self.arrays = self.objects = self.others = 0
        self.null_once = self.boolean_once = self.integer_once = self.number_once = NOT_YET
        self.string_once = self.array_once = self.object_once = self.other_once = NOT_YET
        self.check: Callable[[str], Any] | None = _undecided
        """What a string must pass to bring nothing new; None when no string can."""
        self.kept = ALL
        self.lost: dict[int, int] = {}
        """Formats lost by one set of arguments alone."""
        self.lost_to = NOT_YET
        """The arguments by which all of these were lost: no more of what they bring has to be looked at."""
        self.values: dict[Scalar, list[int]] | None = {}
        self.keeps_words = keeps_words
        self.keeps_all = keeps_all
        """Whether all short strings are kept, here and below."""
        self.nameless = nameless
        """It stands for many keys, and keeps none of what is right under them."""
        self.shortest = self.longest = -1
        self.items: GrowingPlace | None = None
        self.tags: tuple[str, ...] = ()
        """The tag keys that objects here have had."""
        self.records: dict[Any, GrowingRecord] = {}
        """By tag; it is looked up with a plain tuple, since a `Tag` takes long to make."""
        self.plain: GrowingRecord | None = None
        """The record of all objects, while none of them has a tag key."""
        self.mixed = False
        self.cut = False
        self.base: Place | None = None
        """What was seen here and is frozen already."""

    def text(self, text: str, digest: int) -> None:
        """Look closely at a string."""
        if self.string_once != SEVERAL:
            self.string_once = joined(self.string_once, digest)
        if self.values is not None:
            self._keep(text, digest)
        if self.lost_to != digest and (self.kept or self.lost):
            self._fit(text, digest)
        if self.string_once != SEVERAL or self.lost:
            self.check = _undecided
        elif self.values is not None:
            self.check = _undecided if self.kept else self._knows
        else:
            self.check = MATCHERS[FORMATS[self.kept.bit_length() - 1]] if self.kept else None

    def truth(self, value: bool, digest: int) -> None:
        """Look closely at a boolean."""
        self.boolean_once = joined(self.boolean_once, digest)
        if self.keeps_words and self.values is not None:
            self._keep(value, digest)

    def _keep(self, value: Scalar, digest: int) -> None:
        assert self.values is not None
        known = self.values.get(value)
        if known is not None:
            known[0] += 1
            known[1] = joined(known[1], digest)
        elif len(self.values) < MOST_VALUES and self._may_keep(value):
            self.values[value] = [1, digest]
        else:
            self.values = None

    def _knows(self, text: str) -> bool:
        """Count a word that there is nothing new about."""
        known = None if self.values is None else self.values.get(text)
        if known is None or known[1] != SEVERAL:
            return False
        known[0] += 1
        return True

    def _may_keep(self, value: Scalar) -> bool:
        if self.keeps_words and is_tag_value(value):
            return True
        if self.nameless or not self.keeps_all:
            return False
        return type(value) is str and len(value) <= LONGEST_VALUE and value.isprintable()

    def _fit(self, text: str, digest: int) -> None:
        open_bits = self.kept
        for bit, once in self.lost.items():
            if once != digest:
                open_bits |= bit
        broken = open_bits & ~format_of(text)
        while broken:
            bit = broken & -broken
            broken ^= bit
            if self.kept & bit:
                self.kept ^= bit
                self.lost[bit] = digest
            else:
                del self.lost[bit]
        whole = not self.kept and all(once == digest for once in self.lost.values())
        self.lost_to = digest if whole else NOT_YET

    def record_of(self, value: Mapping[Any, Any]) -> GrowingRecord:
        """Give the record that an object belongs to by its tag."""
        records = self.records
        if self.mixed:
            return records[None]
        tag: Tag | None = None
        for key in self.tags:
            said = value.get(key)
            if type(said) is not str and type(said) is not bool:
                continue
            record = records.get((key, said))
            if record is not None:
                return record
            if is_tag_value(said):
                tag = Tag(key, said)
                break
        record = records.get(tag)
        if record is None:
            if len(records) >= MOST_VARIANTS:
                return self._mix()
            record = records[tag] = GrowingRecord(keeps_all=self.keeps_all)
            self.plain = None if self.tags else record
        return record

    def settle(self, value: Mapping[Any, Any]) -> int:
        """Make room for the names in an object: its tags, its record, its keys; say how many places that took."""
        if not self.mixed:
            tags = TAG_KEYS.intersection(value)
            if not tags.issubset(self.tags):
                self.tags = tuple(sorted(tags.union(self.tags), key=RANKS.__getitem__))
                self.plain = None
        # A record that was made for this object before its tags were known has nothing in it.
        self.records = {
            tag: record for tag, record in self.records.items() if record.count or record.base is not None
        }
        if self.plain is not None and not self.plain.count:
            self.plain = self.records.get(None)
        return self.record_of(value).make_room(value)

    def _mix(self) -> GrowingRecord:
        frozen = reduce(merge_records, (record.freeze() for record in self.records.values()))
        self.mixed = True
        self.plain = GrowingRecord(frozen, keeps_all=self.keeps_all)
        self.records = {None: self.plain}
        self.tags = ()
        return self.plain

    def cut_off(self) -> None:
        """Let go of all that is below."""
        below = any(record.has_keys() for record in self.records.values())
        self.cut = self.cut or below or self.items is not None
        self.items = self.plain = None
        self.records = {}
        self.tags = ()
        self.mixed = False

    def is_used(self) -> bool:
        counts = (self.nulls, self.booleans, self.integers, self.numbers)
        more = (self.strings, self.arrays, self.objects, self.others)
        return self.base is not None or any(counts) or any(more)

    def freeze(self) -> Place:
        counts = (
            ("null", self.nulls, self.null_once),
            ("boolean", self.booleans, self.boolean_once),
            ("integer", self.integers, self.integer_once),
            ("number", self.numbers, self.number_once),
            ("string", self.strings, self.string_once),
            ("array", self.arrays, self.array_once),
            ("object", self.objects, self.object_once),
            ("other", self.others, self.other_once),
        )
        place = Place(
            kinds={kind: _tally(count, once) for kind, count, once in counts if count},
            formats=Formats(self.kept, dict(self.lost)) if self.strings else None,
            values=None
            if self.values is None
            else {value: _tally(count, once) for value, (count, once) in self.values.items()},
            lengths=Lengths(self.shortest, self.longest) if self.arrays else None,
            items=None if self.items is None else self.items.freeze(),
            records={tag: record.freeze() for tag, record in self.records.items()},
            mixed=self.mixed,
            cut=self.cut,
        )
        return place if self.base is None else merge_places(self.base, place)


class GrowingRecord:
    """A record; `find` gives the place of a key."""

    __slots__ = (
        *("base", "count", "crowded", "find", "keeps_all", "keys", "lacked", "lacked_with", "missing"),
        *("once", "rest"),
    )

    def __init__(self, base: Record | None = None, *, keeps_all: bool) -> None:
        self.base = base
        """What was seen of such objects and is frozen already."""
        self.count = 0
        self.once = NOT_YET
        self.keeps_all = keeps_all
        self.keys = _Keys(self)
        self.find: Callable[[Any], GrowingPlace] = self.keys.__getitem__
        self.rest: GrowingPlace | None = None
        self.crowded = False
        self.missing: dict[str, int] = {}
        """The keys that were always there, or missing with one set of arguments alone; but for the next."""
        self.lacked: set[str] = set()
        self.lacked_with = NOT_YET
        """The keys that were missing with these arguments alone: while they last, there is no need to look again."""
        if base is not None and base.crowded:
            self._crowd()

    def rest_place(self) -> GrowingPlace:
        if self.rest is None:
            self.rest = GrowingPlace(keeps_all=self.keeps_all, nameless=True)
        return self.rest

    def has_keys(self) -> bool:
        """Say whether any object here had a key."""
        if self.base is not None and (self.base.keys or self.base.rest is not None):
            return True
        return bool(self.keys) or (self.rest is not None and self.rest.is_used())

    def make_room(self, value: Mapping[Any, Any]) -> int:
        """Make places for the names in an object; say how many."""
        if self.crowded:
            return 0
        names = (key for key in value if key not in self.keys and is_name(key))
        new = list(islice(names, MOST_KEYS - len(self.keys) + 1))
        if len(self.keys) + len(new) > MOST_KEYS:
            self._crowd()
            return 1
        for key in new:
            self.keys[key] = GrowingPlace(keeps_words=key in TAG_KEYS, keeps_all=self.keeps_all)
            if self.once != SEVERAL:
                self.missing[key] = self.once
        return len(new)

    def lacks(self, value: Mapping[Any, Any], digest: int) -> None:
        """Note what an object has not."""
        if digest != self.lacked_with:
            self.missing.update(dict.fromkeys(self.lacked, self.lacked_with))
            self.lacked.clear()
            self.lacked_with = digest
        for key in [key for key in self.missing if key not in value]:
            if self.missing.pop(key) in (NOT_YET, digest):
                self.lacked.add(key)

    def _crowd(self) -> None:
        rest = self.rest_place()
        for place in self.keys.values():
            frozen = unnamed(place.freeze())
            rest.base = frozen if rest.base is None else merge_places(rest.base, frozen)
        self.keys.clear()
        self.missing.clear()
        self.lacked.clear()
        self.crowded = True

    def freeze(self) -> Record:
        keys = {}
        for name, place in self.keys.items():
            frozen = place.freeze()
            once = self.lacked_with if name in self.lacked else self.missing.get(name, SEVERAL)
            keys[name] = Key(frozen, _tally(self.count - frozen.count, once))
        # A map that was never used stands for nothing.
        rest = None if self.rest is None or not self.rest.is_used() else self.rest.freeze()
        record = Record(_tally(self.count, self.once), keys, rest, self.crowded)
        return record if self.base is None else merge_records(self.base, record)


class _Keys(dict[Any, GrowingPlace]):
    """The places of a record by name; what is no name gets the one place that stands for all data."""

    __slots__ = ("record",)

    def __init__(self, record: GrowingRecord) -> None:
        self.record = record

    def __missing__(self, key: Any) -> GrowingPlace:
        if is_name(key):
            raise UnknownKeyError
        return self.record.rest_place()


def _tally(count: int, once: int) -> Tally:
    return Tally(count, None if once < 0 or not count else once)
