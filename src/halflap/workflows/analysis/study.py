"""A net under study: its tree and its states are found once, when first needed."""

from __future__ import annotations

from functools import cached_property

from halflap.workflows.analysis.states import StateSpace, explore, petri_net_of
from halflap.workflows.model.block import Block, Unstructured
from halflap.workflows.model.net import MAX_STATES, Net
from halflap.workflows.model.reduce import tree_of


class Study:
    """A net, and how many of its states may be explored."""

    def __init__(self, net: Net, bound: int = MAX_STATES, *, tree: Block | None = None) -> None:
        """`tree` is that of the net, if it is known."""
        self.net = net
        self.bound = bound
        self.tree = tree_of(net) if tree is None else tree
        self.block = None if isinstance(self.tree, Unstructured) else self.tree
        """The tree, if the net is block-structured. Then questions are answered from it, otherwise from the states."""

    @cached_property
    def space(self) -> StateSpace:
        """All states within the bound; a `WorkflowError` names or-gates that form no block."""
        return explore(petri_net_of(self.net), self.bound)

    @property
    def problem(self) -> str | None:
        """Why questions have no answer: the states are too many, or endless."""
        return None if self.block is not None else self.space.problem

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
        """The edges between completable states: from, the bit of the visible activity, to."""
        space = self.space
        visible = [sum(self.bits[task] for task in one.tasks) for one in space.petri_net.transitions]
        return [
            (state, visible[one], target)
            for state in sorted(space.completable)
            for one, target in space.edges[state]
            if target in space.completable
        ]
