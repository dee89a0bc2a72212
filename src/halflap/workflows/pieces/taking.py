"""A workflow is taken apart: its gates are reduced as in `structure`, and it is kept what each was and what its flows say."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from halflap.errors import WorkflowError
from halflap.workflows.pieces.piece import (
    NOTHING,
    PLAIN,
    Branching,
    Corner,
    Layout,
    Link,
    Loop,
    Said,
    Step,
    Way,
    series,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.workflows.net import Gate, Net


__all__ = ["MOST_DEEP", "layout_of"]

MOST_DEEP = 100
"""How many blocks may stand within one another."""


@dataclass(slots=True, eq=False)
class _Gate:
    node: str
    kind: Gate
    joins: bool
    into: dict[int, _Open] = field(default_factory=dict)
    out: dict[int, _Open] = field(default_factory=dict)
    ways: int = 0
    """How many it had."""


@dataclass(slots=True, eq=False)
class _Open:
    """A way that is not yet in a block."""

    source: _Gate
    target: _Gate
    way: Way
    deep: int = 0


class _Taking:
    def __init__(self, net: Net) -> None:
        self.between: dict[tuple[int, int], list[_Open]] = {}
        self.waiting: deque[_Gate] = deque()
        self.gates: list[_Gate] = []
        entry: dict[str, _Gate] = {}
        leave: dict[str, _Gate] = {}
        ends = {net.input, net.output}
        for node in (*net.conditions, *net.tasks):
            task = net.tasks.get(node)
            entry[node] = _Gate(node, task.join if task else "xor", joins=True)
            leave[node] = _Gate(node, task.split if task else "xor", joins=False)
            self.gates += [entry[node], leave[node]]
            self.add(_Open(entry[node], leave[node], Way(NOTHING if node in ends else Step(node))))
        for rank, flow in enumerate(net.flows):
            said = Said(flow.predicate, flow.probability, flow.default, flow.order)
            weight = 1.0 if flow.probability is None else flow.probability
            self.add(_Open(leave[flow.source], entry[flow.target], Way(NOTHING, weight, said, rank)))
            leave[flow.source].ways += 1
        self.source, self.sink = entry[net.input], leave[net.output]
        self.waiting.extend(self.gates)

    def add(self, one: _Open) -> None:
        one.source.out[id(one)] = one
        one.target.into[id(one)] = one
        self.between.setdefault((id(one.source), id(one.target)), []).append(one)

    def remove(self, one: _Open) -> None:
        del one.source.out[id(one)]
        del one.target.into[id(one)]
        together = self.between[id(one.source), id(one.target)]
        together.remove(one)
        if not together:
            del self.between[id(one.source), id(one.target)]

    def run(self) -> None:
        for together in list(self.between.values()):
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
        way = replace(before.way, piece=series((before.way.piece, after.way.piece)))
        one = _Open(before.source, after.target, way, max(before.deep, after.deep))
        self.add(one)
        self.merge(one)

    def merge(self, one: _Open) -> None:
        source, target = one.source, one.target
        together = self.between[id(source), id(target)]
        if len(together) > 1 and source.kind == target.kind:
            whole = len(together) == len(source.out) == len(target.into)
            if source.kind != "or" or whole:
                self.make_one(list(together))
        for first in list(self.between.get((id(source), id(target)), ())):
            for back in list(self.between.get((id(target), id(source)), ())):
                self.close_loop(first, back)

    def make_one(self, together: list[_Open]) -> None:
        source, target = together[0].source, together[0].target
        ways: list[Way] = []
        for one in together:
            piece = one.way.piece
            of_the_same = (
                isinstance(piece, Branching)
                and (piece.split, piece.join) == (source.node, target.node)
                and one.way.said == PLAIN
            )
            ways += piece.ways if isinstance(piece, Branching) and of_the_same else [one.way]
            self.remove(one)
        ways.sort(key=lambda way: way.rank)
        piece = Branching(
            source.kind,
            tuple(ways),
            source.node,
            target.node,
            partial=_leaves(ways, source.node) < source.ways,
        )
        weight = sum(way.weight for way in ways)
        deep = 1 + max(one.deep for one in together)
        self.add(_Open(source, target, Way(piece, weight, PLAIN, ways[0].rank), deep))
        self.waiting.extend((source, target))

    def close_loop(self, one: _Open, other: _Open) -> None:
        for forth, back in ((one, other), (other, one)):
            join, split = forth.source, forth.target
            if (
                join.joins
                and not split.joins
                and join.kind == split.kind == "xor"
                and len(join.out) == len(split.into) == 1
            ):
                self.remove(back)
                left = list(split.out.values())
                piece = Loop(
                    forth.way.piece,
                    back.way,
                    left[0].way.said if len(left) == 1 else PLAIN,
                    sum(way.way.weight for way in left),
                    split.node,
                    join.node,
                )
                forth.way = replace(forth.way, piece=piece)
                forth.deep = 1 + max(forth.deep, back.deep)
                self.waiting.extend((join, split))
                return


def layout_of(net: Net) -> Layout:
    """Take a workflow apart, as far as it is made of blocks; one that is too deep is refused."""
    taking = _Taking(net)
    taking.run()
    left = [one for together in taking.between.values() for one in together]
    if any(one.deep > MOST_DEEP for one in left):
        raise WorkflowError(
            [
                (
                    "",
                    f"More than {MOST_DEEP} blocks stand within one another. Take some of them out into a net of their own.",
                )
            ],
            f"The workflow {net.id!r} is nested too deep for this.",
        )
    if len(left) == 1 and left[0].source is taking.source and left[0].target is taking.sink:
        corners = (Corner(net.input, "xor", joins=True), Corner(net.output, "xor", joins=False))
        return Layout(corners, (Link(0, 1, left[0].way),))
    gates = [gate for gate in taking.gates if gate.into or gate.out]
    place = {id(gate): at for at, gate in enumerate(gates)}
    links = [Link(place[id(one.source)], place[id(one.target)], one.way) for one in left]
    links.sort(key=lambda link: (link.source, link.way.rank, link.target))
    return Layout(tuple(Corner(gate.node, gate.kind, gate.joins) for gate in gates), tuple(links))


def _leaves(ways: Iterable[Way], split: str) -> int:
    """Count the flows out of a gate that are in these ways."""
    return sum(
        _leaves(way.piece.ways, split)
        if isinstance(way.piece, Branching) and way.piece.split == split and way.said == PLAIN
        else 1
        for way in ways
    )
