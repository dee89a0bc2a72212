"""Columns: values at one place, each with the digest of the arguments that its result answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    Digests = Sequence[int]
    Column = tuple[Sequence[Any], Digests]
    Object = dict[Any, Any]
    Group = tuple[tuple[Any, ...], Sequence[Object], Digests]
    """Objects with the same keys."""

_T = TypeVar("_T")

_FEW = 4
"""A column of this many parts is split in as many passes; more parts take one slower pass."""


def split(
    values: Sequence[_T], digests: Digests, keys: Sequence[Hashable]
) -> Iterable[tuple[Any, Sequence[_T], Digests]]:
    """Split a column by keys, one for each value."""
    if keys.count(keys[0]) == len(keys):
        return [(keys[0], values, digests)]
    different = set(keys)
    if len(different) <= _FEW:
        return [
            (key, list(compress(values, picked)), list(compress(digests, picked)))
            for key in different
            for picked in [[one == key for one in keys]]
        ]
    groups: defaultdict[Hashable, tuple[list[_T], list[int]]] = defaultdict(lambda: ([], []))
    for key, value, digest in zip(keys, values, digests, strict=True):
        some, whose = groups[key]
        some.append(value)
        whose.append(digest)
    return [(key, *group) for key, group in groups.items()]


def flattened(
    collections: Sequence[Collection[Any]], digests: Digests
) -> tuple[Iterable[Any], Iterable[int]]:
    """Return what is in collections."""
    whose = chain.from_iterable(map(repeat, digests, map(len, collections)))
    return chain.from_iterable(collections), whose


def values_of(rows: Sequence[Object], digests: Digests) -> list[Column]:
    """Return all values of objects as one column, or none."""
    if not any(rows):
        return []
    values, whose = flattened(list(map(dict.values, rows)), digests)
    return [(list(values), list(whose))]


def joined(columns: Sequence[Column]) -> Column:
    if len(columns) == 1:
        return columns[0]
    values = chain.from_iterable(values for values, _ in columns)
    return list(values), list(chain.from_iterable(digests for _, digests in columns))


def columns_of(groups: Sequence[Group], names: Mapping[str, Any]) -> tuple[dict[str, Column], list[Column]]:
    """Return what objects have under each name, and what they have under other keys."""
    columns: dict[str, list[Column]] = {}
    data: list[Column] = []
    for keys, rows, digests in groups:
        if names.keys().isdisjoint(keys):
            data += values_of(rows, digests)
            continue
        for key, values in zip(keys, zip(*map(dict.values, rows), strict=True), strict=True):
            if key not in names:
                data.append((values, digests))
            elif key in columns:
                columns[key].append((values, digests))
            else:
                columns[key] = [(values, digests)]
    return {name: joined(parts) for name, parts in columns.items()}, data
