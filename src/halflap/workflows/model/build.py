"""From a tree back to a net: each split and join becomes a node, which is then merged with a neighbour where possible."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from halflap.workflows.model.block import PLAIN, Block, Branches, Choice, Loop, Step, steps_of
from halflap.workflows.model.net import Flow, Gate, Net, Task


@dataclass(slots=True, eq=False)
class _Node:
    """A step or a gate, before it is a task or a condition."""

    names: list[str | None]
    """Of a gate, the nodes that it belonged to."""
    is_gate: bool = False
    join: Gate | None = None
    split: Gate | None = None
    into: list[_Arrow] = field(default_factory=list)
    out: list[_Arrow] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.names[0] or ""


@dataclass(slots=True, eq=False)
class _Arrow:
    source: _Node
    target: _Node
    choice: Choice


def build(net: Net, tree: Block) -> Net:
    """Return the net of a tree that was made from the tree of `net`."""
    return _Builder(net, tree).built()


class _Builder:
    def __init__(self, net: Net, tree: Block) -> None:
        self.net = net
        self.steps = {*steps_of(tree), net.input, net.output}
        self.nodes: dict[_Node, None] = {}
        self.connect(self.lay(tree, (self.node(net.input), PLAIN)), self.node(net.output))
        for gate in [one for one in self.nodes if one.is_gate]:
            self.absorb(gate)
        self.tasks: dict[str, Task] = {}
        self.flows: dict[tuple[str, str], Choice] = {}

    # Laying -------------------------------------------------------------------------------------------

    def node(self, name: str | None, *, join: Gate | None = None, split: Gate | None = None) -> _Node:
        made = _Node([name], bool(join or split), join, split)
        self.nodes[made] = None
        return made

    def connect(self, begin: tuple[_Node, Choice], target: _Node) -> None:
        source, choice = begin
        arrow = _Arrow(source, target, choice)
        source.out.append(arrow)
        target.into.append(arrow)

    def lay(self, block: Block, begin: tuple[_Node, Choice]) -> tuple[_Node, Choice]:
        """Lay a block after a node and the choice that leads out of it; return those after the block."""
        if isinstance(block, Step):
            step = self.node(block.node)
            self.connect(begin, step)
            return step, PLAIN
        if isinstance(block, Loop):
            head = self.node(block.join, join="xor")
            self.connect(begin, head)
            body = self.lay(block.parts[0], (head, PLAIN))
            split = self.node(block.split, split="xor")
            self.connect(body, split)
            self.connect(self.lay(block.parts[1], (split, block.choices[1])), head)
            return split, block.choices[0]
        if isinstance(block, Branches):
            split = self.node(block.split, split=block.kind)
            self.connect(begin, split)
            ends = [
                self.lay(*branch)
                for branch in zip(block.parts, ((split, one) for one in block.choices), strict=True)
            ]
            join = self.node(block.join, join=block.kind)
            for end in ends:
                self.connect(end, join)
            return join, PLAIN
        for part in block.parts:
            begin = self.lay(part, begin)
        return begin

    # Gates --------------------------------------------------------------------------------------------

    def absorb(self, gate: _Node) -> None:
        """Merge a split with the node before it, or a join with the node after it, where behaviour stays the same."""
        if gate.join is None and len(gate.into) == 1:
            before = gate.into[0].source
            same = before.name == gate.name != ""
            is_free = before.split is None and len(before.out) == 1
            # Where several flows lead out of a condition, an event outside chooses.
            fits = is_free and (same or before.name not in self.net.conditions)
            if fits or (same and before.split == gate.split != "or"):
                at = before.out.index(gate.into[0])
                before.out[at : at + 1] = gate.out
                before.split = gate.split
                for arrow in gate.out:
                    arrow.source = before
                before.names += gate.names
                del self.nodes[gate]
        elif gate.split is None and len(gate.out) == 1:
            after = gate.out[0].target
            fits = (after.join is None and len(after.into) == 1) or after.join == gate.join != "or"
            if gate.join == "xor" if after.name in self.net.conditions else fits:
                at = after.into.index(gate.out[0])
                after.into[at : at + 1] = gate.into
                after.join = gate.join
                for arrow in gate.into:
                    arrow.target = after
                after.names += gate.names
                del self.nodes[gate]

    def name(self, node: _Node) -> str:
        """Return the name of a node; a gate that is left becomes a silent task, under its old name if that is free."""
        if not node.is_gate:
            return node.name
        old = next((name for name in node.names if name and self.is_free(name)), None)
        return old or self.fresh("join" if node.join else "split")

    def is_free(self, name: str) -> bool:
        task = self.net.tasks.get(name)
        return task is not None and task.label is None and name not in self.steps and name not in self.tasks

    def fresh(self, stem: str) -> str:
        name, number = stem, 1
        while name in self.tasks or name in self.net.conditions or name in self.net.tasks:
            number += 1
            name = f"{stem}_{number}"
        return name

    # The net ------------------------------------------------------------------------------------------

    def built(self) -> Net:
        net = self.net
        names: dict[_Node, str] = {}
        for node in self.nodes:
            name = names[node] = self.name(node)
            if name not in net.conditions:
                task = net.tasks.get(name) or Task(name, None)
                self.tasks[name] = replace(task, join=node.join or task.join, split=node.split or task.split)
        for node in self.nodes:
            for arrow in node.out:
                self.add_flow(names[node], arrow.choice, names[arrow.target])
        tasks = {name: self.tasks[name] for name in (*net.tasks, *self.tasks) if name in self.tasks}
        conditions = {name: one for name, one in net.conditions.items() if name in self.steps}
        flows = self.listed_flows()
        # What was kept of a branch stays with it where it leads elsewhere now.
        moved = {
            net.flows[one.rank].key: f"{source} -> {target}"
            for (source, target), one in self.flows.items()
            if one.rank >= 0 and one.flows == 1
        }
        kept = [replace(one, at=moved.get(one.at, one.at)) for one in net.kept]
        known = {*tasks, *conditions, "", *(flow.key for flow in flows)}
        lost = dict.fromkeys(f"Dropped with {one.at!r}: {one.name}." for one in kept if one.at not in known)
        return replace(
            net,
            tasks=tasks,
            conditions=conditions,
            flows=flows,
            kept=tuple(one for one in kept if one.at in known),
            notes=(*net.notes, *lost),
        )

    def add_flow(self, source: str, choice: Choice, target: str) -> None:
        if (source, target) in self.flows or {source, target} <= self.net.conditions.keys():
            # Neither two flows between the same nodes nor two conditions in a row are allowed.
            skip = self.fresh("skip")
            self.tasks[skip] = Task(skip, None)
            self.flows[skip, target] = PLAIN
            target = skip
        self.flows[source, target] = choice

    def listed_flows(self) -> tuple[Flow, ...]:
        """Return the flows: old ones in their order, those out of a gate in the order of its branches."""
        old = {(flow.source, flow.target): at for at, flow in enumerate(self.net.flows)}
        ranked = []
        for (source, target), one in self.flows.items():
            rank = old.get((source, target), len(old)) if one.rank < 0 else one.rank
            ranked.append(
                (rank, Flow(source, target, one.predicate, one.probability, one.default, one.order))
            )
        return tuple(flow for _, flow in sorted(ranked, key=lambda one: one[0]))
