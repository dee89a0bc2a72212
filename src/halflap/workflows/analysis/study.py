"""A net under study: its structure and its states are found once, when first needed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from halflap.workflows.analysis.states import explore, machine_of
from halflap.workflows.model.net import Bound
from halflap.workflows.model.reduce import structure_of

if TYPE_CHECKING:
    from halflap.workflows.analysis.states import Space
    from halflap.workflows.model.block import Block, Structure
    from halflap.workflows.model.net import Net

__all__ = ["Study", "Unknown"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """There is no answer, and why."""

    why: str


class Study:
    """A net, and how much of it may be explored."""

    def __init__(
        self,
        net: Net,
        bound: Bound | None = None,
        *,
        structure: Structure | None = None,
        by_states: bool = False,
    ) -> None:
        """`structure` is that of the net, if it is known; `by_states` ignores the blocks."""
        self.net = net
        self.bound = bound or Bound()
        self._structure = structure
        self._by_states = by_states

    @cached_property
    def structure(self) -> Structure:
        return self._structure or structure_of(self.net)

    @property
    def block(self) -> Block | None:
        """The whole net as one block, if it is block-structured."""
        return None if self._by_states else self.structure.block

    @cached_property
    def space(self) -> Space:
        """All states within the bound; a `WorkflowError` names or-gates that form no block."""
        return explore(machine_of(self.net), self.bound)

    @cached_property
    def activities(self) -> tuple[str, ...]:
        """All labels, sorted."""
        return tuple(sorted({task.label for task in self.net.tasks.values() if task.label is not None}))

    @cached_property
    def bits(self) -> dict[str, int]:
        """The bit of each node's label; 0 for silent tasks and conditions."""
        number = {label: 1 << at for at, label in enumerate(self.activities)}
        return {node: number.get(task.label or "", 0) for node, task in self.net.tasks.items()}

    @cached_property
    def completes(self) -> bool | None:
        """Whether some case can be completed; None if the states found so far do not show it."""
        if self.block is not None or self.space.final() is not None:
            return True
        return None if self.space.problem is not None else False

    @cached_property
    def ending(self) -> set[int]:
        """The states from which a case can be completed; empty where not all states are known."""
        final = self.space.final()
        return set() if final is None or self.space.problem is not None else self.space.leading_to({final})
