"""Small graphs made by hand: tools from a line each, edges where names are the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.graph.edges import Edge, Evidence, Link
from halflap.graph.paths import EACH, NAME, VALUE, key
from halflap.graph.ports import Place, Ports, Slot
from halflap.graph.named import Named
from halflap.schema import Type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.graph.paths import Path

__all__ = ["Made", "edge", "link", "path", "ports"]

STRING = Type("string")


def path(text: str) -> Path:
    """Read a path: `customers[].id`, `methods.{key}`, `map.{}.x`."""
    steps = []
    for part in text.replace("[]", ".[]").split("."):
        if part == "[]":
            steps.append(EACH)
        elif part == "{}":
            steps.append(VALUE)
        elif part == "{key}":
            steps.append(NAME)
        elif part and part != "$":
            steps.append(key(part))
    return tuple(steps)


def ports(
    tool: str,
    takes: str = "",
    gives: str = "",
    *,
    server: str = "shop",
    destructive: bool = False,
    latency: float | None = None,
    types: Mapping[str, Type] | None = None,
) -> Ports:
    """Make a tool: `takes` and `gives` are paths; `?` marks what is optional, `=` what is required and has a default."""
    known = types or {}
    slots = [
        Slot(
            path(text.rstrip("?=")),
            known.get(text.rstrip("?="), STRING),
            "?" not in text,
            "=" in text,
            default="usual" if "=" in text else None,
        )
        for text in takes.split()
    ]
    places = [
        Place(
            path(text.rstrip("?")), known.get(text.rstrip("?"), STRING), presence=0.5 if "?" in text else 1.0
        )
        for text in gives.split()
    ]
    # As with real tools, what has parts is a slot, too.
    inner = {one.path for one in slots}
    around = {
        one.path[:size]: one
        for one in slots
        for size in range(1, len(one.path))
        if one.path[size].kind == "key" and one.path[:size] not in inner
    }
    slots += [Slot(part, Type("object"), required=True) for part in around]
    required = {one.parameter for one in slots if one.required and not one.has_default}
    return Ports(
        f"mcp__{server}__{tool}",
        server,
        tuple(places),
        tuple(slots),
        frozenset(required),
        original_name=tool,
        is_destructive=destructive,
        latency_ms=latency,
    )


def link(source: str, target: str, confidence: float = 0.9) -> Link:
    """Make a link."""
    return Link(path(source), path(target), confidence, (Evidence("name", confidence, source),))


def edge(source: Ports, target: Ports, *links: Link, pages: bool = False) -> Edge:
    """Make an edge."""
    sure = max(one.confidence for one in links)
    return Edge(source.tool, target.tool, "partial", sure, tuple(links), pages)


@dataclass
class Made:
    """A graph of edges that are given, and of those between places and slots whose last names are the same."""

    tools: dict[str, Ports] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    @classmethod
    def of(cls, *tools: Ports, edges: Sequence[Edge] = (), by_name: bool = True) -> Made:
        """Make a graph."""
        made = cls({one.tool: one for one in tools}, list(edges))
        for source in tools if by_name else ():
            for target in tools:
                links = [
                    Link(place.path, slot.path, 0.9, (Evidence("name", 0.9),))
                    for place in source.places
                    for slot in target.slots
                    if source is not target and _name(place.path) == _name(slot.path) != ""
                ]
                if links:
                    made.edges.append(Edge(source.tool, target.tool, "partial", 0.9, tuple(links)))
        return made

    @property
    def named(self) -> Named:
        """The names of what the tools return."""
        named = Named()
        for one in self.tools.values():
            named.enter(one.tool, [_name(place.path) for place in one.places])
        return named

    def into(self, tool: str) -> list[Edge]:
        """Give the edges to a tool."""
        return [one for one in self.edges if one.target == tool]


def _name(steps: Path) -> str:
    return next((one.key for one in reversed(steps) if one.kind == "key"), "")
