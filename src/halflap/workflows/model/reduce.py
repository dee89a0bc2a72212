"""Find the blocks of a net: its gates are reduced until one arrow is left, or nothing fits any more.

Every node is split into the gate of its join, what it does, and the gate of its split; a condition has two xor gates. Then, as long as possible: a
gate with one way in and one way out is passed through; several ways from a split to a join of its kind become one block; a way from an
xor-split back to the xor-join that leads to it is a loop. Each step preserves behaviour. An and- or xor-split may be closed in several
steps; all ways of an or-split have to meet in one or-join at once.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.core.text import join as listed
from halflap.workflows.model.block import (
    NOTHING,
    PLAIN,
    Block,
    Branches,
    Choice,
    Corner,
    Link,
    Loop,
    Sequence,
    Step,
    Structure,
    Way,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.workflows.model.net import Gate, Net

__all__ = [
    "MAX_DEPTH",
    "Mismatch",
    "loose_gates",
    "mismatches",
    "structure_of",
    "unstructured_because",
    "whole",
]

MAX_DEPTH = 100
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
    way: Way
    """Weight, choice and rank; the block is in `parts`."""
    depth: int = 0

    def finished(self) -> Way:
        parts = tuple(self.parts)
        return replace(self.way, block=parts[0] if len(parts) == 1 else Sequence(parts))


class _Reduction:
    def __init__(self, net: Net) -> None:
        self.between: dict[tuple[int, int], list[_Arrow]] = {}
        self.gates: list[_Gate] = []
        self.flows = Counter(flow.source for flow in net.flows)
        entry: dict[str, _Gate] = {}
        leave: dict[str, _Gate] = {}
        for node in (*net.conditions, *net.tasks):
            task = net.tasks.get(node)
            entry[node] = _Gate(node, task.join if task else "xor", joins=True)
            leave[node] = _Gate(node, task.split if task else "xor", joins=False)
            self.gates += [entry[node], leave[node]]
            ends = node in {net.input, net.output}
            self.add(_Arrow(entry[node], leave[node], deque([] if ends else [Step(node)]), Way(NOTHING)))
        for rank, flow in enumerate(net.flows):
            weight = 1.0 if flow.probability is None else flow.probability
            way = Way(NOTHING, weight, Choice.of(flow), rank)
            self.add(_Arrow(leave[flow.source], entry[flow.target], deque(), way))
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

    @property
    def left(self) -> list[_Arrow]:
        return [arrow for together in self.between.values() for arrow in together]

    def together(self, source: _Gate, target: _Gate) -> list[_Arrow]:
        return self.between.get((id(source), id(target)), [])

    def add(self, arrow: _Arrow) -> None:
        arrow.source.out[id(arrow)] = arrow
        arrow.target.into[id(arrow)] = arrow
        self.between.setdefault((id(arrow.source), id(arrow.target)), []).append(arrow)

    def remove(self, arrow: _Arrow) -> None:
        del arrow.source.out[id(arrow)]
        del arrow.target.into[id(arrow)]
        together = self.between[id(arrow.source), id(arrow.target)]
        together.remove(arrow)
        if not together:
            del self.between[id(arrow.source), id(arrow.target)]

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
        arrow = _Arrow(before.source, after.target, parts, before.way, max(before.depth, after.depth))
        self.add(arrow)
        self.merge(arrow)

    def merge(self, arrow: _Arrow) -> None:
        """Make one block of this arrow and those that lead the same way, or back."""
        source, target = arrow.source, arrow.target
        together = self.together(source, target)
        complete = len(together) == len(source.out) == len(target.into)
        if len(together) > 1 and source.kind == target.kind and complete:
            self.branch(list(together))
        elif len(together) > 1 and source.kind == target.kind != "or":
            self.partial.append((source, target))
        for back in list(self.together(target, source)):
            for first in list(self.together(source, target)):
                self.close_loop(first, back)

    def branch(self, together: list[_Arrow]) -> None:
        if len(together) <= 1:
            return
        first = together[0]
        split, join = first.source, first.target
        for arrow in together[1:]:
            self.remove(arrow)
        ways: list[Way] = []
        deepest = 0
        for arrow in together:
            way = arrow.finished()
            inside = way.block
            gates = (split.node, join.node)
            if isinstance(inside, Branches) and (inside.split, inside.join) == gates and way.choice == PLAIN:
                ways += inside.ways
                deepest = max(deepest, arrow.depth - 1)
            else:
                ways.append(way)
                deepest = max(deepest, arrow.depth)
        ways.sort(key=lambda way: way.rank)
        partial = _flows_in(ways, split.node) < self.flows[split.node]
        first.parts = deque([Branches(split.kind, tuple(ways), split.node, join.node, partial)])
        first.way = Way(NOTHING, sum(way.weight for way in ways), PLAIN, ways[0].rank)
        first.depth = 1 + deepest
        self.waiting.extend((split, join))

    def close_loop(self, one: _Arrow, other: _Arrow) -> None:
        for forth, back in ((one, other), (other, one)):
            join, split = forth.source, forth.target
            if not (
                join.joins
                and not split.joins
                and join.kind == split.kind == "xor"
                and len(join.out) == len(split.into) == 1
            ):
                continue
            self.remove(back)
            leaving = [arrow.way for arrow in split.out.values()]
            loop = Loop(
                forth.finished().block,
                back.finished(),
                leaving[0].choice if len(leaving) == 1 else PLAIN,
                sum(way.weight for way in leaving),
                split.node,
                join.node,
            )
            forth.parts = deque([loop])
            forth.depth = 1 + max(forth.depth, back.depth)
            self.waiting.extend((join, split))
            return


def _flows_in(ways: Iterable[Way], split: str) -> int:
    """Return how many flows out of a gate are in these ways."""
    return sum(
        _flows_in(way.block.ways, split)
        if isinstance(way.block, Branches) and way.block.split == split and way.choice == PLAIN
        else 1
        for way in ways
    )


def structure_of(net: Net) -> Structure:
    """Return the blocks of a net, and the corners between them where it is not block-structured."""
    reduction = _Reduction(net)
    reduction.run()
    left = reduction.left
    if any(arrow.depth > MAX_DEPTH for arrow in left):
        message = f"More than {MAX_DEPTH} blocks are nested. Move some of them into a net of their own."
        raise WorkflowError([("", message)], f"The workflow {net.id!r} is nested too deeply.")
    if len(left) == 1 and (left[0].source, left[0].target) == reduction.ends:
        return whole(net, left[0].finished().block)
    gates = [gate for gate in reduction.gates if gate.into or gate.out]
    place = {id(gate): at for at, gate in enumerate(gates)}
    links = [Link(place[id(arrow.source)], place[id(arrow.target)], arrow.finished()) for arrow in left]
    links.sort(key=lambda link: (link.source, link.way.rank, link.target))
    return Structure(tuple(Corner(gate.node, gate.kind, gate.joins) for gate in gates), tuple(links))


def whole(net: Net, block: Block) -> Structure:
    """Return the structure of a net that consists of this block."""
    corners = (Corner(net.input, "xor", joins=True), Corner(net.output, "xor", joins=False))
    return Structure(corners, (Link(0, 1, Way(block)),))


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A split whose ways meet in a join of another kind."""

    split: str
    split_kind: Gate
    join: str
    join_kind: Gate

    def __str__(self) -> str:
        return (
            f"'{self.split}' is an {self.split_kind}-split, and '{self.join}', where its ways meet, "
            f"is an {self.join_kind}-join."
        )


def mismatches(structure: Structure) -> list[Mismatch]:
    ends = Counter((link.source, link.target) for link in structure.links)
    corners = structure.corners
    return [
        Mismatch(corners[one].node, corners[one].kind, corners[two].node, corners[two].kind)
        for (one, two), count in ends.items()
        if count > 1 and corners[one].kind != corners[two].kind
    ]


def loose_gates(structure: Structure) -> list[str]:
    """Return the nodes whose gates are in no block, as listed in the net."""
    into = Counter(link.target for link in structure.links)
    out = Counter(link.source for link in structure.links)
    return list(
        dict.fromkeys(
            corner.node for at, corner in enumerate(structure.corners) if into[at] > 1 or out[at] > 1
        )
    )


def unstructured_because(structure: Structure) -> str | None:
    """Return why a net is not block-structured, or None if it is."""
    if structure.block is not None:
        return None
    found = mismatches(structure)
    if found:
        return str(found[0])
    gates = loose_gates(structure)
    if not gates:
        return "Not every task is on a path from the input to the output."
    named = listed((f"'{gate}'" for gate in gates), limit=_MAX_NAMED)
    return f"The gates of {named} do not form blocks with one entry and one exit."
