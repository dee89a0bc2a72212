"""The definition of a shape, one value at a time and without any bound on size: what `infer` must equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.learn import Shape
from halflap.learn.formats import format_of
from halflap.learn.merge import merge_places
from halflap.learn.names import TAG_KEYS, TAG_RANKS, is_name, is_tag_value
from halflap.learn.shape import (
    DEEPEST,
    MOST_KEYS,
    NEVER,
    Key,
    Place,
    Record,
    Sample,
    Tag,
    Tally,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

KINDS = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def plain_shape(value: Any, digest: int, *, values: bool = False) -> Shape:
    """Return the shape of one JSON value."""
    return Shape(_Plain(digest, values=values).place(value, 0), 1, Sample((digest,)))


def tag_of(value: dict[str, Any]) -> Tag | None:
    for key in sorted(TAG_KEYS.intersection(value), key=TAG_RANKS.__getitem__):
        if is_tag_value(value[key]):
            return Tag(key, value[key])
    return None


class _Plain:
    def __init__(self, digest: int, *, values: bool) -> None:
        self._once = Tally(1, digest)
        self._values = values

    def place(self, value: Any, level: int) -> Place:
        inner = level + 1
        kinds = {KINDS.get(type(value), "null"): self._once}
        if isinstance(value, str):
            kept = {value: self._once} if self._values and is_name(value) else None
            return Place(kinds, format_of(value), kept)
        if isinstance(value, list):
            if level == DEEPEST:
                return Place(kinds, cut=bool(value))
            return Place(kinds, items=self._all(self.place(one, inner) for one in value))
        if isinstance(value, dict):
            if level == DEEPEST:
                return Place(kinds, cut=bool(value))
            return Place(kinds, records={tag_of(value): self._record(value, inner)})
        return Place(kinds)

    def _record(self, value: dict[str, Any], level: int) -> Record:
        names = {key: inner for key, inner in value.items() if is_name(key)}
        data = [self.place(inner, level) for key, inner in value.items() if key not in names]
        keys = {name: self.place(inner, level) for name, inner in names.items()}
        if len(keys) > MOST_KEYS:
            data += keys.values()
            return Record(self._once, {}, self._all(data), crowded=True)
        return Record(self._once, {name: Key(place, NEVER) for name, place in keys.items()}, self._all(data))

    @staticmethod
    def _all(places: Iterable[Place]) -> Place | None:
        merged = None
        for place in places:
            merged = place if merged is None else merge_places(merged, place)
        return merged
