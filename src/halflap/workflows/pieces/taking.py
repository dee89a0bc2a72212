"""A workflow is taken apart: its gates are reduced, and it is kept what each was and what its flows say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.errors import WorkflowError
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
from halflap.workflows.reduction import Reduction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.workflows.net import Flow, Net
    from halflap.workflows.reduction import Place

__all__ = ["MOST_DEEP", "layout_of"]

MOST_DEEP = 100
"""How many blocks may stand within one another."""


class _Taken(NamedTuple):
    way: Way
    deep: int = 0
    """How many blocks stand within one another in it."""


class _Taking(Reduction[_Taken]):
    def __init__(self, net: Net) -> None:
        ends = {net.input, net.output}
        self._flows = Counter(flow.source for flow in net.flows)
        super().__init__(
            net, lambda node: _Taken(Way(NOTHING if node in ends else Step(node))), _taken_from_flow
        )

    def series(self, before: _Taken, after: _Taken) -> _Taken:
        piece = series((before.way.piece, after.way.piece))
        return _Taken(replace(before.way, piece=piece), max(before.deep, after.deep))

    def branches(self, split: Place[_Taken], join: Place[_Taken], ways: Sequence[_Taken]) -> _Taken:
        inner: list[Way] = []
        for way, _ in ways:
            piece = way.piece
            of_the_same = (
                isinstance(piece, Branching)
                and (piece.split, piece.join) == (split.node, join.node)
                and way.said == PLAIN
            )
            inner += piece.ways if isinstance(piece, Branching) and of_the_same else [way]
        inner.sort(key=lambda way: way.rank)
        piece = Branching(
            split.kind,
            tuple(inner),
            split.node,
            join.node,
            partial=_leaves(inner, split.node) < self._flows[split.node],
        )
        weight = sum(way.weight for way in inner)
        return _Taken(Way(piece, weight, PLAIN, inner[0].rank), 1 + max(deep for _, deep in ways))

    def loop(self, join: Place[_Taken], split: Place[_Taken], forth: _Taken, back: _Taken) -> _Taken:
        leaving = [arrow.carries.way for arrow in split.out.values()]
        piece = Loop(
            forth.way.piece,
            back.way,
            leaving[0].said if len(leaving) == 1 else PLAIN,
            sum(way.weight for way in leaving),
            split.node,
            join.node,
        )
        return _Taken(replace(forth.way, piece=piece), 1 + max(forth.deep, back.deep))


def _taken_from_flow(rank: int, flow: Flow) -> _Taken:
    said = Said(flow.predicate, flow.probability, flow.default, flow.order)
    return _Taken(Way(NOTHING, 1.0 if flow.probability is None else flow.probability, said, rank))


def layout_of(net: Net) -> Layout:
    """Take a workflow apart, as far as it is made of blocks; one that is too deep is refused."""
    taking = _Taking(net)
    taking.run()
    if any(arrow.carries.deep > MOST_DEEP for arrow in taking.left):
        raise WorkflowError(
            [
                (
                    "",
                    f"More than {MOST_DEEP} blocks stand within one another. Take some of them out into a net of their own.",
                )
            ],
            f"The workflow {net.id!r} is nested too deep for this.",
        )
    if taking.whole is not None:
        corners = (Corner(net.input, "xor", joins=True), Corner(net.output, "xor", joins=False))
        return Layout(corners, (Link(0, 1, taking.whole.way),))
    gates = [gate for gate in taking.places if gate.into or gate.out]
    place = {id(gate): at for at, gate in enumerate(gates)}
    links = [
        Link(place[id(arrow.source)], place[id(arrow.target)], arrow.carries.way) for arrow in taking.left
    ]
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
