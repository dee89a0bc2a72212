"""Whether something that a shape tells is told no longer once more was added to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.learn.shape import Place, Record, Shape

__all__ = ["is_lost"]


def is_lost(before: Shape, after: Shape) -> bool:
    """Say whether names, variants or levels are gone, since with what was added they were too many to be kept."""
    return bool(before.observations) and _of_place(before.root, after.root)


def _of_place(before: Place, after: Place) -> bool:
    if before.items is not None and (after.items is None or _of_place(before.items, after.items)):
        return True
    if after.mixed and not before.mixed:
        return bool(before.records)
    for tag, record in before.records.items():
        found = after.records.get(tag)
        if found is None or _of_record(record, found):
            return True
    return False


def _of_record(before: Record, after: Record) -> bool:
    if before.keys and after.crowded:
        return True
    if before.rest is not None and (after.rest is None or _of_place(before.rest, after.rest)):
        return True
    return any(_of_place(key.place, after.keys[name].place) for name, key in before.keys.items())
