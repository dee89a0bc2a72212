"""Maintainability: six measures of how easily a workflow is read and changed, each as counted and as a score from 0 to 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.model.block import depth
from halflap.workflows.model.reduce import mismatches

if TYPE_CHECKING:
    from halflap.workflows.model.block import Structure
    from halflap.workflows.model.net import Net

__all__ = ["Measure", "maintainability", "measures"]

_HALF = {"control_flow_complexity": 30, "size": 50, "nesting": 5}
"""The count at which each of these scores one half."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure as counted, and as a score."""

    name: str
    raw: float
    score: float


def measures(net: Net, structure: Structure) -> tuple[Measure, ...]:
    outgoing, incoming = net.outgoing(), net.incoming()
    complexity = gateways = 0
    for node, flows in outgoing.items():
        count = len(flows)
        gateways += (count > 1) + (len(incoming[node]) > 1)
        if count > 1:
            split = net.tasks[node].split if node in net.tasks else "xor"
            complexity += {"and": 1, "xor": count, "or": min(2**count - 1, 10**9)}[split]
    nodes = len(net.tasks) + len(net.conditions)
    size = nodes - 2
    fewest, most = nodes - 1, nodes * (nodes - 1)
    density = (len(net.flows) - fewest) / (most - fewest)
    loose = 0
    if structure.block is None:
        loose = len({corner.node for corner in structure.corners} - {net.input, net.output})
    structured = 1 - loose / size if size else 1.0
    mismatched = len(mismatches(structure))
    return (
        _falling("control_flow_complexity", complexity),
        _falling("size", size),
        Measure("density", density, max(0.0, 1 - density)),
        _falling("nesting", max(map(depth, structure.blocks))),
        Measure("structuredness", structured, structured),
        Measure("mismatched_gateways", mismatched, 1 - min(1.0, mismatched / gateways) if gateways else 1.0),
    )


def maintainability(found: tuple[Measure, ...]) -> float:
    return sum(one.score for one in found) / len(found)


def _falling(name: str, raw: int) -> Measure:
    return Measure(name, raw, _HALF[name] / (_HALF[name] + raw))
