"""Whose a call is: of which task, the how-manieth time, for which item; and what became of those that are made for many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.core.values import Result
    from halflap.workflows.net import Task

__all__ = ["Items", "Occurrence", "listed"]

_MOST = 20


class Occurrence(NamedTuple):
    """A task, the how-manieth time it is done, and if that is for each of many, for which of how many."""

    task: str
    time: int
    item: int | None = None
    items: int | None = None

    def __str__(self) -> str:
        name = f"'{self.task}'" if self.time == 1 else f"'{self.task}', the {self.time}. time,"
        return name if self.item is None else f"{name} for item {self.item}"

    @property
    def written(self) -> list[Any]:
        return list(self) if self.item is not None else list(self[:2])

    def fits(self, task: Task) -> bool:
        """Say whether it is done for each item if the task is, and for one that there is."""
        if self.item is None or self.items is None:
            return task.each is None and self.item is self.items
        return task.each is not None and 0 <= self.item < self.items


@dataclass(slots=True)
class Items:
    """What became of each item that was begun; they are counted from 0."""

    of: int
    returned: dict[int, Result] = field(default_factory=dict)
    failed: list[int] = field(default_factory=list)
    unended: list[int] = field(default_factory=list)

    @property
    def in_words(self) -> str:
        """Say for which it was begun and is not done."""
        parts = [f"failed for {listed(self.failed)}"] if self.failed else []
        parts += [f"did not end for {listed(self.unended)}"] if self.unended else []
        return f"was begun and {' and '.join(parts)} of {self.of}"


def listed(items: Sequence[int]) -> str:
    """Name items, the first few of many."""
    numbers = [str(one) for one in sorted(items)]
    if len(numbers) == 1:
        return f"item {numbers[0]}"
    if len(numbers) > _MOST:
        return f"items {', '.join(numbers[:_MOST])} and {len(numbers) - _MOST} more"
    return f"items {', '.join(numbers[:-1])} and {numbers[-1]}"
