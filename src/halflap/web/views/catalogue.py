"""The catalogue: search as you type, filters, and a page per tool."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from halflap.core.errors import HalflapError, UsageError
from halflap.web.forms import inputs_of, read_inputs
from halflap.web.schema_tree import Field, count, tree

if TYPE_CHECKING:
    from starlette.responses import Response

    from halflap.core.values import Result, Tool
    from halflap.observe import Known
    from halflap.web.site import Visit

KNOWN = ("declared", "learned", "unknown")
_PAGE = 50
_FOUND = 200
"""Hits of a search, before filtering."""
_RECENT = 10
_MAX_LINKS = 60


async def catalogue(visit: Visit) -> Response:
    query, server, known = visit.query("q"), visit.query("server"), visit.query("known")
    start = int(visit.query("from")) if visit.query("from").isdecimal() else 0
    snapshot = visit.gateway.snapshot
    kinds = await visit.site.output_kinds.get() or {}
    if query:
        hits = await visit.gateway.search(query, limit=_FOUND, server=server or None)
        names = [hit.name for hit in hits]
    else:
        names = [
            name for name in sorted(snapshot.tools) if not server or snapshot.tools[name].server == server
        ]
    names = [name for name in names if not known or kinds.get(name, KNOWN[-1]) == known]
    shown = [
        _row(visit, snapshot.tools[name], kinds)
        for name in names[start : start + _PAGE]
        if name in snapshot.tools
    ]
    values: dict[str, Any] = {
        "query": query, "server": server, "known": known, "kinds": KNOWN, "tools": shown,
        "servers": visit.servers, "count": len(names),
        "is_cut": bool(query) and len(names) >= _FOUND, "start": start,
        "next": start + _PAGE if start + _PAGE < len(names) else None, "page": _PAGE,
    }  # fmt: skip
    return visit.render("catalogue_found.html" if visit.is_fragment else "catalogue.html", **values)


def _row(visit: Visit, tool: Tool, kinds: dict[str, str]) -> dict[str, Any]:
    snapshot = visit.gateway.snapshot
    state = "blocked" if tool.name in snapshot.blocked else "held" if tool.name in snapshot.held else ""
    return {
        "name": tool.name,
        "server": tool.server,
        "description": (tool.description or "").partition("\n")[0],
        "known": kinds.get(tool.name, KNOWN[-1]),
        "state": state,
    }


async def one_tool(visit: Visit) -> Response:
    tool = visit.gateway.snapshot.find(visit.path("name"))
    described = await visit.gateway.inspect(tool.name)
    calls = await visit.gateway.recent_calls(
        _RECENT, tool=tool.name, principal=visit.only_principal, values=False
    )
    known = await visit.gateway.learned.of(tool) if described.get("observations") else None
    input_tree, output_tree = await asyncio.to_thread(_trees, described, known)
    policy = visit.gateway.parts.calls.policy
    return visit.render(
        "tool.html",
        tool=tool,
        described=described,
        known=known,
        input_tree=input_tree,
        output_tree=output_tree,
        calls=calls,
        inputs=inputs_of(described["inputSchema"]) if visit.may_call else [],
        is_destructive=policy.is_destructive(tool),
        is_read_only=policy.is_read_only(tool),
    )


def _trees(described: dict[str, Any], known: Known | None) -> tuple[Field | None, Field | None]:
    output = tree(described.get("outputSchema"), described.get("observedSchema"))
    if output is not None and known is not None:
        count(output, known.learned.results.root)
    return tree(described["inputSchema"]), output


async def links(visit: Visit) -> Response:
    """Answer with the links of a tool, loaded separately because computing them takes a while."""
    tool = visit.gateway.snapshot.find(visit.path("name"))
    graph = await visit.gateway.graph()

    def around() -> tuple[list[Any], list[Any]]:
        into = [one for one in graph.into(tool.name) if not one.is_pagination]
        out = [one for one in graph.out_of(tool.name) if not one.is_pagination]
        return into[:_MAX_LINKS], out[:_MAX_LINKS]

    into, out = await asyncio.to_thread(around)
    return visit.render("tool_links.html", tool=tool, into=into, out=out, most=_MAX_LINKS)


async def post_call(visit: Visit) -> Response:
    """Call a tool with the arguments from its form."""
    visit.expect_calls_allowed()
    tool = visit.gateway.snapshot.find(visit.path("name"))
    is_confirmed = visit.form.get("confirm") == "yes"
    confirmed = frozenset({tool.name}) if is_confirmed else frozenset[str]()
    result: Result | None = None
    problem: HalflapError | None = None
    try:
        if visit.gateway.parts.calls.policy.is_destructive(tool) and not is_confirmed:
            raise UsageError("This tool destroys something. Tick the box to confirm the call.")
        arguments = read_inputs(inputs_of(tool.input_schema), visit.form)
        result = await visit.gateway.call_tool(tool.name, arguments, visit.context(confirmed))
    except HalflapError as error:
        problem = error
    shown: Any = None
    if result is not None:
        shown = result.structured_content if result.has_structured_content else [*result.content]
        shown = await asyncio.to_thread(json.dumps, shown, indent=2, ensure_ascii=False, default=str)
    values: dict[str, Any] = {"tool": tool, "result": result, "shown": shown, "problem": problem}
    return visit.render("tool_result.html" if visit.is_fragment else "tool_called.html", **values)


ROUTES = {
    "/tools": catalogue,
    "/tools/{name}": one_tool,
    "/tools/{name}/links": links,
    "/tools/{name}/call": post_call,
}
