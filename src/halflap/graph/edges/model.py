"""The values of the graph: an edge from one tool to another, its links from field to parameter, and their evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from halflap.graph.paths import Path, many, path_text

__all__ = ["Coverage", "Edge", "Evidence", "EvidenceKind", "Link", "combined"]

Coverage = Literal["strict", "partial", "optional"]
"""All required parameters are supplied, some of them, or only optional ones."""

EvidenceKind = Literal["declared", "entity", "name", "text", "format", "lineage"]
"""`declared`: the server names the other tool, or what both identify. `entity`: an identifier of the thing that the
parameter asks for. `name`: the same name. `text`: the parameter's description names the field. `format`: a rare format.
`lineage`: values were seen to go this way."""

_MOST = 0.99


class Evidence(NamedTuple):
    """One reason to believe that a value goes this way."""

    kind: EvidenceKind
    weight: float
    """How certain it makes alone, from 0 to 1."""
    detail: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "weight": round(self.weight, 3), "detail": self.detail}


def combined(evidence: tuple[Evidence, ...]) -> float:
    """Return how certain independent reasons make together."""
    doubt = 1.0
    for one in evidence:
        doubt *= 1 - one.weight
    return min(_MOST, 1 - doubt)


@dataclass(frozen=True, slots=True)
class Link:
    """A field of one tool's result that can fill a parameter of another."""

    source: Path
    target: Path
    confidence: float
    evidence: tuple[Evidence, ...] = ()

    @property
    def is_fan_out(self) -> bool:
        """Whether there are many values and the parameter takes one, so that the tool is called for each."""
        return many(self.source) > many(self.target)

    def to_json(self) -> dict[str, Any]:
        return {
            "from": path_text(self.source),
            "to": path_text(self.target),
            "fan_out": self.is_fan_out,
            "confidence": round(self.confidence, 3),
            "evidence": [one.to_json() for one in self.evidence],
        }


@dataclass(frozen=True, slots=True)
class Edge:
    """One tool's output can supply another's input."""

    source: str
    target: str
    coverage: Coverage
    confidence: float
    links: tuple[Link, ...] = field(default=())
    """The most certain first; a parameter may have several."""
    is_pagination: bool = False
    """From a tool to itself: its result leads to the next page."""

    @property
    def kinds(self) -> frozenset[EvidenceKind]:
        return frozenset(one.kind for link in self.links for one in link.evidence)

    def to_json(self) -> dict[str, Any]:
        return {
            "from": self.source,
            "to": self.target,
            "edge_type": "provides",
            "coverage": self.coverage,
            "confidence": round(self.confidence, 3),
            "mappings": [link.to_json() for link in self.links],
            "evidence": sorted(self.kinds),
        }
