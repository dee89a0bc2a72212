"""Build a net from its blocks: gates return to the tasks next to them, or become silent tasks where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from halflap.workflows.model.block import PLAIN, Branches, Choice, Sequence, Step
from halflap.workflows.model.net import Flow, Net, Task

if TYPE_CHECKING:
    from halflap.workflows.model.block import Block, Structure
    from halflap.workflows.model.net import Gate

__all__ = ["build"]

_CLOSE = 1e-9
_Kind = Literal["task", "place", "split", "join"]


@dataclass(slots=True, eq=False)
class _Edge:
    source: _Node
    target: _Node
    choice: Choice
    weight: float


@dataclass(slots=True, eq=False)
class _Node:
    kind: _Kind
    name: str | None
    gate: Gate = "xor"
    into: list[_Edge] = field(default_factory=list)
    out: list[_Edge] = field(default_factory=list)
    join: Gate | None = None
    split: Gate | None = None
    """The gates that a task got."""


@dataclass(slots=True, eq=False)
class _End:
    """Where the next block is attached."""

    node: _Node
    choice: Choice = PLAIN
    weight: float = 1.0


def build(net: Net, structure: Structure) -> Net:
    """Return the net of a structure that was made from the blocks of `net`."""
    builder = _Builder(net)
    begin = builder.node("place", net.input)
    if structure.block is not None:
        end = builder.lay(structure.block, _End(begin))
        builder.lead(end, builder.node("place", net.output))
        return builder.finish()
    corners = structure.corners
    gates = [builder.node("join" if one.joins else "split", one.node, one.kind) for one in corners]
    for link in structure.links:
        end = builder.lay(link.way.block, _End(gates[link.source], link.way.choice, link.way.weight))
        builder.lead(end, gates[link.target])
    pairs = list(zip(gates, corners, strict=True))
    entry = next(gate for gate, one in pairs if one.node == net.input)
    leave = next(gate for gate, one in reversed(pairs) if one.node == net.output)
    builder.lead(_End(begin), entry)
    builder.lead(_End(leave), builder.node("place", net.output))
    return builder.finish()


class _Builder:
    def __init__(self, net: Net) -> None:
        self.net = net
        self.nodes: list[_Node] = []

    def node(self, kind: _Kind, name: str | None, gate: Gate = "xor") -> _Node:
        made = _Node(kind, name, gate)
        self.nodes.append(made)
        return made

    def lead(self, end: _End, target: _Node) -> _End:
        edge = _Edge(end.node, target, end.choice, end.weight)
        end.node.out.append(edge)
        target.into.append(edge)
        return _End(target)

    def lay(self, block: Block, end: _End) -> _End:
        if isinstance(block, Step):
            kind: _Kind = "task" if block.node in self.net.tasks else "place"
            return self.lead(end, self.node(kind, block.node))
        if isinstance(block, Sequence):
            for part in block.parts:
                end = self.lay(part, end)
            return end
        if isinstance(block, Branches):
            split = self.lead(end, self.node("split", block.split, block.kind)).node
            ends = [self.lay(way.block, _End(split, way.choice, way.weight)) for way in block.ways]
            join = self.node("join", block.join, block.kind)
            for one in ends:
                self.lead(one, join)
            return _End(join)
        begin = self.lead(end, self.node("join", block.join)).node
        split = self.lead(self.lay(block.body, _End(begin)), self.node("split", block.split)).node
        back = self.lay(block.again.block, _End(split, block.again.choice, block.again.weight))
        self.lead(back, begin)
        return _End(split, block.leave, block.leave_weight)

    # Gates return to tasks ----------------------------------------------------------------------------

    def fold(self) -> None:
        """Give gates back: first to the tasks they came from, then to any next to them."""
        for own in (True, False):
            changed = True
            while changed:
                changed = False
                for node in list(self.nodes):
                    if (node.kind == "split" and len(node.into) == 1 and self.fold_split(node, own=own)) or (
                        node.kind == "join" and len(node.out) == 1 and self.fold_join(node, own=own)
                    ):
                        self.nodes.remove(node)
                        changed = True

    def fold_split(self, gate: _Node, *, own: bool) -> bool:
        (edge,) = gate.into
        before = edge.source
        same = before.name == gate.name
        if own and not same:
            return False
        if len(gate.out) == 1:
            # A gate with one way out decides nothing.
            gate.out[0].choice, gate.out[0].weight = edge.choice, edge.weight
        elif before.kind == "task":
            if before.split is not None and not (same and before.split == gate.gate != "or"):
                return False
            before.split = gate.gate
        elif before.kind == "place":
            if gate.gate != "xor" or not same:
                return False
        elif before.kind != "split" or before.gate != gate.gate or not same:
            return False
        at = before.out.index(edge)
        before.out[at : at + 1] = gate.out
        for one in gate.out:
            one.source = before
        return True

    def fold_join(self, gate: _Node, *, own: bool) -> bool:
        (edge,) = gate.out
        after = edge.target
        same = after.name == gate.name
        if own and not same:
            return False
        if len(gate.into) > 1:
            if after.kind == "task":
                if after.join is not None and not (same and after.join == gate.gate != "or"):
                    return False
                after.join = gate.gate
            elif after.kind == "place":
                if gate.gate != "xor":
                    return False
            elif after.kind != "join" or after.gate != gate.gate or not same:
                return False
        at = after.into.index(edge)
        after.into[at : at + 1] = gate.into
        for one in gate.into:
            one.target = after
        return True

    # The net ------------------------------------------------------------------------------------------

    def finish(self) -> Net:
        self.fold()
        self.unite()
        tasks = {node.name: self.task(node) for node in self.nodes if node.kind == "task" and node.name}
        for node in self.nodes:
            if node.kind in {"split", "join"}:
                node.name = self.free(node.name, tasks) or self.fresh(node.kind, tasks)
                tasks[node.name] = self.gate(node, node.name)
        flows = self.flows(tasks)
        places = {node.name for node in self.nodes if node.kind == "place"} | {
            self.net.input,
            self.net.output,
        }
        conditions = {name: one for name, one in self.net.conditions.items() if name in places}
        known = {*tasks, *conditions, "", *(flow.key for flow in flows)}
        lost = dict.fromkeys(
            f"Not kept, since {one.at!r} is gone: {one.name}." for one in self.net.kept if one.at not in known
        )
        ordered = {name: tasks[name] for name in self.net.tasks if name in tasks}
        return replace(
            self.net,
            tasks={**ordered, **tasks},
            conditions=conditions,
            flows=flows,
            kept=tuple(one for one in self.net.kept if one.at in known),
            notes=(*self.net.notes, *lost),
        )

    def unite(self) -> None:
        """Make one silent task of a join and the split right behind it."""
        for node in list(self.nodes):
            if node.kind == "join" and len(node.out) == 1 and node.out[0].target.kind == "split":
                split = node.out[0].target
                if len(split.into) == 1:
                    node.split, node.out = split.gate, split.out
                    node.name = self.free(node.name) or self.free(split.name)
                    for edge in node.out:
                        edge.source = node
                    self.nodes.remove(split)

    def free(self, name: str | None, taken: dict[str, Task] | None = None) -> str | None:
        """Return the name of a silent task that is no longer a step, for a gate to use."""
        task = self.net.tasks.get(name or "")
        if task is None or task.label is not None or (taken and task.id in taken):
            return None
        return None if any(node.kind == "task" and node.name == task.id for node in self.nodes) else task.id

    def fresh(self, stem: str, taken: dict[str, Task]) -> str:
        name, number = stem, 1
        while (
            name in taken
            or name in self.net.conditions
            or (name in self.net.tasks and self.free(name, taken) is None)
        ):
            number += 1
            name = f"{stem}_{number}"
        return name

    def task(self, node: _Node) -> Task:
        task = self.net.tasks[node.name or ""]
        return replace(task, join=node.join or task.join, split=node.split or task.split)

    def gate(self, node: _Node, name: str) -> Task:
        join: Gate = node.gate if node.kind == "join" else "xor"
        split: Gate = node.gate if node.kind == "split" else node.split or "and"
        old = self.net.tasks.get(name)
        return Task(name, None, join, split) if old is None else replace(old, join=join, split=split)

    def flows(self, tasks: dict[str, Task]) -> tuple[Flow, ...]:
        old = {(flow.source, flow.target): at for at, flow in enumerate(self.net.flows)}
        found: dict[tuple[str, str], Flow] = {}
        more: list[Flow] = []
        for node in self.nodes:
            for edge, choice in zip(node.out, self.choices(node, tasks), strict=True):
                source, target = edge.source.name or "", edge.target.name or ""
                if (source, target) in found or (source not in tasks and target not in tasks):
                    # Neither two flows between the same nodes nor two conditions in a row are allowed.
                    name = self.fresh("skip", tasks)
                    tasks[name] = Task(name, None)
                    more.append(Flow(name, target))
                    target = name
                found[source, target] = Flow(source, target, *choice)
        flows = [*found.values(), *more]
        flows.sort(key=lambda flow: old.get((flow.source, flow.target), len(old)))
        return tuple(flows)

    def choices(self, node: _Node, tasks: dict[str, Task]) -> list[Choice]:
        """Return what each flow out of a node states; the probabilities of a choice sum to 1, or there are none."""
        stated = [edge.choice for edge in node.out]
        task = tasks.get(node.name or "")
        if len(stated) == 1:
            return [PLAIN if one.probability not in {None, 1} or one.decides else one for one in stated]
        if task is not None and task.split == "and":
            return [PLAIN] * len(stated)
        chances = [one.probability for one in stated if one.probability is not None]
        weights = [edge.weight for edge in node.out]
        whole = sum(weights)
        alike = not chances and len(set(weights)) <= 1
        complete = len(chances) == len(stated) and abs(sum(chances) - 1) < _CLOSE
        if alike or complete or (task is not None and task.split == "or"):
            return stated
        if whole <= 0:
            return [one._replace(probability=None) for one in stated]
        return [one._replace(probability=weight / whole) for one, weight in zip(stated, weights, strict=True)]
