"""From a net to its tree: reduction rules are applied until one arrow is left, or none fits any more.

Every node is split into the gate of its join, the step itself, and the gate of its split; a condition has two xor gates. The rules,
each of which preserves behaviour: a gate with one arrow in and one arrow out is removed; several branches from a split to a join of the
same kind become one block; a way from an xor-split back to the xor-join that leads to it becomes a loop. An and- or xor-split may
be closed in several steps; all branches of an or-split have to meet in one or-join. A net that is not reduced to one arrow is
`Unstructured`.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.workflows.model.block import (
    PLAIN,
    Block,
    Branches,
    Choice,
    Loop,
    Mismatch,
    Sequence,
    Step,
    Unstructured,
)
from halflap.workflows.model.net import quoted

if TYPE_CHECKING:
    from halflap.workflows.model.net import Gate, Net

_MAX_DEPTH = 100
"""How many blocks may be nested; the analysis recurses over them."""


@dataclass(slots=True, eq=False)
class _Gate:
    node: str
    kind: Gate
    joins: bool
    into: dict[int, _Arrow] = field(default_factory=dict)
    out: dict[int, _Arrow] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Arrow:
    """A branch between two gates, with the parts done on it."""

    source: _Gate
    target: _Gate
    parts: tuple[Block, ...]
    choice: Choice = PLAIN
    branches: list[_Arrow] = field(default_factory=list)
    """The arrows it was made from, if it consists of some of the branches between the two gates only."""

    @property
    def block(self) -> Block:
        return self.parts[0] if len(self.parts) == 1 else Sequence(self.parts)


class _Reduction:
    def __init__(self, net: Net) -> None:
        self.between: dict[tuple[int, int], list[_Arrow]] = {}
        self.flows = Counter(flow.source for flow in net.flows)
        entry: dict[str, _Gate] = {}
        leave: dict[str, _Gate] = {}
        for node in (*net.conditions, *net.tasks):
            task = net.tasks.get(node)
            entry[node] = _Gate(node, task.join if task else "xor", joins=True)
            leave[node] = _Gate(node, task.split if task else "xor", joins=False)
            ends = node in {net.input, net.output}
            self.add(_Arrow(entry[node], leave[node], () if ends else (Step(node=node),)))
        for rank, flow in enumerate(net.flows):
            self.add(_Arrow(leave[flow.source], entry[flow.target], (), Choice.of(flow, rank)))
        self.gates = [gate for node in entry for gate in (entry[node], leave[node])]
        self.ends = (entry[net.input], leave[net.output])
        self.waiting = deque(self.gates)
        self.partial: deque[tuple[_Gate, _Gate]] = deque()
        """Splits and joins with several branches between them and others elsewhere: merged only if nothing else fits."""

    def run(self) -> None:
        for together in list(self.between.values()):
            if together:
                self.merge(together[0])
        while self.waiting or self.partial:
            if self.waiting:
                gate = self.waiting.popleft()
                if len(gate.into) == len(gate.out) == 1:
                    self.pass_through(gate)
            else:
                self.branch(list(self.together(*self.partial.popleft())))

    def together(self, source: _Gate, target: _Gate) -> list[_Arrow]:
        return self.between.get((id(source), id(target)), [])

    def add(self, arrow: _Arrow) -> None:
        arrow.source.out[id(arrow)] = arrow
        arrow.target.into[id(arrow)] = arrow
        self.between.setdefault((id(arrow.source), id(arrow.target)), []).append(arrow)

    def remove(self, arrow: _Arrow) -> None:
        del arrow.source.out[id(arrow)]
        del arrow.target.into[id(arrow)]
        self.together(arrow.source, arrow.target).remove(arrow)

    def pass_through(self, gate: _Gate) -> None:
        (before,), (after,) = gate.into.values(), gate.out.values()
        if before.source is gate:
            return
        self.remove(before)
        self.remove(after)
        arrow = _Arrow(before.source, after.target, before.parts + after.parts, before.choice)
        self.add(arrow)
        self.merge(arrow)

    def merge(self, arrow: _Arrow) -> None:
        """Make one block of this arrow and those that lead the same way, or back."""
        source, target = arrow.source, arrow.target
        together = self.together(source, target)
        if len(together) > 1 and source.kind == target.kind:
            if len(together) == len(source.out) == len(target.into):
                self.branch(list(together))
            elif source.kind != "or":
                self.partial.append((source, target))
        for back in list(self.together(target, source)):
            for first in list(self.together(source, target)):
                self.close_loop(first, back)

    def branch(self, together: list[_Arrow]) -> None:
        if len(together) <= 1:
            return
        for arrow in together:
            self.remove(arrow)
        split, join = together[0].source, together[0].target
        branches = sorted(
            (one for arrow in together for one in arrow.branches or [arrow]), key=lambda one: one.choice.rank
        )
        choices = tuple(one.choice for one in branches)
        whole = Choice.together(choices)
        partial = whole.flows < self.flows[split.node]
        block = Branches(
            tuple(one.block for one in branches), split.kind, choices, split.node, join.node, partial
        )
        self.add(_Arrow(split, join, (block,), whole, branches))
        self.waiting.extend((split, join))

    def close_loop(self, one: _Arrow, other: _Arrow) -> None:
        for forth, back in ((one, other), (other, one)):
            join, split = forth.source, forth.target
            shaped = join.joins and not split.joins and join.kind == split.kind == "xor"
            if not shaped or len(join.out) > 1 or len(split.into) > 1:
                continue
            self.remove(back)
            leaving = [arrow.choice for arrow in split.out.values()]
            leave = leaving[0] if len(leaving) == 1 else Choice.together(leaving)
            forth.parts = (Loop((forth.block, back.block), (leave, back.choice), split.node, join.node),)
            self.waiting.extend((join, split))
            return


def tree_of(net: Net) -> Block:
    """Return the tree of a net; a `Unstructured` if it is not block-structured."""
    reduction = _Reduction(net)
    reduction.run()
    left = [together for together in reduction.between.values() if together]
    if any(arrow.block.depth > _MAX_DEPTH for together in left for arrow in together):
        message = f"More than {_MAX_DEPTH} blocks are nested. Move some of them into a separate net."
        raise WorkflowError([("", message)], f"The workflow {net.id!r} is nested too deeply.")
    first = left[0][0]
    if len(left) == len(left[0]) == 1 and (first.source, first.target) == reduction.ends:
        return first.block
    gates = [gate.node for gate in reduction.gates if len(gate.into) > 1 or len(gate.out) > 1]
    pairs = [(arrows[0].source, arrows[0].target) for arrows in left if len(arrows) > 1]
    return Unstructured(
        tuple(arrow.block for arrows in left for arrow in arrows),
        tuple(dict.fromkeys(gates)),
        tuple(Mismatch(one.node, one.kind, two.node, two.kind) for one, two in pairs if one.kind != two.kind),
    )


def unstructured_because(tree: Block) -> str | None:
    """Return why a net is not block-structured, or None if it is."""
    if not isinstance(tree, Unstructured):
        return None
    for one in tree.mismatches:
        return f"'{one.split}' is an {one.split_kind}-split, and '{one.join}', where its branches meet, is an {one.join_kind}-join."
    if not tree.gates:
        return "Not every task is on a path from the input to the output."
    gates = quoted(tree.gates)
    return f"The gates of {gates} do not form blocks with one entry and one exit."
