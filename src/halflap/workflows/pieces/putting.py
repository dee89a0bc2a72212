"""A workflow is put together from its pieces: gates go back to the tasks beside them, or become silent tasks where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from halflap.workflows.net import Flow, Net, Task
from halflap.workflows.pieces.piece import PLAIN, Branching, Said, Series, Step

if TYPE_CHECKING:
    from halflap.workflows.net import Gate
    from halflap.workflows.pieces.piece import Layout, Piece

__all__ = ["net_of"]

_CLOSE = 1e-9


@dataclass(slots=True, eq=False)
class _Edge:
    source: _Node
    target: _Node
    said: Said
    weight: float


@dataclass(slots=True, eq=False)
class _Node:
    kind: Literal["task", "place", "split", "join"]
    name: str | None
    gate: Gate = "xor"
    into: list[_Edge] = field(default_factory=list)
    out: list[_Edge] = field(default_factory=list)
    join: Gate | None = None
    split: Gate | None = None
    """Of a task: the gates that it got."""


@dataclass(slots=True, eq=False)
class _End:
    """Where what comes next is to be joined on."""

    node: _Node
    said: Said = PLAIN
    weight: float = 1.0


class _Putting:
    def __init__(self, net: Net) -> None:
        self.net = net
        self.nodes: list[_Node] = []

    def node(
        self, kind: Literal["task", "place", "split", "join"], name: str | None, gate: Gate = "xor"
    ) -> _Node:
        made = _Node(kind, name, gate)
        self.nodes.append(made)
        return made

    def lead(self, end: _End, target: _Node) -> _End:
        edge = _Edge(end.node, target, end.said, end.weight)
        end.node.out.append(edge)
        target.into.append(edge)
        return _End(target)

    def lay(self, piece: Piece, end: _End) -> _End:
        """Lay a piece behind an end, and give the new end."""
        if isinstance(piece, Step):
            kind: Literal["task", "place"] = "task" if piece.node in self.net.tasks else "place"
            return self.lead(end, self.node(kind, piece.node))
        if isinstance(piece, Series):
            for part in piece.parts:
                end = self.lay(part, end)
            return end
        if isinstance(piece, Branching):
            split = self.lead(end, self.node("split", piece.split, piece.kind)).node
            ends = [self.lay(way.piece, _End(split, way.said, way.weight)) for way in piece.ways]
            join = self.node("join", piece.join, piece.kind)
            for one in ends:
                self.lead(one, join)
            return _End(join)
        begin = self.lead(end, self.node("join", piece.join)).node
        split = self.lead(self.lay(piece.body, _End(begin)), self.node("split", piece.split)).node
        back = self.lay(piece.again.piece, _End(split, piece.again.said, piece.again.weight))
        self.lead(back, begin)
        return _End(split, piece.leave, piece.leave_weight)

    def fold(self) -> None:
        """Give gates back: first to their own, then to whoever stands beside them."""
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
            # A gate with one way out decides nothing, and what is said of that way is not needed.
            gate.out[0].said, gate.out[0].weight = edge.said, edge.weight
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
        if own and after.name != gate.name:
            return False
        if len(gate.into) == 1:
            pass
        elif after.kind == "task":
            if after.join is not None and not (after.name == gate.name and after.join == gate.gate != "or"):
                return False
            after.join = gate.gate
        elif after.kind == "place":
            if gate.gate != "xor":
                return False
        elif after.kind != "join" or after.gate != gate.gate or after.name != gate.name:
            return False
        at = after.into.index(edge)
        after.into[at : at + 1] = gate.into
        for one in gate.into:
            one.target = after
        return True

    def finish(self) -> Net:
        self.fold()
        for node in list(self.nodes):
            # A join and the split behind it are one silent task.
            if node.kind == "join" and len(node.out) == 1 and node.out[0].target.kind == "split":
                split = node.out[0].target
                if len(split.into) == 1:
                    node.split, node.out = split.gate, split.out
                    node.name = self._free(node.name) or self._free(split.name)
                    for edge in node.out:
                        edge.source = node
                    self.nodes.remove(split)
        tasks = {node.name: self._task(node) for node in self.nodes if node.kind == "task" and node.name}
        for node in self.nodes:
            if node.kind in {"split", "join"}:
                name = self._free(node.name, tasks) or self._fresh(node.kind, tasks)
                node.name = name
                tasks[name] = self._gate(node, name)
        flows = self._flows(tasks)
        kept_tasks = {name: tasks[name] for name in self.net.tasks if name in tasks}
        places = {node.name for node in self.nodes if node.kind == "place"}
        conditions = {
            name: one
            for name, one in self.net.conditions.items()
            if name in places or name in {self.net.input, self.net.output}
        }
        known = {*tasks, *conditions, "", *(f"{flow.source} -> {flow.target}" for flow in flows)}
        lost = [one for one in self.net.kept if one.at not in known]
        told = (f"Not kept, since {one.at!r} is there no more: {one.name}." for one in lost)
        return replace(
            self.net,
            tasks={**kept_tasks, **tasks},
            conditions=conditions,
            flows=flows,
            kept=tuple(one for one in self.net.kept if one.at in known),
            notes=(*self.net.notes, *dict.fromkeys(told)),
        )

    def _free(self, name: str | None, taken: dict[str, Task] | None = None) -> str | None:
        """Give the name of a silent task that is no longer a step, so that a gate can have it."""
        task = self.net.tasks.get(name or "")
        steps = {node.name for node in self.nodes if node.kind == "task"}
        if task is None or task.label is not None or task.id in steps or (taken and task.id in taken):
            return None
        return task.id

    def _fresh(self, stem: str, taken: dict[str, Task]) -> str:
        number = 1
        while True:
            name = stem if number == 1 else f"{stem}_{number}"
            if name not in taken and name not in self.net.tasks and name not in self.net.conditions:
                return name
            number += 1

    def _task(self, node: _Node) -> Task:
        task = self.net.tasks[node.name or ""]
        return replace(task, join=node.join or task.join, split=node.split or task.split)

    def _gate(self, node: _Node, name: str) -> Task:
        join: Gate = node.gate if node.kind == "join" else "xor"
        split: Gate = node.gate if node.kind == "split" else node.split or "and"
        old = self.net.tasks.get(name)
        return Task(name, None, join, split) if old is None else replace(old, join=join, split=split)

    def _flows(self, tasks: dict[str, Task]) -> tuple[Flow, ...]:
        old = {(flow.source, flow.target): at for at, flow in enumerate(self.net.flows)}
        found: dict[tuple[str, str], Flow] = {}
        more: list[Flow] = []
        for node in self.nodes:
            said = self._said(node, tasks)
            for edge, one in zip(node.out, said, strict=True):
                source, target = edge.source.name or "", edge.target.name or ""
                if (source, target) in found or (source not in tasks and target not in tasks):
                    # Two flows of one way, or two conditions in a row: something silent stands between.
                    name = self._fresh("skip", tasks)
                    tasks[name] = Task(name, None)
                    more.append(Flow(name, target))
                    target = name
                found[source, target] = Flow(source, target, *one)
        flows = [*found.values(), *more]
        flows.sort(key=lambda flow: old.get((flow.source, flow.target), len(old)))
        return tuple(flows)

    def _said(self, node: _Node, tasks: dict[str, Task]) -> list[Said]:
        """Give what each flow out of a node says; probabilities of a choice sum to 1, or none has one."""
        said = [edge.said for edge in node.out]
        task = tasks.get(node.name or "")
        if len(said) < 2:  # noqa: PLR2004 (a choice has two ways)
            return [PLAIN if one.probability not in {None, 1} or one.rules else one for one in said]
        if task is not None and task.split == "and":
            return [PLAIN] * len(said)
        chances = [one.probability for one in said if one.probability is not None]
        # Where nothing is said all are alike. Of ways that were made one, it has to be said.
        alike = not chances and len({edge.weight for edge in node.out}) == 1
        if alike or (task is not None and task.split == "or"):
            return said
        if len(chances) == len(said) and abs(sum(chances) - 1) < _CLOSE:
            return said
        weights = [edge.weight for edge in node.out]
        whole = sum(weights)
        if whole <= 0:
            return [one._replace(probability=None) for one in said]
        return [one._replace(probability=weight / whole) for one, weight in zip(said, weights, strict=True)]


def net_of(net: Net, layout: Layout) -> Net:
    """Put a layout together; `net` is what it was made from, and says what its tasks and conditions are."""
    putting = _Putting(net)
    if layout.piece is not None:
        begin = putting.node("place", net.input)
        end = putting.lay(layout.piece, _End(begin))
        putting.lead(end, putting.node("place", net.output))
        return putting.finish()
    gates = [
        putting.node("join" if corner.joins else "split", corner.node, corner.kind)
        for corner in layout.corners
    ]
    begin = putting.node("place", net.input)
    for link in layout.links:
        end = putting.lay(link.way.piece, _End(gates[link.source], link.way.said, link.way.weight))
        putting.lead(end, gates[link.target])
    entry = next(gate for gate, one in zip(gates, layout.corners, strict=True) if one.node == net.input)
    leave = next(
        gate for gate, one in zip(gates[::-1], layout.corners[::-1], strict=True) if one.node == net.output
    )
    putting.lead(_End(begin), entry)
    putting.lead(_End(leave), putting.node("place", net.output))
    return putting.finish()
