"""What can feed what: servers and the links between them, then the tools of one server."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from halflap.core.errors import UsageError
from halflap.web.rendering import label, short_name

if TYPE_CHECKING:
    from starlette.responses import Response

    from halflap.graph.edges import Edge
    from halflap.web.site import Visit

_MAX_TOOLS = 150
"""Tools drawn at once, those with most links first; more cannot be told apart."""
_LISTED = 100
_DEFAULT = 0.8
_PATIENCE = 2.0


async def picture(visit: Visit) -> Response:
    edges = await visit.site.edges.get(_PATIENCE)
    server, least = visit.query("server"), _least(visit)
    shown = None if edges is None else _chosen(visit, edges, server, least)[:_LISTED]
    values: dict[str, Any] = {
        "server": server, "least": least, "edges": shown, "all": 0 if edges is None else len(edges),
        "servers": [one.name for one in visit.gateway.config.servers],
    }  # fmt: skip
    return visit.render("graph.html", **values)


async def data(visit: Visit) -> Response:
    """Answer with the nodes and links to draw, as Cytoscape takes them; 202 while they are being computed."""
    edges = await visit.site.edges.get(_PATIENCE)
    if edges is None:
        return JSONResponse({"busy": True}, 202)
    server, least = visit.query("server"), _least(visit)
    drawn = await asyncio.to_thread(_tools if server else _servers, visit, edges, server, least)
    return JSONResponse(drawn)


def _least(visit: Visit) -> float:
    text = visit.query("confidence")
    try:
        return min(1.0, max(0.0, float(text))) if text else _DEFAULT
    except ValueError:
        raise UsageError("`confidence` must be a number from 0 to 1.") from None


def _chosen(visit: Visit, edges: Sequence[Edge], server: str, least: float) -> list[Edge]:
    tools = visit.gateway.snapshot.tools
    return [
        edge
        for edge in edges
        if edge.confidence >= least
        and not edge.is_pagination
        and (not server or server in {_server(tools, edge.source), _server(tools, edge.target)})
    ]


def _server(tools: Any, name: str) -> str:
    tool = tools.get(name)
    return "" if tool is None else str(tool.server)


def _servers(visit: Visit, edges: Sequence[Edge], _server_name: str, least: float) -> dict[str, Any]:
    """Draw one node per server, as large as it has tools."""
    tools = visit.gateway.snapshot.tools
    sizes = Counter(tool.server for tool in tools.values())
    chosen = _chosen(visit, edges, "", least)
    between = Counter((_server(tools, edge.source), _server(tools, edge.target)) for edge in chosen)
    within = {one: between.pop((one, one), 0) for one in sizes}
    nodes = [
        {
            "data": {
                "id": name,
                "label": f"{label(name)}\n{size} tools, {within[name]} links",
                "size": size,
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
            }
        }
        for (source, target), count in between.items()
        if source in sizes and target in sizes
    ]
    return {"nodes": nodes, "edges": links, "note": ""}


def _tools(visit: Visit, edges: Sequence[Edge], server: str, least: float) -> dict[str, Any]:
    """Draw the tools of one server, and those of others that are linked with them."""
    tools = visit.gateway.snapshot.tools
    chosen = _chosen(visit, edges, server, least)
    degrees = Counter(end for edge in chosen for end in (edge.source, edge.target))
    kept = {name for name, _ in degrees.most_common(_MAX_TOOLS)}
    nodes = [
        {
            "data": {
                "id": name,
                "label": label(short_name(name)),
                "server": _server(tools, name),
                "kind": "tool",
                "own": int(_server(tools, name) == server),
            }
        }
        for name in sorted(kept)
    ]
    links = [
        {
            "data": {
                "id": f"{edge.source}→{edge.target}",
                "source": edge.source,
                "target": edge.target,
                "confidence": round(edge.confidence, 2),
                "kind": edge.coverage,
            }
        }
        for edge in chosen
        if edge.source in kept and edge.target in kept
    ]
    left_out = len(degrees) - len(kept)
    note = f"The {len(kept)} tools with most links are drawn; {left_out} others are not." if left_out else ""
    return {"nodes": nodes, "edges": links, "note": note}


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


ROUTES = {"/graph": picture, "/graph/data": data, "/graph/link": link}
