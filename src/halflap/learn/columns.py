"""Columns: values at one place, each with the digest of the arguments that its result answers."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence

    Digests = Sequence[int]
    Column = tuple[Sequence[Any], Digests]
    Object = dict[Any, Any]
    Group = tuple[tuple[Any, ...], Sequence[Object], Digests]
    """Objects with the same keys."""

_T = TypeVar("_T")

MOST_AT_ONCE = 8_192
"""Values in one column. Doubling it doubles what a long array takes beside its shape, about 1 MB a level."""


def split(
    values: Sequence[_T], digests: Digests, keys: Iterable[Hashable]
) -> list[tuple[Any, Sequence[_T], Digests]]:
    """Split a column by keys, one for each value."""
    listed = list(keys)
    if listed and listed.count(listed[0]) == len(listed):
        return [(listed[0], values, digests)]
    groups: defaultdict[Hashable, tuple[list[_T], list[int]]] = defaultdict(lambda: ([], []))
    for key, value, digest in zip(listed, values, digests, strict=True):
        some, whose = groups[key]
        some.append(value)
        whose.append(digest)
    return [(key, some, whose) for key, (some, whose) in groups.items()]


def parts(values: Sequence[_T], digests: Digests) -> Iterator[tuple[Sequence[_T], Digests]]:
    """Split a column that is long, or has values of several types."""
    if len(values) <= MOST_AT_ONCE:
        yield from ((some, whose) for _, some, whose in split(values, digests, map(type, values)))
    for start in range(0, len(values) if len(values) > MOST_AT_ONCE else 0, MOST_AT_ONCE):
        yield values[start : start + MOST_AT_ONCE], digests[start : start + MOST_AT_ONCE]


def joined(columns: Sequence[Column]) -> Column:
    if len(columns) == 1:
        return columns[0]
    values = chain.from_iterable(values for values, _ in columns)
    return list(values), list(chain.from_iterable(digests for _, digests in columns))


def flattened(collections: Sequence[Collection[Any]], digests: Digests) -> Iterator[Column]:
    """Yield what is in collections, not too much at once: an array may have millions of items."""
    values = chain.from_iterable(collections)
    whose = chain.from_iterable(map(repeat, digests, map(len, collections)))
    while column := list(islice(values, MOST_AT_ONCE)):
        yield column, list(islice(whose, MOST_AT_ONCE))


def columns_of(groups: Sequence[Group], names: Mapping[str, Any]) -> tuple[dict[str, Column], list[Column]]:
    """Return what objects have under each name, and what they have under other keys."""
    columns: defaultdict[str, list[Column]] = defaultdict(list)
    data: list[Column] = []
    for keys, rows, digests in groups:
        if names.keys().isdisjoint(keys):
            data += flattened(list(map(dict.values, rows)), digests)
            continue
        for key, values in zip(keys, zip(*map(dict.values, rows), strict=True), strict=True):
            (columns[key] if key in names else data).append((values, digests))
    return {name: joined(parts) for name, parts in columns.items()}, data
