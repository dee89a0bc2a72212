"""What a change may look at: the tasks, the times, and what was asked to be respected."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from halflap.workflows.dependence import data_by_label
from halflap.workflows.pieces.piece import stretches, within
from halflap.workflows.timing.makespan import Timing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from halflap.workflows.constraints import Constraints
    from halflap.workflows.pieces.facts import Facts
    from halflap.workflows.pieces.piece import Change, Layout, Piece

__all__ = ["Changed", "Ground", "each_piece", "each_stretch", "named"]

Changed = tuple["Layout", str]
"""What came of a change, and what was done."""

_MOST_NAMED = 6


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A workflow that is to be changed."""

    facts: Facts
    constraints: Constraints
    timing: Timing = field(init=False)
    by_label: Facts | None = field(init=False)
    """The same tasks, each with the data of all that have its label; None where that is the same.

    What a workflow does is seen by labels: where two tasks share one and differ in their data, what the one may do can look as if the other did it.
    """
    arranged: dict[Piece, tuple[Piece, ...]] = field(default_factory=dict)
    """What came of arranging a piece anew, so that it is done once."""
    found: dict[tuple[tuple[int, ...], tuple[int, ...], int | None], Piece] = field(default_factory=dict)
    """The same, by what was arranged, what needs what, and how many may be done at once."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "timing", Timing(self.facts, quick=True))
        object.__setattr__(self, "by_label", self._by_label())

    def _by_label(self) -> Facts | None:
        net = self.facts.net
        data = data_by_label(net)
        tasks = {
            name: task
            if task.label is None
            else replace(task, reads=data[task.label].reads, writes=data[task.label].writes)
            for name, task in net.tasks.items()
        }
        return None if tasks == net.tasks else self.constraints.facts(replace(net, tasks=tasks))

    def doing(self, piece: Piece) -> list[str]:
        """Give the tasks of a piece that do something, as they are listed."""
        steps = self.facts.steps(piece)
        return [task for task in self.facts.net.tasks if task in steps and not self.facts.routes(task)]


def each_piece(layout: Layout, change: Change) -> Iterator[Changed]:
    """Change one piece of a layout at a time, wherever it can be."""
    yield from _each(layout, change, within)


def each_stretch(layout: Layout, change: Change) -> Iterator[Changed]:
    """Change the whole of one branch of a layout at a time: what is done one after the other stays together."""
    yield from _each(layout, change, stretches)


def _each(
    layout: Layout, change: Change, walk: Callable[[Piece, Change], Iterator[tuple[Piece, str]]]
) -> Iterator[Changed]:
    pieces = [link.way.piece for link in layout.links]
    for at, piece in enumerate(pieces):
        for new, what in walk(piece, change):
            if new != piece:
                yield layout.with_pieces([*pieces[:at], new, *pieces[at + 1 :]]), what


def named(tasks: Iterable[str]) -> str:
    """Name tasks in a sentence."""
    listed = [f"'{task}'" for task in tasks]
    if len(listed) > _MOST_NAMED:
        return f"{', '.join(listed[:_MOST_NAMED])} and {len(listed) - _MOST_NAMED} more"
    return " and ".join([", ".join(listed[:-1]), listed[-1]]) if len(listed) > 1 else "".join(listed)
