"""Shapes as JSON, with a version: the same shape is always written the same."""

from __future__ import annotations

import json
import re
from functools import reduce
from typing import TYPE_CHECKING, Any, NoReturn

from halflap.core.errors import ShapeBrokenError, ShapeTooNewError
from halflap.learn.bound import bounded
from halflap.learn.evidence import Sample, Tally
from halflap.learn.formats import FORMATS, bit_of
from halflap.learn.limits import (
    DEEPEST,
    LONGEST_KEY,
    LONGEST_VALUE,
    MOST_DIGESTS,
    MOST_KEYS,
    MOST_VALUES,
    MOST_VARIANTS,
)
from halflap.learn.merge import merge_places, merge_records, unnamed
from halflap.learn.names import is_name, is_tag_value
from halflap.learn.shape import KINDS, Formats, Key, Lengths, Place, Record, Shape, Tag

if TYPE_CHECKING:
    from halflap.learn.shape import Scalar

__all__ = ["VERSION", "from_json", "to_json"]

VERSION = 1
MOST_COUNTED = 10**15
"""Nobody has seen more of anything than this."""
_LATEST = 10**12
_DIGEST = re.compile("[0-9a-f]{16}").fullmatch


def to_json(shape: Shape) -> dict[str, Any]:
    """Write a shape as what JSON can say."""
    return {
        "version": VERSION,
        "observations": shape.observations,
        "first": shape.first,
        "last": shape.last,
        "depth": shape.depth,
        "sample": [_hex(digest) for digest in shape.sample.digests],
        "root": _place(shape.root),
    }


def from_json(data: Any, where: str = "") -> Shape:
    """Read a shape; a newer version and damage are errors of their own, which say where, from `where` on."""
    if type(data) is not dict or type(data.get("version")) is not int or data["version"] < 1:
        raise ShapeBrokenError(f"{where or 'This'} is no learned shape: it has no version that there is.")
    if data["version"] > VERSION:
        raise ShapeTooNewError(
            f"This learned shape is of version {data['version']}, and this Halflap reads up to {VERSION}. "
            "Update Halflap to use it."
        )
    try:
        return _Reader().shape(data, where)
    except _DamageError as damage:
        raise ShapeBrokenError(f"The shape cannot be read: {damage}.") from None


def _hex(digest: int) -> str:
    return f"{digest:016x}"


def _tally(tally: Tally) -> Any:
    return tally.times if tally.once is None else [tally.times, _hex(tally.once)]


def _place(place: Place) -> dict[str, Any]:
    data: dict[str, Any] = {
        "kinds": {kind: _tally(place.kinds[kind]) for kind in KINDS if kind in place.kinds}
    }
    if place.formats is not None:
        data["formats"] = [name for name in FORMATS if place.formats.kept & bit_of(name)]
        if place.formats.once:
            data["lost"] = {
                _hex(digest): [name for name in FORMATS if place.formats.once.get(bit_of(name)) == digest]
                for digest in sorted(set(place.formats.once.values()))
            }
    if place.values is None:
        data["values"] = None
    elif place.values:
        data["values"] = [[value, _tally(place.values[value])] for value in sorted(place.values, key=repr)]
    if place.lengths is not None:
        data["lengths"] = list(place.lengths)
    if place.items is not None:
        data["items"] = _place(place.items)
    if place.records:
        data["records"] = [_record(tag, place.records[tag]) for tag in sorted(place.records, key=repr)]
    data.update({name: True for name in ("mixed", "cut") if getattr(place, name)})
    return data


def _record(tag: Tag | None, record: Record) -> dict[str, Any]:
    data: dict[str, Any] = {"seen": _tally(record.seen)}
    if tag is not None:
        data["tag"] = list(tag)
    if record.keys:
        data["keys"] = {
            name: [_place(record.keys[name].place), _tally(record.keys[name].missing)]
            for name in sorted(record.keys)
        }
    if record.rest is not None:
        data["rest"] = _place(record.rest)
    if record.crowded:
        data["crowded"] = True
    return data


