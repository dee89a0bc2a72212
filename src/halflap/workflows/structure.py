"""Whether a workflow is made of blocks, and of which: its gates are reduced until one arrow is left, or none fits.

Every node is taken apart into the gate of its join, what it does, and the gate of its split; a condition has two gates
of kind xor. Then, as long as there is one: a gate with one way in and one way out is passed through; several ways
from a split to a join of its kind are one block; a way from a xor-split back to the xor-join that leads to it is a
loop. Each step keeps what the workflow can do, so what is left at the end, if it is one way, is its tree exactly. A
split of several ways may be taken as several splits of its kind, one within the other, if they are and or xor; of an
or-split all ways have to come together in one or-join at once.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from halflap.workflows.block import EMPTY, Block

if TYPE_CHECKING:
    from halflap.workflows.net import Gate, Net

__all__ = ["Mismatch", "Structure", "structure"]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A split whose ways come together in a join of another kind."""

    split: str
    split_kind: Gate
    join: str
    join_kind: Gate


@dataclass(frozen=True, slots=True)
class Structure:
    """The tree of a workflow, or why there is none."""

    tree: Block | None
    problem: str | None = None
    gates: tuple[str, ...] = ()
    """The tasks and conditions at whose gates nothing fits, as they are listed in the workflow."""
    mismatches: tuple[Mismatch, ...] = ()


@dataclass(slots=True, eq=False)
class _Tree:
    """A block that is being put together; a task or nothing is no `_Tree`, but its id or None."""

    kind: Literal["sequence", "and", "xor", "or", "loop"]
    parts: deque[tuple[int, _Part]]
    """Each with its place among the ways of its split; in a sequence and a loop their order counts."""


_Part = _Tree | str | None


@dataclass(slots=True, eq=False)
class _Way:
    source: _Gate
    target: _Gate
    does: _Part
    rank: int
    """Its place among the ways out of its source."""


@dataclass(slots=True, eq=False)
class _Gate:
    node: str
    kind: Gate
    joins: bool
    into: dict[int, _Way] = field(default_factory=dict)
    out: dict[int, _Way] = field(default_factory=dict)
    """Both by the identity of the way."""


class _Reduction:
    """The ways that are left, and what may fit next."""

    def __init__(self, net: Net) -> None:
        self.ways: dict[tuple[int, int], list[_Way]] = {}
        self.waiting: deque[_Gate] = deque()
        self.gates: list[_Gate] = []
        entry: dict[str, _Gate] = {}
        leave: dict[str, _Gate] = {}
        for node in (*net.conditions, *net.tasks):
            task = net.tasks.get(node)
            entry[node] = _Gate(node, task.join if task else "xor", joins=True)
            leave[node] = _Gate(node, task.split if task else "xor", joins=False)
            self.gates += [entry[node], leave[node]]
        self.source, self.sink = entry[net.input], leave[net.output]
        for node in (*net.conditions, *net.tasks):
            self.add(_Way(entry[node], leave[node], node if node in net.tasks else None, 0))
        for rank, flow in enumerate(net.flows):
            self.add(_Way(leave[flow.source], entry[flow.target], None, rank))
        self.waiting.extend(self.gates)

    def add(self, way: _Way) -> None:
        way.source.out[id(way)] = way
        way.target.into[id(way)] = way
        self.ways.setdefault((id(way.source), id(way.target)), []).append(way)

    def remove(self, way: _Way) -> None:
        del way.source.out[id(way)]
        del way.target.into[id(way)]
        together = self.ways[id(way.source), id(way.target)]
        together.remove(way)
        if not together:
            del self.ways[id(way.source), id(way.target)]

    def run(self) -> None:
        for together in list(self.ways.values()):
            if together:
                self.merge(together[0])
        while self.waiting:
            gate = self.waiting.popleft()
            if len(gate.into) == len(gate.out) == 1:
                self.pass_through(gate)

    def pass_through(self, gate: _Gate) -> None:
        (before,), (after,) = gate.into.values(), gate.out.values()
        if before.source is gate:
            return
        self.remove(before)
        self.remove(after)
        way = _Way(before.source, after.target, _in_sequence(before.does, after.does), before.rank)
        self.add(way)
        self.merge(way)

    def merge(self, way: _Way) -> None:
        """Make one block of this way and what leads the same way, or back."""
        source, target = way.source, way.target
        together = self.ways[id(source), id(target)]
        complete = len(together) == len(source.out) == len(target.into)
        if len(together) > 1 and source.kind == target.kind and (complete or source.kind != "or"):
            self.make_one(together)
        for first in list(self.ways.get((id(source), id(target)), ())):
            for back in list(self.ways.get((id(target), id(source)), ())):
                self.close_loop(first, back)

    def make_one(self, together: list[_Way]) -> None:
        first, *others = list(together)
        assert first.source.kind == first.target.kind
        kind = first.source.kind
        if not (isinstance(first.does, _Tree) and first.does.kind == kind):
            first.does = _Tree(kind, deque([(first.rank, first.does)]))
        for way in others:
            first.does.parts.append((way.rank, way.does))
            first.rank = min(first.rank, way.rank)
            self.remove(way)
        self.waiting.extend((first.source, first.target))

    def close_loop(self, one: _Way, other: _Way) -> None:
        for forth, back in ((one, other), (other, one)):
            join, split = forth.source, forth.target
            if (
                join.joins
                and not split.joins
                and join.kind == split.kind == "xor"
                and len(join.out) == len(split.into) == 1
            ):
                self.remove(back)
                forth.does = _Tree("loop", deque([(0, forth.does), (1, back.does)]))
                self.waiting.extend((join, split))
                return


