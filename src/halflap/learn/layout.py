"""Layouts: what an observer has to look at in objects with the same keys and types, and what it counted of them."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from halflap.learn.formats import ALL, MATCHERS, format_of
from halflap.learn.merge import merge_formats
from halflap.learn.names import TAG_KEYS, is_tag_value
from halflap.learn.shape import MOST_KEYS, MOST_VALUES, NEVER, Formats, Key, Place, Record, Tag, Tally, add

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halflap.learn.shape import Scalar

    Visit = Callable[[Place, Sequence[Any], int, str | None], None]
    """Looks at values of one type at a place, given its level and the key it is under."""

__all__ = ["KIND_OF", "MATCHER_OF", "WIDEST", "Group", "Layout", "fold", "keep", "known_layout"]

KIND_OF: dict[type, str] = {
    type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object",
}  # fmt: skip
"""The types that a JSON reader returns."""
WIDEST = 2 * MOST_KEYS
"""Objects with more keys are not remembered."""
MATCHER_OF = {1 << at: matcher for at, matcher in enumerate(MATCHERS.values())}


class Layout:
    """Counts a record's objects with the same keys in the same order and the same types under them."""

    __slots__ = ("checks", "data", "inner", "kinds", "record", "refresh_at", "seen", "tag", "texts")

    def __init__(
        self, record: Record, tag: Tag | None, one: dict[Any, Any], visits: dict[type, Visit]
    ) -> None:
        self.record = record
        self.tag = tag
        self.seen = Tally()
        self.refresh_at = 0
        self.kinds: dict[str, str] = {}
        """The types under keys; what is not here, or is data, is counted when it is visited."""
        self.texts: list[tuple[str, Place]] = []
        self.checks: list[tuple[str, Place, Callable[[str], Any]]] = []
        """The texts that may still change something: one that fits the matcher does not."""
        self.inner: list[tuple[str, Place, Visit]] = []
        """What has to be visited in every object."""
        self.data: list[Any] = []
        """The keys that are data."""
        for key, value in one.items():
            if key not in record.keys:
                self.data.append(key)
                continue
            place, kind = record.keys[key].place, type(value)
            is_tag = tag is not None and key == tag.key
            if kind not in KIND_OF or (kind is bool and key in TAG_KEYS and not is_tag):
                self.inner.append((key, place, visits[object]))
                continue
            self.kinds[key] = KIND_OF[kind]
            if kind is str and not is_tag:
                self.texts.append((key, place))
            elif kind in (dict, list):
                self.inner.append((key, place, visits[kind]))

    def count(self, times: int, digest: int) -> None:
        self.seen.count(times, digest)
        if self.seen.times > self.refresh_at:
            self.refresh()

    def refresh(self) -> None:
        """Leave out texts that can change nothing any more; less and less has to be looked at."""
        self.refresh_at = 2 * self.seen.times + 2
        self.checks = []
        for key, place in self.texts:
            kept, once = place.formats or (ALL, {})
            possible = reduce(int.__or__, once.values(), kept)
            if place.values is not None:
                self.checks.append((key, place, _never))
            elif possible:
                self.checks.append((key, place, MATCHER_OF.get(possible, _never)))

    def fold(self) -> None:
        """Add what was counted to the record."""
        tally = self.seen
        if not tally.times:
            return
        record, keys = self.record, self.record.keys
        record.seen = add(record.seen, tally)
        for name, kind in self.kinds.items():
            kinds = keys[name].place.kinds
            kinds[kind] = add(kinds.get(kind, NEVER), tally)
        present = {*self.kinds, *(key for key, _, _ in self.inner)}
        for name in keys.keys() - present:
            keys[name] = Key(keys[name].place, add(keys[name].missing, tally))
        if self.tag is not None and self.tag.key in self.kinds:
            place, value = keys[self.tag.key].place, self.tag.value
            keep(place, value, tally)
            if isinstance(value, str):
                has = format_of(value)
                lost = {} if tally.once is None else {tally.once: ALL & ~has}
                place.formats = merge_formats(place.formats, Formats(has, lost))
        self.seen, self.refresh_at = Tally(), 0


class Group:
    """The layouts of objects with the same keys and types, by tag."""

    __slots__ = ("layouts", "tag_keys")

    def __init__(self, tag_keys: list[str]) -> None:
        self.tag_keys = tag_keys
        self.layouts: dict[Tag | tuple[str, Scalar] | None, Layout] = {}


def known_layout(place: Place, one: dict[Any, Any]) -> Layout | None:
    if len(one) > WIDEST:
        return None
    group: Group | None = place.groups.get((*one, *map(type, one.values())))
    if group is None:
        return None
    for key in group.tag_keys:
        layout = group.layouts.get((key, one[key]))
        if layout is not None or is_tag_value(one[key]):
            return layout
    return group.layouts.get(None)


def _never(_: str) -> bool:
    return False


def keep(place: Place, value: Scalar, tally: Tally) -> None:
    if place.values is not None:
        place.values[value] = add(place.values.get(value, NEVER), tally)
        if len(place.values) > MOST_VALUES:
            place.values = None


def fold(place: Place) -> None:
    """Add up what the layouts counted, here and below, and forget them."""
    for group in place.groups.values():
        for layout in group.layouts.values():
            layout.fold()
    place.groups = {}
    for inner in place.below():
        fold(inner)
