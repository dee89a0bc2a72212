"""From a net to its tree: gates are reduced until one arrow is left, or nothing fits any more.

Every node is split into the gate of its join, what it does, and the gate of its split; a condition has two xor gates. Then, as long as possible: a
gate with one way in and one way out is passed through; several ways from a split to a join of its kind become one block; a way from an
xor-split back to the xor-join that leads to it is a loop. Each step preserves behaviour. An and- or xor-split may be closed in several
steps; all ways of an or-split have to meet in one or-join at once. What is left over is a `Tangle`.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.errors import WorkflowError
from halflap.core.text import join as listed
from halflap.workflows.model.block import (
    PLAIN,
    Block,
    Branches,
    Choice,
    Corner,
    Loop,
    Sequence,
    Step,
    Tangle,
)

if TYPE_CHECKING:
    from halflap.workflows.model.net import Gate, Net

_MAX_DEPTH = 100
"""How many blocks may be nested; the analysis recurses over them."""
_MAX_NAMED = 5


@dataclass(slots=True, eq=False)
class _Gate:
    node: str
    kind: Gate
    joins: bool
    into: dict[int, _Arrow] = field(default_factory=dict)
    out: dict[int, _Arrow] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class _Arrow:
    """A way between two gates, with the parts done on it. Parts are a deque, so that long sequences are not copied."""

    source: _Gate
    target: _Gate
    parts: deque[Block]
    choice: Choice = PLAIN
    depth: int = 0
    ways: list[_Arrow] = field(default_factory=list)
    """The arrows it was made from, if it is nothing but some of the ways between the two gates."""

    @property
    def block(self) -> Block:
        return self.parts[0] if len(self.parts) == 1 else Sequence(tuple(self.parts))


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
            self.add(_Arrow(entry[node], leave[node], deque([] if ends else [Step(node=node)])))
        for rank, flow in enumerate(net.flows):
            self.add(_Arrow(leave[flow.source], entry[flow.target], deque(), Choice.of(flow, rank)))
        self.gates = [gate for node in entry for gate in (entry[node], leave[node])]
        self.ends = (entry[net.input], leave[net.output])
        self.waiting = deque(self.gates)
        self.partial: deque[tuple[_Gate, _Gate]] = deque()
        """Splits and joins with several ways between them and others elsewhere: merged only if nothing else fits."""

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
        parts = before.parts
        if len(parts) >= len(after.parts):
            parts.extend(after.parts)
        else:
            parts = after.parts
            parts.extendleft(reversed(before.parts))
        depth = max(before.depth, after.depth)
        arrow = _Arrow(before.source, after.target, parts, before.choice, depth)
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
        ways = sorted(
            (one for arrow in together for one in arrow.ways or [arrow]), key=lambda one: one.choice.rank
        )
        choices = tuple(one.choice for one in ways)
        whole = Choice.together(choices)
        partial = whole.flows < self.flows[split.node]
        block = Branches(
            tuple(one.block for one in ways), split.kind, choices, split.node, join.node, partial
        )
        depth = 1 + max(one.depth for one in ways)
        self.add(_Arrow(split, join, deque([block]), whole, depth, ways))
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
            loop = Loop((forth.block, back.block), (leave, back.choice), split.node, join.node)
            forth.parts = deque([loop])
            forth.depth = 1 + max(forth.depth, back.depth)
            self.waiting.extend((join, split))
            return


def tree_of(net: Net) -> Block:
    """Return the tree of a net; a `Tangle` if it is not block-structured."""
    reduction = _Reduction(net)
    reduction.run()
    left = [arrow for together in reduction.between.values() for arrow in together]
    if any(arrow.depth > _MAX_DEPTH for arrow in left):
        message = f"More than {_MAX_DEPTH} blocks are nested. Move some of them into a separate net."
        raise WorkflowError([("", message)], f"The workflow {net.id!r} is nested too deeply.")
    if len(left) == 1 and (left[0].source, left[0].target) == reduction.ends:
        return left[0].block
    gates = [gate for gate in reduction.gates if gate.into or gate.out]
    place = {id(gate): at for at, gate in enumerate(gates)}
    left.sort(key=lambda arrow: (place[id(arrow.source)], arrow.choice.rank, place[id(arrow.target)]))
    return Tangle(
        tuple(arrow.block for arrow in left),
        tuple(arrow.choice for arrow in left),
        tuple((place[id(arrow.source)], place[id(arrow.target)]) for arrow in left),
        tuple(Corner(gate.node, gate.kind, gate.joins) for gate in gates),
    )


# What is not block-structured -------------------------------------------------------------------------


class Mismatch(NamedTuple):
    """A split whose ways meet in a join of another kind."""

    split: Corner
    join: Corner

    def __str__(self) -> str:
        return (
            f"'{self.split.node}' is an {self.split.kind}-split, and '{self.join.node}', where its ways meet, "
            f"is an {self.join.kind}-join."
        )


def mismatches(tree: Block) -> list[Mismatch]:
    if not isinstance(tree, Tangle):
        return []
    pairs = [(tree.corners[one], tree.corners[two]) for one, two in tree.links]
    count = Counter(pairs)
    return [Mismatch(one, two) for one, two in count if count[one, two] > 1 and one.kind != two.kind]


def loose_gates(tree: Block) -> list[str]:
    """Return the nodes whose gates are in no block, as listed in the net."""
    if not isinstance(tree, Tangle):
        return []
    ends = Counter((end, at) for link in tree.links for end, at in enumerate(link))
    listed_ = enumerate(tree.corners)
    return list(dict.fromkeys(one.node for at, one in listed_ if ends[at, 0] > 1 or ends[at, 1] > 1))


def unstructured_because(tree: Block) -> str | None:
    """Return why a net is not block-structured, or None if it is."""
    if not isinstance(tree, Tangle):
        return None
    found = mismatches(tree)
    gates = listed((f"'{gate}'" for gate in loose_gates(tree)), limit=_MAX_NAMED)
    if found:
        return str(found[0])
    if not gates:
        return "Not every task is on a path from the input to the output."
    return f"The gates of {gates} do not form blocks with one entry and one exit."