def structure(net: Net) -> Structure:
    """Find the tree of a workflow, if it is made of blocks."""
    reduction = _Reduction(net)
    reduction.run()
    left = [way for together in reduction.ways.values() for way in together]
    if len(left) == 1 and left[0].source is reduction.source and left[0].target is reduction.sink:
        return Structure(_finished(left[0].does))
    open_gates = [gate for gate in reduction.gates if len(gate.into) > 1 or len(gate.out) > 1]
    mismatches = tuple(
        Mismatch(split.node, split.kind, join.node, join.kind)
        for split in open_gates
        for join in {id(way.target): way.target for way in split.out.values()}.values()
        if len(reduction.ways.get((id(split), id(join)), ())) > 1 and split.kind != join.kind
    )
    gates = tuple(dict.fromkeys(gate.node for gate in open_gates))
    if mismatches:
        first = mismatches[0]
        problem = (
            f"'{first.split}' splits by {first.split_kind}, and '{first.join}', where its ways come together, "
            f"joins by {first.join_kind}."
        )
    elif gates:
        named = ", ".join(f"'{gate}'" for gate in gates[:5]) + (", …" if len(gates) > 5 else "")  # noqa: PLR2004 (as many as can be read)
        problem = f"The gates of {named} do not form blocks with one way in and one way out."
    else:
        problem = "Not every task is on a way from the input to the output."
    return Structure(None, problem, gates, mismatches)


def _in_sequence(first: _Part, second: _Part) -> _Part:
    if first is None:
        return second
    if second is None:
        return first
    front = first if isinstance(first, _Tree) and first.kind == "sequence" else None
    rear = second if isinstance(second, _Tree) and second.kind == "sequence" else None
    # The shorter goes into the longer, so that long sequences are not copied again and again.
    if front is not None and (rear is None or len(front.parts) >= len(rear.parts)):
        front.parts.extend(rear.parts if rear is not None else [(0, second)])
        return front
    if rear is not None:
        rear.parts.extendleft(reversed(front.parts) if front is not None else [(0, first)])
        return rear
    return _Tree("sequence", deque([(0, first), (0, second)]))


def _finished(part: _Part) -> Block:
    """Make a tree of what was put together; blocks of one kind within one another become one."""
    done: list[Block] = []
    waiting: list[tuple[_Part, bool]] = [(part, False)]
    while waiting:
        one, opened = waiting.pop()
        if not isinstance(one, _Tree):
            done.append(EMPTY if one is None else Block("task", task=one))
        elif not opened:
            waiting.append((one, True))
            ordered = list(one.parts)
            if one.kind not in {"sequence", "loop"}:
                ordered.sort(key=lambda ranked: ranked[0])
            waiting.extend((child, False) for _, child in reversed(ordered))
        else:
            count = len(one.parts)
            children = done[-count:]
            del done[-count:]
            if one.kind in {"and", "xor", "sequence"}:
                children = [
                    inner
                    for child in children
                    for inner in (child.children if child.kind == one.kind else (child,))
                ]
            done.append(Block(one.kind, tuple(children)))
    return done[0]
