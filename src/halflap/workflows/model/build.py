"""From a tree back to a net: gates go to the tasks next to them, or become silent tasks where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from halflap.workflows.model.block import (
    PLAIN,
    Block,
    Branches,
    Choice,
    Loop,
    Sequence,
    Step,
    Tangle,
    steps_of,
)
from halflap.workflows.model.net import Flow, Gate, Net, Task

_CLOSE = 1e-9


@dataclass(slots=True, eq=False)
class _Head:
    """The node that later arrows lead back to, once it is known."""

    node: str = ""


@dataclass(slots=True, eq=False)
class _Ends:
    """Arrows to whatever comes next, and the gate at which they meet."""

    arrows: list[tuple[str, Choice]]
    gate: Gate = "xor"
    name: str | None = None
    """The node that had the gate."""
    heads: list[_Head] = field(default_factory=list)

    @property
    def meets(self) -> bool:
        return len(self.arrows) > 1 or bool(self.heads)


def build(net: Net, tree: Block, gates: dict[str, str] | None = None) -> Net:
    """Return the net of a tree that was made from the tree of `net`; `gates` gets the node that had the split of each."""
    return _Builder(net, tree, {} if gates is None else gates).build(tree)


class _Builder:
    def __init__(self, net: Net, tree: Block, gates: dict[str, str]) -> None:
        self.net = net
        self.gates = gates
        self.steps = set(steps_of(tree))
        self.joins: dict[str, Gate] = {}
        self.splits: dict[str, Gate] = {}
        self.tasks: dict[str, Task] = {}
        self.flows: dict[tuple[str, str], Choice] = {}

    # Laying -------------------------------------------------------------------------------------------

    def lay(self, block: Block, ends: _Ends) -> _Ends:
        if isinstance(block, Step):
            return self.enter(block.node, ends)
        if isinstance(block, Sequence):
            for part in block.parts:
                ends = self.lay(part, ends)
            return ends
        if isinstance(block, Loop):
            return self.loop(block, ends)
        assert isinstance(block, Branches)
        source = self.split(block.split, block.kind, ends)
        found = _Ends([], block.kind, block.join)
        for part, choice in zip(block.parts, block.choices, strict=True):
            self.gather(found, self.lay(part, _Ends([(source, choice)])))
        return found

    def loop(self, block: Loop, ends: _Ends) -> _Ends:
        if ends.gate != "xor" and ends.meets:
            ends = self.silent(ends)
        head = _Head()
        body = self.lay(block.parts[0], _Ends(ends.arrows, "xor", block.join, [*ends.heads, head]))
        source = self.split(block.split, "xor", body)
        back = _Ends([])
        self.gather(back, self.lay(block.parts[1], _Ends([(source, block.choices[1])])))
        for arrow in back.arrows:
            self.connect(*arrow, head.node)
        return _Ends([(source, block.choices[0])])

    def tangle(self, block: Tangle) -> None:
        corners = block.corners
        heads = [_Head() for _ in corners]
        arriving = [_Ends([], one.kind) for one in corners]
        waiting = [
            (at, _Ends([(one.node, PLAIN)]) if one.node == self.net.input else _Ends([], one.kind, one.node, [heads[at]]))
            for at, one in enumerate(corners)
            if one.joins
        ]  # fmt: skip
        for corner, ends in waiting:
            for part, choice, (source, target) in zip(block.parts, block.choices, block.links, strict=True):
                if source != corner:
                    continue
                begin = ends if corners[corner].joins else _Ends([(ends.arrows[0][0], choice)])
                out, reached = self.lay(part, begin), corners[target]
                if reached.joins:
                    self.gather(arriving[target], out)
                elif reached.node == self.net.output:
                    self.enter(reached.node, out)
                else:
                    waiting.append((target, _Ends([(self.split(reached.node, reached.kind, out), PLAIN)])))
        for head, found in zip(heads, arriving, strict=True):
            for arrow in found.arrows:
                self.connect(*arrow, head.node)

    def gather(self, found: _Ends, ends: _Ends) -> None:
        """Add the end of a way; where other gates meet at it, they need a task."""
        if ends.heads or (len(ends.arrows) > 1 and (ends.gate != found.gate or found.gate == "or")):
            ends = self.silent(ends)
        found.arrows += ends.arrows

    def split(self, name: str | None, gate: Gate, ends: _Ends) -> str:
        """Return the node that splits: the one before if it can, else a silent task."""
        before = ends.arrows[0][0] if len(ends.arrows) == 1 and not ends.heads else ""
        if before and before == name and self.splits.get(before, gate) == gate != "or":
            node = before
        elif before in self.net.conditions or before in self.splits or not before:
            node = self.silent(ends, name).arrows[0][0]
        else:
            node = before
        self.splits[node] = gate
        self.gates[node] = name or node
        return node

    def silent(self, ends: _Ends, name: str | None = None) -> _Ends:
        old = next((one for one in (ends.name, name) if self.is_free(one)), None)
        node = old or self.fresh("join" if ends.meets else "split")
        self.tasks[node] = self.net.tasks[node] if old else Task(node, None)
        return self.enter(node, ends)

    def enter(self, node: str, ends: _Ends) -> _Ends:
        is_task = node not in self.net.conditions
        if not is_task and ends.meets and ends.gate != "xor":
            ends = self.silent(ends)
        if is_task:
            self.tasks.setdefault(node, self.net.tasks.get(node) or Task(node, None))
            if ends.meets:
                self.joins[node] = ends.gate
        for arrow in ends.arrows:
            self.connect(*arrow, node)
        for head in ends.heads:
            head.node = node
        return _Ends([(node, PLAIN)])

    def connect(self, source: str, choice: Choice, target: str) -> None:
        if (source, target) in self.flows or {source, target} <= self.net.conditions.keys():
            # Neither two flows between the same nodes nor two conditions in a row are allowed.
            skip = self.fresh("skip")
            self.tasks[skip] = Task(skip, None)
            self.flows[skip, target] = PLAIN
            target = skip
        self.flows[source, target] = choice

    def is_free(self, name: str | None) -> bool:
        """Return whether it is the name of a silent task that is no longer a step, for a gate to use."""
        task = self.net.tasks.get(name or "")
        return (
            task is not None
            and task.label is None
            and task.id not in self.steps
            and task.id not in self.tasks
        )

    def fresh(self, stem: str) -> str:
        name, number = stem, 1
        while name in self.tasks or name in self.net.conditions or name in self.net.tasks:
            number += 1
            name = f"{stem}_{number}"
        return name

    # The net ------------------------------------------------------------------------------------------

    def build(self, tree: Block) -> Net:
        net = self.net
        if isinstance(tree, Tangle):
            self.tangle(tree)
        else:
            self.enter(net.output, self.lay(tree, _Ends([(net.input, PLAIN)])))
        made = {name: self.with_gates(task) for name, task in self.tasks.items()}
        tasks = {name: made[name] for name in (*net.tasks, *made) if name in made}
        ends = {net.input, net.output}
        conditions = {name: one for name, one in net.conditions.items() if name in self.steps | ends}
        flows = self.listed_flows(tasks)
        known = {*tasks, *conditions, "", *(flow.key for flow in flows)}
        lost = dict.fromkeys(
            f"Not kept, since {one.at!r} is gone: {one.name}." for one in net.kept if one.at not in known
        )
        return replace(
            net,
            tasks=tasks,
            conditions=conditions,
            flows=flows,
            kept=tuple(one for one in net.kept if one.at in known),
            notes=(*net.notes, *lost),
        )

    def with_gates(self, task: Task) -> Task:
        join, split = self.joins.get(task.id, task.join), self.splits.get(task.id, task.split)
        return task if (join, split) == (task.join, task.split) else replace(task, join=join, split=split)

    def listed_flows(self, tasks: dict[str, Task]) -> tuple[Flow, ...]:
        """Return the flows, old ones in their order and those out of a gate in that of its ways."""
        outgoing: dict[str, dict[str, Choice]] = {}
        for (source, target), choice in self.flows.items():
            outgoing.setdefault(source, {})[target] = choice
        old = {(flow.source, flow.target): at for at, flow in enumerate(self.net.flows)}
        flows: list[tuple[int, Flow]] = []
        for source, ways in outgoing.items():
            for target, choice in zip(ways, _stated(tasks.get(source), [*ways.values()]), strict=True):
                rank = old.get((source, target), len(old)) if choice.rank < 0 else choice.rank
                flows.append((rank, Flow(source, target, *choice[:4])))
        return tuple(flow for _, flow in sorted(flows, key=lambda one: one[0]))


def _stated(task: Task | None, choices: list[Choice]) -> list[Choice]:
    """Return what each flow out of a node states; the probabilities of a choice sum to 1, or there are none."""
    if len(choices) == 1:
        return [one if one.probability == 1 and not one.decides else Choice(rank=one.rank) for one in choices]
    if task is not None and task.split == "and":
        return [Choice(rank=one.rank) for one in choices]
    chances = [one.probability for one in choices if one.probability is not None]
    weights = [one.weight for one in choices]
    alike = not chances and len(set(weights)) <= 1
    complete = len(chances) == len(choices) and abs(sum(chances) - 1) < _CLOSE
    if alike or complete or (task is not None and task.split == "or"):
        return choices
    whole = sum(weights)
    return [
        one._replace(probability=weight / whole if whole > 0 else None)
        for one, weight in zip(choices, weights, strict=True)
    ]
