"""Shapes as JSON, with a version: the same shape is always written the same."""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any, NoReturn

from halflap.errors import ShapeBrokenError, ShapeTooNewError
from halflap.learn.bound import bounded
from halflap.learn.evidence import Sample, Tally
from halflap.learn.formats import ALL, FORMATS, bit_of
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
    from collections.abc import Mapping

    from halflap.learn.shape import Scalar

__all__ = ["VERSION", "from_json", "to_json"]

VERSION = 1
_DIGESTS = 1 << 64


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


def from_json(data: Any) -> Shape:
    """Read a shape; a newer version and damage are errors of their own."""
    if not isinstance(data, dict) or type(data.get("version")) is not int:
        raise ShapeBrokenError(
            "Not a learned shape: it has no version. Take it from `halflap schema export`."
        )
    if data["version"] > VERSION:
        raise ShapeTooNewError(
            f"This learned shape is of version {data['version']}, and this Halflap reads up to {VERSION}. "
            "Update Halflap to use it."
        )
    try:
        return _Reader().shape(data)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ShapeBrokenError(
            f"This learned shape is damaged ({type(error).__name__}: {error}). Nothing of it was used; export it anew."
        ) from error


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


def _refuse(what: str) -> NoReturn:
    raise ValueError(what)


class _Reader:
    """Reads what `to_json` wrote, and trusts nothing of it."""

    def shape(self, data: Mapping[str, Any]) -> Shape:
        depth = self._count(data["depth"])
        digests = tuple(self._digest(text) for text in data["sample"])
        if depth > DEEPEST or len(digests) > MOST_DIGESTS or list(digests) != sorted(set(digests)):
            _refuse("depth or sample out of bounds")
        shape = Shape(
            self._place(data["root"], depth),
            self._count(data["observations"]),
            Sample(digests),
            self._time(data["first"]),
            self._time(data["last"]),
            depth,
        )
        return shape if bounded(shape) == shape else _refuse("more places than are ever kept")

    def _place(self, data: Mapping[str, Any], left: int) -> Place:
        if left < 0:
            _refuse("deeper than it says")
        kinds = {kind: self._seen(tally) for kind, tally in data["kinds"].items()}
        if not kinds.keys() <= set(KINDS) or len(data.get("records", [])) > MOST_VARIANTS:
            _refuse("unknown kinds, or too many variants")
        items = data.get("items")
        lengths = data.get("lengths")
        return Place(
            kinds=kinds,
            formats=self._formats(data) if "formats" in data else None,
            values=self._values(data.get("values", [])),
            lengths=None if lengths is None else Lengths(*map(self._count, lengths)),
            items=None if items is None else self._place(items, left - 1),
            records=self._records(data.get("records", []), left - 1),
            mixed=self._flag(data, "mixed"),
            cut=self._flag(data, "cut"),
        )

    def _records(self, data: Any, left: int) -> dict[Tag | None, Record]:
        records: dict[Tag | None, Record] = {}
        for tag, record in (self._record(one, left) for one in data):
            # What told objects apart before it was known for data tells nothing now.
            kept = tag if tag is not None and is_tag_value(tag.value) else None
            records[kept] = merge_records(records[kept], record) if kept in records else record
        return records

    def _record(self, data: Mapping[str, Any], left: int) -> tuple[Tag | None, Record]:
        keys = {
            self._text(name): Key(self._place(place, left), self._tally(missing))
            for name, (place, missing) in data.get("keys", {}).items()
        }
        if len(keys) > MOST_KEYS:
            _refuse("too many keys")
        rest = data.get("rest")
        tag = data.get("tag")
        # Keys that passed for names in an earlier version, or for whoever wrote this, are not kept any longer.
        places = [unnamed(key.place) for name, key in keys.items() if not is_name(name)]
        places += [] if rest is None else [self._place(rest, left)]
        return (
            None if tag is None else Tag(self._text(tag[0]), self._scalar(tag[1])),
            Record(
                self._seen(data["seen"]),
                {name: key for name, key in keys.items() if is_name(name)},
                reduce(merge_places, places) if places else None,
                self._flag(data, "crowded"),
            ),
        )

    def _formats(self, data: Mapping[str, Any]) -> Formats:
        kept = sum(bit_of(name) for name in set(data["formats"]))
        once = {
            bit_of(name): self._digest(text) for text, names in data.get("lost", {}).items() for name in names
        }
        if kept & sum(once) or kept | sum(once) > ALL:
            _refuse("a format both kept and lost")
        return Formats(kept, once)

    def _values(self, data: Any) -> dict[Scalar, Tally] | None:
        if data is not None and len(data) > MOST_VALUES:
            _refuse("too many values")
        return None if data is None else {self._scalar(value): self._seen(tally) for value, tally in data}

    def _seen(self, data: Any) -> Tally:
        tally = self._tally(data)
        return tally if tally.times else _refuse("nothing that was seen")

    def _tally(self, data: Any) -> Tally:
        if isinstance(data, list):
            count, once = data
            return Tally(self._count(count), self._digest(once))
        return Tally(self._count(data), None)

    @staticmethod
    def _count(data: Any) -> int:
        return data if type(data) is int and data >= 0 else _refuse("no count")

    @staticmethod
    def _digest(data: Any) -> int:
        digest = int(data, 16)
        return digest if 0 <= digest < _DIGESTS else _refuse("no digest")

    @staticmethod
    def _time(data: Any) -> float | None:
        if data is None or (type(data) in {int, float} and math.isfinite(data)):
            return None if data is None else float(data)
        _refuse("no time")

    @staticmethod
    def _flag(data: Mapping[str, Any], name: str) -> bool:
        flag = data.get(name, False)
        return flag if type(flag) is bool else _refuse(f"{name} is no truth value")

    @staticmethod
    def _text(data: Any) -> str:
        return data if type(data) is str and len(data) <= LONGEST_KEY else _refuse("no name")

    @staticmethod
    def _scalar(data: Any) -> Scalar:
        if type(data) is bool or (type(data) is str and len(data) <= LONGEST_VALUE):
            return data
        _refuse("no value that is kept")
