"""Why there is an edge between two tools, or what comes closest to one and why it is not enough."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.graph.edges.evidence import LEAST
from halflap.graph.naming import is_secret, words_of
from halflap.graph.paging import takes_page
from halflap.graph.paths import Path, keys_of, path_text
from halflap.graph.types import conflict

if TYPE_CHECKING:
    from halflap.graph.edges.graph import Graph
    from halflap.graph.edges.model import Edge
    from halflap.graph.ports import Ports

_MAX_NEAR = 8


class Near(NamedTuple):
    """A field and a parameter that might belong together, and why they make no edge."""

    reason: str
    detail: str
    source: Path | None = None
    target: Path | None = None
    strength: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "from": None if self.source is None else path_text(self.source),
            "to": None if self.target is None else path_text(self.target),
            "reason": self.reason,
            "detail": self.detail,
            "strength": round(self.strength, 3),
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why two tools are linked, or why they are not."""

    source: str
    target: str
    edge: Edge | None
    near: tuple[Near, ...] = ()
    """The nearest misses, if there is no edge; nearest first."""

    def to_json(self) -> dict[str, Any]:
        return {
            "from": self.source,
            "to": self.target,
            "edge": None if self.edge is None else self.edge.to_json(),
            "near": [one.to_json() for one in self.near],
        }


def explain(graph: Graph, source: str, target: str) -> Explanation:
    edge = graph.edge(source, target)
    if edge is not None:
        return Explanation(source, target, edge)
    unknown = next((name for name in (source, target) if name not in graph.tools), None)
    if unknown is not None:
        near = [Near("unknown tool", f"there is no tool {unknown}")]
    else:
        found = _near(graph, graph.tools[source], graph.tools[target])
        near = sorted(found, key=lambda one: -one.strength)[:_MAX_NEAR]
    return Explanation(source, target, None, tuple(near))


def _near(graph: Graph, source: Ports, target: Ports) -> Iterator[Near]:
    if not source.places:
        yield Near("no output", f"what {source.tool} returns is unknown: call it a few times")
    elif source is target:
        yield Near("nothing alike", "a tool only feeds itself when it pages, and it is not known to")
    else:
        found = [*_weak(graph, source, target), *_alike(source, target)]
        yield from found or [Near("nothing alike", "no field of one resembles a parameter of the other")]


def _weak(graph: Graph, source: Ports, target: Ports) -> Iterator[Near]:
    for link in graph.links(source, target):
        detail = f"{link.confidence:.2f} is not enough; a required parameter needs {LEAST}"
        yield Near("too weak", detail, link.source, link.target, link.confidence)


def _alike(source: Ports, target: Ports) -> Iterator[Near]:
    """Yield the fields that share the name of a parameter but cannot fill it."""
    for slot in target.slots:
        name = keys_of(slot.path)[-1]
        for place in source.places:
            if words_of(name) != words_of(place.path[-1].key if place.path else ""):
                continue
            problem = conflict(place.form, slot.form)
            if takes_page(slot.path) or is_secret(words_of(name)):
                yield Near(
                    "each call's own", f"{name} is never taken from other results", place.path, slot.path
                )
            elif problem:
                yield Near("type conflict", problem, place.path, slot.path)
