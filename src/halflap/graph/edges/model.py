"""The values of the graph: an edge from one tool to another, its links from field to parameter, and their evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from halflap.graph.paging import pages_of
from halflap.graph.paths import Path, many, path_text, slot_text

if TYPE_CHECKING:
    from halflap.graph.ports import Ports, Slot

Coverage = Literal["strict", "partial", "optional"]
"""All required parameters are supplied, some of them, or only optional ones."""

EvidenceKind = Literal["declared", "entity", "name", "text", "format", "lineage"]
"""`declared`: the server names the other tool, or what both identify. `entity`: an identifier of the thing that the
parameter asks for. `name`: the same name. `text`: the parameter's description names the field. `format`: a rare format.
`lineage`: values were seen to go this way."""

_MOST = 0.99
_PAGES = 0.9
"""How certain a link to the next page is."""


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

    def to_json(self) -> dict[str, Any]:
        return {
            "from": path_text(self.source),
            "to": path_text(self.target),
            # There are many values and the parameter takes one: the tool is called for each.
            "fan_out": many(self.source) > many(self.target),
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


def edge_of(source: Ports, target: Ports, links: Iterable[Link], *, is_pagination: bool = False) -> Edge:
    ordered = tuple(sorted(links, key=lambda link: -link.confidence))
    coverage = _coverage({link.target for link in ordered}, target)
    return Edge(source.tool, target.tool, coverage, ordered[0].confidence, ordered, is_pagination)


def page_edge(ports: Ports) -> Edge | None:
    """Return the edge from a tool to itself, if its pages are known."""
    pages = pages_of(ports)
    if pages is None:
        return None
    detail = f"{path_text(pages.source)} leads to the next page by {slot_text(pages.target)}"
    link = Link(pages.source, pages.target, _PAGES, (Evidence("name", _PAGES, detail),))
    return edge_of(ports, ports, [link], is_pagination=True)


def _coverage(supplied: set[Path], target: Ports) -> Coverage:
    if target.required.isdisjoint(path[0].key for path in supplied):
        return "optional"
    is_whole = all(_is_supplied(one, supplied, target.slots) for one in target.required)
    return "strict" if is_whole else "partial"


def _is_supplied(name: str, supplied: set[Path], slots: Sequence[Slot]) -> bool:
    """Return whether a parameter is supplied: itself, its items, or everything required inside it."""
    inside = [slot.path for slot in slots if slot.parameter == name and slot.required]
    around = {path[:size] for path in inside for size in range(len(path))}
    leaves = [path for path in inside if path not in around]
    return bool(leaves) and all(
        any(path[:size] in supplied for size in range(1, len(path) + 1)) for path in leaves
    )
