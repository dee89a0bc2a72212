"""How easily a workflow is read and changed: six measures, each as it is counted and as a number between 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.pieces.piece import Branching, Series, Step

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from halflap.workflows.pieces.piece import Layout, Piece
    from halflap.workflows.structure import Structure

__all__ = ["HALF", "Measure", "maintainability", "measures"]

HALF = {"control_flow_complexity": 30, "size": 50, "nesting": 5}
"""At how much of it each of these counts half."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure, as counted, and as a number of which 1 is best."""

    name: str
    raw: float
    score: float


def measures(net: Net, layout: Layout, structure: Structure | None) -> tuple[Measure, ...]:
    """Measure a workflow; of one that is made of blocks the structure need not be given."""
    outgoing, incoming = net.outgoing(), net.incoming()
    complexity = gateways = 0
    for node, flows in outgoing.items():
        count = len(flows)
        task = net.tasks.get(node)
        if count > 1:
            gateways += 1
            split = "xor" if task is None else task.split
            complexity += 1 if split == "and" else count if split == "xor" else min(2**count - 1, 10**9)
        gateways += len(incoming[node]) > 1
    nodes = len(net.tasks) + len(net.conditions)
    size = nodes - 2
    fewest, most = nodes - 1, nodes * (nodes - 1)
    density = (len(net.flows) - fewest) / (most - fewest)
    nesting = max(deep(link.way.piece) for link in layout.links)
    loose = 0
    if layout.piece is None:
        loose = len({corner.node for corner in layout.corners} - {net.input, net.output})
    structured = 1 - loose / size if size else 1.0
    mismatched = 0 if structure is None else len(structure.mismatches)
    return (
        _falling("control_flow_complexity", complexity),
        _falling("size", size),
        Measure("density", density, max(0.0, 1 - density)),
        _falling("nesting", nesting),
        Measure("structuredness", structured, structured),
        Measure("mismatched_gateways", mismatched, 1 - min(1.0, mismatched / gateways) if gateways else 1.0),
    )


def maintainability(found: tuple[Measure, ...]) -> float:
    """Give the mean of the measures."""
    return sum(one.score for one in found) / len(found)


def _falling(name: str, raw: int) -> Measure:
    return Measure(name, raw, HALF[name] / (HALF[name] + raw))


def deep(piece: Piece) -> int:
    """Tell how many blocks stand within one another; one after the other is no block."""
    if isinstance(piece, Step):
        return 0
    if isinstance(piece, Series):
        return max((deep(part) for part in piece.parts), default=0)
    if isinstance(piece, Branching):
        return 1 + max(deep(way.piece) for way in piece.ways)
    return 1 + max(deep(piece.body), deep(piece.again.piece))
