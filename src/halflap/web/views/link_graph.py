"""The graph of links: between servers, between groups of a large server's tools, and between tools."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlencode

from starlette.responses import JSONResponse

from halflap.core.errors import UsageError
from halflap.core.text import plural
from halflap.graph.naming.subject import subject_of
from halflap.web.rendering import label, short_name

if TYPE_CHECKING:
    from starlette.responses import Response

    from halflap.core.values import Tool
    from halflap.graph.edges import Edge
    from halflap.web.site import Visit

_MAX_TOOLS = 40
"""Tools drawn at the same time, those with most links first. Of a server with more, groups are drawn."""
_MAX_ARROWS = 30
"""Arrows drawn at the same time; more would cover each other. Then only the strongest into each node is drawn, and the
others of a node while it is pointed at."""
_MAX_ALONE = 12
"""If there are more clusters than this, those without links are left out."""
_SMALLEST_GROUP = 3
_OTHERS = "others"
_LISTED = 100
_DEFAULT = 0.8
_PATIENCE = 2.0


@dataclass(frozen=True, slots=True)
class _Filter:
    """The links that the visitor asked for."""

    server: str
    group: str
    words: str
    confidence: float

    @classmethod
    def of(cls, visit: Visit) -> Self:
        text = visit.query("confidence")
        try:
            confidence = min(1.0, max(0.0, float(text))) if text else _DEFAULT
        except ValueError:
            raise UsageError("`confidence` must be a number from 0 to 1.") from None
        return cls(visit.query("server"), visit.query("group"), visit.query("q").lower(), confidence)

    @property
    def query(self) -> str:
        found = {"server": self.server, "group": self.group, "q": self.words}
        return urlencode({**{key: one for key, one in found.items() if one}, "confidence": self.confidence})

    def chosen(self, tools: Mapping[str, Tool], edges: Sequence[Edge]) -> list[Edge]:
        groups = self.clusters(tools) if self.group else {}
        matching = {
            name
            for name, tool in tools.items()
            if self.words in name.lower()
            and self.server in {"", tool.server}
            and self.group in {"", groups.get(name)}
        }
        return [
            edge
            for edge in edges
            if edge.confidence >= self.confidence
            and not edge.is_pagination
            and tools.keys() >= {edge.source, edge.target}
            and not matching.isdisjoint({edge.source, edge.target})
        ]

    def clusters(self, tools: Mapping[str, Tool]) -> dict[str, str]:
        """Return the server of each tool; within one server, the group of each of its tools."""
        if not self.server:
            return {name: tool.server for name, tool in tools.items()}
        return _groups([name for name, tool in tools.items() if tool.server == self.server])

    def shows_clusters(self, clusters: Mapping[str, str]) -> bool:
        return not self.words and not self.group and (not self.server or len(clusters) > _MAX_TOOLS)


def _groups(names: Sequence[str]) -> dict[str, str]:
    """Group tools by a word for what they are about: the most frequent one whose tools can still be drawn together."""
    words = {
        name: {word for thing in subject_of(short_name(name)).things for word in thing} for name in names
    }
    counts = Counter(word for found in words.values() for word in found)
    groups: dict[str, str] = {}
    for name, found in words.items():
        fitting = [word for word in found if counts[word] <= _MAX_TOOLS]
        rarest = min(found, key=lambda word: (counts[word], word), default=_OTHERS)
        groups[name] = max(fitting, key=lambda word: (counts[word], word), default=rarest)
    sizes = Counter(groups.values())
    return {name: group if sizes[group] >= _SMALLEST_GROUP else _OTHERS for name, group in groups.items()}


async def picture(visit: Visit) -> Response:
    edges = await visit.site.edges.get(_PATIENCE)
    wanted, tools = _Filter.of(visit), visit.gateway.snapshot.tools
    listed = None if edges is None else await asyncio.to_thread(wanted.chosen, tools, edges)
    values: dict[str, Any] = {
        "wanted": wanted,
        "whole": replace(wanted, group="", words=""),
        "edges": None if listed is None else listed[:_LISTED],
        "servers": visit.servers,
        "shows_clusters": wanted.shows_clusters(wanted.clusters(tools)),
    }
    return visit.render("graph.html", **values)


async def data(visit: Visit) -> Response:
    """Answer with the nodes and links to draw, in Cytoscape's format; 202 while they are being computed."""
    edges = await visit.site.edges.get(_PATIENCE)
    if edges is None:
        return JSONResponse({"busy": True}, 202)
    tools = visit.gateway.snapshot.tools
    return JSONResponse(await asyncio.to_thread(_drawing, tools, edges, _Filter.of(visit)))


def _drawing(tools: Mapping[str, Tool], edges: Sequence[Edge], wanted: _Filter) -> dict[str, Any]:
    chosen, clusters = wanted.chosen(tools, edges), wanted.clusters(tools)
    if wanted.shows_clusters(clusters):
        return _clustered(chosen, clusters, wanted)
    return _tools(chosen, tools, wanted)