class _DamageError(Exception):
    """What is wrong, with where it is."""


def _refuse(where: str, what: str) -> NoReturn:
    raise _DamageError(f"{where or 'the shape'} {what}")


def _object(data: Any, where: str) -> dict[str, Any]:
    return data if type(data) is dict else _refuse(where, "is no object")


def _list(data: Any, where: str, length: int | None = None) -> list[Any]:
    if type(data) is not list:
        _refuse(where, "is no list")
    if length is not None and len(data) != length:
        _refuse(where, f"is no list of {length}")
    return data


def _field(data: dict[str, Any], name: str, where: str) -> Any:
    return data[name] if name in data else _refuse(where, f"has no `{name}`")


class _Reader:
    """Reads what `to_json` wrote, and trusts nothing of it: what cannot be so is told with where it is."""

    def shape(self, data: dict[str, Any], where: str) -> Shape:
        inner = f"{where}." if where else ""
        depth = self._count(_field(data, "depth", where), f"{inner}depth")
        if depth > DEEPEST:
            _refuse(f"{inner}depth", f"is more than {DEEPEST}")
        sample = _list(_field(data, "sample", where), f"{inner}sample")
        digests = tuple(self._digest(text, f"{inner}sample") for text in sample[: MOST_DIGESTS + 1])
        if len(digests) > MOST_DIGESTS or list(digests) != sorted(set(digests)):
            _refuse(f"{inner}sample", f"is not in order, or has more than {MOST_DIGESTS}")
        shape = Shape(
            self._place(_field(data, "root", where), depth, f"{inner}root"),
            self._count(_field(data, "observations", where), f"{inner}observations"),
            Sample(digests),
            self._time(_field(data, "first", where), f"{inner}first"),
            self._time(_field(data, "last", where), f"{inner}last"),
            depth,
        )
        return shape if bounded(shape) == shape else _refuse(where, "has more places than are ever kept")

    def _place(self, data: Any, left: int, where: str) -> Place:
        if left < 0:
            _refuse(where, "is deeper than the shape says")
        _object(data, where)
        kinds = _object(_field(data, "kinds", where), f"{where}.kinds")
        if not kinds.keys() <= set(KINDS):
            _refuse(f"{where}.kinds", "has a kind that there is not")
        records = _list(data.get("records", []), f"{where}.records")
        if len(records) > MOST_VARIANTS:
            _refuse(f"{where}.records", f"are more than {MOST_VARIANTS}")
        items = data.get("items")
        lengths = data.get("lengths")
        read = [self._record(record, left - 1, f"{where}.records[{at}]") for at, record in enumerate(records)]
        if len({tag for tag, _ in read}) != len(read):
            _refuse(f"{where}.records", "has a tag twice")
        return Place(
            kinds={kind: self._seen(tally, f"{where}.kinds.{kind}") for kind, tally in kinds.items()},
            formats=self._formats(data, where) if "formats" in data else None,
            values=self._values(data.get("values", []), f"{where}.values"),
            lengths=None if lengths is None else self._lengths(lengths, f"{where}.lengths"),
            items=None if items is None else self._place(items, left - 1, f"{where}.items"),
            records=self._told_apart(read),
            mixed=self._flag(data, "mixed", where),
            cut=self._flag(data, "cut", where),
        )

    @staticmethod
    def _told_apart(read: list[tuple[Tag | None, Record]]) -> dict[Tag | None, Record]:
        records: dict[Tag | None, Record] = {}
        for tag, record in read:
            # What told objects apart before it was known for data tells nothing now.
            kept = tag if tag is not None and is_tag_value(tag.value) else None
            records[kept] = merge_records(records[kept], record) if kept in records else record
        return records

    def _record(self, data: Any, left: int, where: str) -> tuple[Tag | None, Record]:
        _object(data, where)
        named = _object(data.get("keys", {}), f"{where}.keys")
        if len(named) > MOST_KEYS:
            _refuse(f"{where}.keys", f"are more than {MOST_KEYS}")
        keys = {}
        for name, pair in named.items():
            inner = f"{where}.keys[{json.dumps(name[:LONGEST_KEY])}]"
            place, missing = _list(pair, inner, 2)
            keys[name] = Key(self._place(place, left, inner), self._tally(missing, f"{inner} missing"))
        rest = data.get("rest")
        # Keys that passed for names in an earlier version, or for whoever wrote this, are not kept any longer.
        places = [unnamed(key.place) for name, key in keys.items() if not is_name(name)]
        places += [] if rest is None else [self._place(rest, left, f"{where}.rest")]
        return (
            self._tag(data["tag"], f"{where}.tag") if data.get("tag") is not None else None,
            Record(
                self._seen(_field(data, "seen", where), f"{where}.seen"),
                {name: key for name, key in keys.items() if is_name(name)},
                reduce(merge_places, places) if places else None,
                self._flag(data, "crowded", where),
            ),
        )

    def _tag(self, data: Any, where: str) -> Tag:
        key, value = _list(data, where, 2)
        if type(key) is not str or len(key) > LONGEST_KEY:
            _refuse(where, "has no name for a key")
        return Tag(key, self._scalar(value, where))

    def _lengths(self, data: Any, where: str) -> Lengths:
        shortest, longest = _list(data, where, 2)
        return Lengths(self._count(shortest, where), self._count(longest, where))

    def _formats(self, data: dict[str, Any], where: str) -> Formats:
        kept = self._bits(data["formats"], f"{where}.formats")
        once: dict[int, int] = {}
        for text, names in _object(data.get("lost", {}), f"{where}.lost").items():
            digest = self._digest(text, f"{where}.lost")
            for bit in (1 << place for place in range(len(FORMATS))):
                if self._bits(names, f"{where}.lost") & bit:
                    if bit in once or kept & bit:
                        _refuse(f"{where}.lost", "has a format that is kept, or twice")
                    once[bit] = digest
        return Formats(kept, once)

    @staticmethod
    def _bits(names: Any, where: str) -> int:
        bits = 0
        for name in _list(names, where):
            if name not in FORMATS:
                _refuse(where, "has a format that there is not")
            bits |= bit_of(name)
        return bits

    def _values(self, data: Any, where: str) -> dict[Scalar, Tally] | None:
        if data is None:
            return None
        if len(_list(data, where)) > MOST_VALUES:
            _refuse(where, f"are more than {MOST_VALUES}")
        pairs = [_list(pair, where, 2) for pair in data]
        values = {self._scalar(value, where): self._seen(tally, where) for value, tally in pairs}
        return values if len(values) == len(pairs) else _refuse(where, "has a value twice")

    def _seen(self, data: Any, where: str) -> Tally:
        tally = self._tally(data, where)
        return tally if tally.times else _refuse(where, "was never seen")

    def _tally(self, data: Any, where: str) -> Tally:
        if type(data) is list:
            count, once = _list(data, where, 2)
            return Tally(self._count(count, where), self._digest(once, where))
        return Tally(self._count(data, where), None)

    @staticmethod
    def _count(data: Any, where: str) -> int:
        return data if type(data) is int and 0 <= data <= MOST_COUNTED else _refuse(where, "is no count")

    @staticmethod
    def _digest(data: Any, where: str) -> int:
        if type(data) is not str or not _DIGEST(data):
            _refuse(where, "has no digest where one should be")
        return int(data, 16)

    @staticmethod
    def _time(data: Any, where: str) -> float | None:
        if data is None:
            return None
        if type(data) in {int, float} and abs(data) <= _LATEST:
            return float(data)
        _refuse(where, "is no time")

    @staticmethod
    def _flag(data: dict[str, Any], name: str, where: str) -> bool:
        flag = data.get(name, False)
        return flag if type(flag) is bool else _refuse(f"{where}.{name}", "is neither true nor false")

    @staticmethod
    def _scalar(data: Any, where: str) -> Scalar:
        if type(data) is bool or (type(data) is str and len(data) <= LONGEST_VALUE):
            return data
        _refuse(where, "has something that is no value to be kept")
