"""A workflow that is being looked at: its structure and its states are found once, when they are first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from halflap.workflows.machine import machine_of
from halflap.workflows.net import Bound
from halflap.workflows.states import explore
from halflap.workflows.structure import structure

if TYPE_CHECKING:
    from halflap.workflows.block import Block
    from halflap.workflows.net import Net
    from halflap.workflows.states import Space
    from halflap.workflows.structure import Structure

__all__ = ["Study"]


class Study:
    """A workflow, and how much of it may be looked at."""

    def __init__(self, net: Net, bound: Bound | None = None, *, by_states: bool = False) -> None:
        """Begin; `by_states` does without the tree even where there is one."""
        self.net = net
        self.bound = bound or Bound()
        self.by_states = by_states

    @cached_property
    def structure(self) -> Structure:
        return structure(self.net)

    @property
    def tree(self) -> Block | None:
        """The tree of blocks, if it is to be had and to be used."""
        return None if self.by_states else self.structure.tree

    @cached_property
    def space(self) -> Space:
        """All states within the bound; a `WorkflowError` says of or-gates that form no block."""
        return explore(machine_of(self.net), self.bound)

    @cached_property
    def activities(self) -> tuple[str, ...]:
        """All labels, in order."""
        return tuple(sorted({task.label for task in self.net.tasks.values() if task.label is not None}))

    @cached_property
    def completes(self) -> bool | None:
        """Whether some case can be completed; None where not all states are known, and none of them is that of a complete one."""
        if self.space.final() is not None:
            return True
        return None if self.space.problem is not None else False

    @cached_property
    def ending(self) -> set[int]:
        """The states from which a case can be completed; empty where none can, or not all states are known."""
        final = self.space.final()
        return set() if final is None or self.space.problem is not None else self.space.leading_to({final})