def _clustered(chosen: Sequence[Edge], clusters: Mapping[str, str], wanted: _Filter) -> dict[str, Any]:
    """Draw one node for each cluster. Clicking it shows its tools."""
    sizes = Counter(clusters.values())
    pairs = Counter((clusters.get(edge.source), clusters.get(edge.target)) for edge in chosen)
    linked = {end for pair in pairs for end in pair}
    drawn = [name for name in sizes if name in linked or len(sizes) <= _MAX_ALONE]
    nodes = []
    for name in drawn:
        inner = pairs.pop((name, name), 0)
        about = plural(sizes[name], "tool") + (f", {plural(inner, 'link')}" if inner else "")
        inside = replace(wanted, group=name) if wanted.server else replace(wanted, server=name)
        text = f"{label(name)}\n{about}"
        nodes.append({"id": name, "label": text, "kind": "cluster", "open": f"/graph?{inside.query}"})
    links = [
        {
            "source": source,
            "target": target,
            "label": f"{count:,}" if len(pairs) <= _MAX_ARROWS else "",
            "weight": round(1 + min(4.0, math.log2(1 + count) / 2), 1),
            "detail": f"/graph/between?{urlencode({'from': source, 'to': target})}&{wanted.query}",
        }
        for (source, target), count in pairs.most_common()
        if source is not None and target is not None
    ]
    alone = len(sizes) - len(drawn)
    kind = "group" if wanted.server else "server"
    return _elements(nodes, links, [f"{plural(alone, kind)} without links not drawn."] if alone else [])


def _tools(chosen: Sequence[Edge], tools: Mapping[str, Tool], wanted: _Filter) -> dict[str, Any]:
    """Draw the tools with most links."""
    degrees = Counter(end for edge in chosen for end in (edge.source, edge.target))
    drawn = {name for name, _ in degrees.most_common(_MAX_TOOLS)}
    links = [
        {
            "source": edge.source,
            "target": edge.target,
            "kind": edge.coverage,
            "detail": f"/graph/link?{urlencode({'from': edge.source, 'to': edge.target})}",
        }
        for edge in sorted(chosen, key=lambda one: -one.confidence)
        if {edge.source, edge.target} <= drawn
    ]
    nodes = []
    for name in sorted(drawn):
        server = tools[name].server
        text = label(short_name(name)) + ("" if server == wanted.server else f"\n{label(server)}")
        kind = "tool" if wanted.server in {"", server} else "foreign"
        nodes.append({"id": name, "label": text, "kind": kind, "detail": f"/tools/{name}/links?titled=1"})
    is_cut = len(drawn) < len(degrees)
    note = f"The {len(drawn)} tools with most links, of {len(degrees):,}. Click one to see all of its links."
    return _elements(nodes, links, [note] if is_cut else [])


def _elements(nodes: Sequence[Mapping[str, Any]], links: Sequence[Any], notes: list[str]) -> dict[str, Any]:
    """Return nodes, and links with the strongest first, in Cytoscape's format."""
    reached: set[str] = set()
    edges = []
    for one in links:
        is_weak = len(links) > _MAX_ARROWS and one["target"] in reached
        reached.add(one["target"])
        edges.append({"data": {**one, "id": f"{one['source']}→{one['target']}", "weak": is_weak}})
    if len(links) > _MAX_ARROWS:
        notes = ["The strongest arrow to each box is drawn. Point at a box to see its others.", *notes]
    return {"nodes": [{"data": one} for one in nodes], "edges": edges, "note": " ".join(notes)}


async def between(visit: Visit) -> Response:
    """Answer with the links from one cluster to another."""
    source, target = visit.query("from"), visit.query("to")
    edges, tools = await visit.site.edges.get(_PATIENCE), visit.gateway.snapshot.tools
    wanted = _Filter.of(visit)
    clusters = wanted.clusters(tools)
    found = [
        edge
        for edge in wanted.chosen(tools, edges or ())
        if (clusters.get(edge.source), clusters.get(edge.target)) == (source, target)
    ]
    return visit.render("between.html", source=source, target=target, edges=found[:_LISTED], count=len(found))


async def link(visit: Visit) -> Response:
    """Answer with the evidence for one link."""
    source, target = visit.query("from"), visit.query("to")
    if not source or not target:
        raise UsageError("Name the two tools: `from` and `to`.")
    explained = await visit.gateway.explain_edge(source, target)
    edge = None if explained.edge is None else explained.edge.to_json()
    near = [one.to_json() for one in explained.near]
    return visit.render("link.html", source=source, target=target, edge=edge, near=near)


ROUTES = {"/graph": picture, "/graph/data": data, "/graph/link": link, "/graph/between": between}
