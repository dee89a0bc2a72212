"""Differences between a shape and an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from halflap.learn.shape import KINDS, Place, Record, Shape, Tag
from halflap.learn.variants import Objects, objects_of
from halflap.schema import path_of

STABLE = 0.95
"""Above this confidence, what contradicts a shape is a change of the tool. 0.975 would need twice as many calls."""
_MOST_CHANGES = 100

What = Literal["new-key", "missing-key", "new-type", "lost-format", "new-variant"]


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """One difference."""

    path: str
    """`orders[].total`; empty for the root, `[key]` is any key that is data."""
    what: What
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.path or 'the result'}: {self.what.replace('-', ' ')}, was {self.before}, is {self.now}"


def changes(before: Shape, now: Shape) -> tuple[Change, ...]:
    """List what a shape, which may be of a single result, has that an earlier one did not have."""
    return tuple(sorted(set(islice(_of_place(before.root, now.root, ""), _MOST_CHANGES))))


def _of_place(before: Place, now: Place, path: str) -> Iterator[Change]:
    new = [kind for kind in KINDS if kind in now.kinds and not _allows(before, kind)]
    if new and before.kinds:
        yield Change(path, "new-type", _types(before), " | ".join(new))
    if before.format and now.format not in {None, before.format}:
        yield Change(path, "lost-format", before.format, "another text")
    if before.items is not None and now.items is not None:
        yield from _of_place(before.items, now.items, f"{path}[]")
    if not before.cut and before.records:
        yield from _of_objects(before, now, path)


def _of_objects(before: Place, now: Place, path: str) -> Iterator[Change]:
    objects = objects_of(before)
    for tag, record in sorted(now.records.items(), key=repr):
        known = _record_of(objects, tag)
        if known is None:
            values = sorted(str(value) for one in objects.variants for value in one.values)
            found = "none" if tag is None else f"{tag.key} {tag.value}"
            yield Change(path, "new-variant", f"one of {', '.join(values)}", found)
        else:
            yield from _of_record(known, record, path)


def _record_of(objects: Objects, tag: Tag | None) -> Record | None:
    if not objects.variants:
        return objects.every
    for variant in objects.variants:
        if variant.key is None and tag is None:
            return variant.record
        if tag is not None and variant.key == tag.key and tag.value in variant.values:
            return variant.record
    return None


def _of_record(before: Record, now: Record, path: str) -> Iterator[Change]:
    for name, key in sorted(before.keys.items()):
        found = now.keys.get(name)
        inner = _join(path, name)
        if not key.missing.times and (found is None or found.missing.times):
            yield Change(inner, "missing-key", "always there", "missing")
        if found is not None:
            yield from _of_place(key.place, found.place, inner)
    new = [(_join(path, name), now.keys[name].place) for name in sorted(now.keys.keys() - before.keys.keys())]
    new += [] if now.rest is None else [(f"{path}[key]", now.rest)]
    for inner, place in new:
        if before.rest is not None:
            yield from _of_place(before.rest, place, f"{path}[key]")
        else:
            yield Change(inner, "new-key", "never there", _types(place))


def _allows(place: Place, kind: str) -> bool:
    return kind in place.kinds or (kind == "integer" and "number" in place.kinds)


def _types(place: Place) -> str:
    return " | ".join(kind for kind in KINDS if kind in place.kinds)


def _join(path: str, name: str) -> str:
    step = path_of([name])
    return f"{path}{step}" if not path or step.startswith("[") else f"{path}.{step}"
