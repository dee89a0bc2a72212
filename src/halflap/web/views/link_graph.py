"""What can feed what: servers and the links between them, then the tools of one server."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from starlette.responses import JSONResponse

from halflap.core.errors import UsageError
from halflap.core.text import plural
from halflap.web.rendering import label, short_name

if TYPE_CHECKING:
    from starlette.responses import Response

    from halflap.core.values import Tool
    from halflap.graph.edges import Edge
    from halflap.web.site import Visit

_MAX_TOOLS = 60
"""Tools drawn at once, those with most links first; more can't be told apart."""
_MAX_INTO = 3
"""Links drawn into one tool, the strongest first."""
_LISTED = 100
_DEFAULT = 0.8
_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class _Filter:
    """Which links the visitor asked for."""

    server: str
    words: str
    confidence: float

    @classmethod
    def of(cls, visit: Visit) -> Self:
        text = visit.query("confidence")
        try:
            confidence = min(1.0, max(0.0, float(text))) if text else _DEFAULT
        except ValueError:
            raise UsageError("`confidence` must be a number from 0 to 1.") from None
        return cls(visit.query("server"), visit.query("q").strip().lower(), confidence)

    def chosen(self, visit: Visit, edges: Sequence[Edge]) -> list[Edge]:
        tools = visit.gateway.snapshot.tools
        return [
            edge
            for edge in edges
            if tools.keys() >= {edge.source, edge.target}
            and edge.confidence >= self.confidence
            and not edge.is_pagination
            and any(self._names(tools, end) for end in (edge.source, edge.target))
        ]

    def _names(self, tools: Mapping[str, Tool], name: str) -> bool:
        return self.words in name.lower() and self.server in {"", _server(tools, name)}


async def picture(visit: Visit) -> Response:
    edges = await visit.site.edges.get(_PATIENCE)
    wanted = _Filter.of(visit)
    values: dict[str, Any] = {
        "wanted": wanted,
        "edges": None if edges is None else wanted.chosen(visit, edges)[:_LISTED],
        "servers": visit.servers,
    }
    return visit.render("graph.html", **values)


async def data(visit: Visit) -> Response:
    """Answer with the nodes and links to draw, as Cytoscape takes them; 202 while they are being computed."""
    edges = await visit.site.edges.get(_PATIENCE)
    if edges is None:
        return JSONResponse({"busy": True}, 202)
    wanted = _Filter.of(visit)
    draw = _tools if wanted.server or wanted.words else _servers
    return JSONResponse(await asyncio.to_thread(draw, visit, edges, wanted))


def _server(tools: Mapping[str, Tool], name: str) -> str:
    tool = tools.get(name)
    return "" if tool is None else tool.server


def _servers(visit: Visit, edges: Sequence[Edge], wanted: _Filter) -> dict[str, Any]:
    """Draw one node per server."""
    tools = visit.gateway.snapshot.tools
    sizes = Counter(tool.server for tool in tools.values())
    chosen = wanted.chosen(visit, edges)
    between = Counter((_server(tools, edge.source), _server(tools, edge.target)) for edge in chosen)
    within = {one: between.pop((one, one), 0) for one in sizes}
    nodes = [
        {
            "data": {
                "id": name,
                "label": f"{label(name)}\n{plural(size, 'tool')}, {plural(within[name], 'link')}",
                "kind": "server",
            }
        }
        for name, size in sizes.items()
    ]
    links = [
        {
            "data": {
                "id": f"{source}→{target}",
                "source": source,
                "target": target,
                "count": count,
                "kind": "servers",
                "weight": round(1 + min(4.0, math.log2(1 + count) / 2), 1),
            }
        }
        for (source, target), count in between.items()
        if source in sizes and target in sizes
    ]
    return {"nodes": nodes, "edges": links, "note": ""}


def _tools(visit: Visit, edges: Sequence[Edge], wanted: _Filter) -> dict[str, Any]:
    """Draw the tools of one server or name, and those that are linked with them."""
    tools = visit.gateway.snapshot.tools
    chosen = wanted.chosen(visit, edges)
    degrees = Counter(end for edge in chosen for end in (edge.source, edge.target))
    kept = {name for name, _ in degrees.most_common(_MAX_TOOLS)}
    into: Counter[str] = Counter()
    links = []
    for edge in sorted(chosen, key=lambda one: -one.confidence):
        if {edge.source, edge.target} <= kept and into[edge.target] < _MAX_INTO:
            into[edge.target] += 1
            links.append(edge)
    nodes = [
        {
            "data": {
                "id": name,
                "label": label(short_name(name)) + ("" if server == wanted.server else f"\n{label(server)}"),
                "kind": "tool",
                "own": int(wanted.server in {"", server}),
            }
        }
        for name in sorted(kept)
        for server in [_server(tools, name)]
    ]
    arrows = [
        {
            "data": {
                "id": f"{edge.source}→{edge.target}",
                "source": edge.source,
                "target": edge.target,
                "kind": edge.coverage,
            }
        }
        for edge in links
    ]
    note = ""
    if len(links) < len(chosen):
        note = (
            f"The strongest are drawn: {len(links):,} of {plural(len(chosen), 'link')}, between {len(kept):,} of"
            f" {plural(len(degrees), 'tool')}. Narrow them down by name to see others."
        )
    return {"nodes": nodes, "edges": arrows, "note": note}


async def between(visit: Visit) -> Response:
    """Answer with the links that lead from one server to another."""
    source, target = visit.query("from"), visit.query("to")
    edges = await visit.site.edges.get(_PATIENCE)
    tools = visit.gateway.snapshot.tools
    found = [
        edge
        for edge in _Filter.of(visit).chosen(visit, edges or ())
        if (_server(tools, edge.source), _server(tools, edge.target)) == (source, target)
    ]
    return visit.render("between.html", source=source, target=target, edges=found[:_LISTED], count=len(found))


async def link(visit: Visit) -> Response:
    """Answer with the evidence for one link."""
    source, target = visit.query("from"), visit.query("to")
    if not source or not target:
        raise UsageError("Name the two tools: `from` and `to`.")
    explained = await visit.gateway.explain_edge(source, target)
    edge = explained.edge
    told = None if edge is None else edge.to_json()
    return visit.render(
        "link.html", source=source, target=target, edge=told, near=[one.to_json() for one in explained.near]
    )


ROUTES = {"/graph": picture, "/graph/data": data, "/graph/link": link, "/graph/between": between}
