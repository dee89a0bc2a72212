"""A net under study: its tree and its states are found once, when first needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from halflap.workflows.analysis.states import Space, explore, machine_of
from halflap.workflows.model.block import Block, Tangle
from halflap.workflows.model.net import MAX_STATES, Net
from halflap.workflows.model.reduce import tree_of


@dataclass(frozen=True, slots=True)
class Unknown:
    """There is no answer, and why."""

    why: str


class Study:
    """A net, and how many of its states may be explored."""

    def __init__(
        self,
        net: Net,
        bound: int = MAX_STATES,
        *,
        tree: Block | None = None,
        gates: Mapping[str, str] | None = None,
        by_states: bool = False,
    ) -> None:
        """`tree` is that of the net, if it is known; `by_states` ignores it. `gates` are what `build` returned."""
        self.net = net
        self.bound = bound
        self.gates = gates or {}
        self._tree = tree
        self._by_states = by_states

    @cached_property
    def tree(self) -> Block:
        return self._tree or tree_of(self.net)

    @property
    def block(self) -> Block | None:
        """The tree, if the net is block-structured."""
        return None if self._by_states or isinstance(self.tree, Tangle) else self.tree

    @cached_property
    def space(self) -> Space:
        """All states within the bound; a `WorkflowError` names or-gates that form no block."""
        return explore(machine_of(self.net), self.bound)

    @cached_property
    def ending(self) -> set[int]:
        """The states from which a case can be completed; none where not all states are known."""
        return self.space.ending()

    @cached_property
    def activities(self) -> tuple[str, ...]:
        """All labels, sorted."""
        return tuple(sorted({task.label for task in self.net.tasks.values() if task.label is not None}))

    @cached_property
    def bits(self) -> dict[str, int]:
        """The bit of each task's label; 0 for silent ones."""
        number = {label: 1 << at for at, label in enumerate(self.activities)}
        return {node: number.get(task.label or "", 0) for node, task in self.net.tasks.items()}

    @cached_property
    def arcs(self) -> list[tuple[int, int, int]]:
        """The steps between states that can be completed: from, the bit of what is visible, to."""
        space, ending = self.space, self.ending
        visible = [sum(self.bits[task] for task in step.tasks) for step in space.machine.steps]
        return [
            (state, visible[step], target)
            for state in sorted(ending)
            for step, target in space.steps[state]
            if target in ending
        ]

    @cached_property
    def completes(self) -> bool | None:
        """Whether some case can be completed; None if the states found so far do not show it."""
        if self.block is not None or self.space.final() is not None:
            return True
        return None if self.space.problem is not None else False
