"""Small graphs made by hand, with a line for each tool."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graph.making import NOTHING, tool
from halflap.graph.edges import Graph
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.graph.naming.vocabulary import CHANGE_VERBS
from halflap.graph.paths import path_text
from halflap.graph.plan import workflow_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.graph.paths import Path
    from halflap.graph.plan import Planned
    from halflap.graph.ports import Ports

Schema = dict[str, Any]


def ports(
    name: str,
    takes: str = "",
    gives: str = "",
    *,
    server: str = "shop",
    destructive: bool = False,
    latency: float | None = None,
    types: Mapping[str, Any] | None = None,
) -> Ports:
    """Make a tool: `takes` and `gives` are paths such as `customers[].id`, `methods.{key}`, `map.{}.x`.

    `?` marks what is optional, `=` what is required and has a default. It only reads, unless its name has a verb of change.
    """
    output = _schema(gives, types or {}) if gives else NOTHING
    made = tool(server, name, gives=output, schema_=_schema(takes, types or {}))
    changes = None if destructive or made.subject.verb in CHANGE_VERBS else False
    return replace(made, is_destructive=destructive, changes=changes, latency_ms=latency)


def _schema(paths: str, types: Mapping[str, Any]) -> Schema:
    whole: Schema = {"type": "object"}
    for text in paths.split():
        at = whole
        *around, last = text.rstrip("?=").replace("[]", ".[]").removeprefix(".").split(".")
        for part in around:
            at = _inside(at, part, required=True)
        leaf = _inside(at, last, required="?" not in text)
        leaf |= types.get(text, {"type": "string"}) if not leaf else {}
        leaf |= {"default": "usual"} if "=" in text else {}
    return whole


def _inside(at: Schema, part: str, *, required: bool) -> Schema:
    inner: Schema
    if part == "[]":
        at["type"] = "array"
        inner = at.setdefault("items", {})
        return inner
    at["type"] = "object"
    if part in {"{}", "{key}"}:
        inner = at.setdefault("additionalProperties", {})
        return inner
    if required and part not in at.setdefault("required", []):
        at["required"].append(part)
    inner = at.setdefault("properties", {}).setdefault(part, {})
    return inner


def graph_of(*tools: Ports, links: Iterable[tuple[str, Path, str, Path]] = ()) -> Graph:
    """Make a graph; `links` are from a tool's place to another's slot, whatever their names are."""
    flows = {Flow(one, path_text(at), two, path_text(to)): Count(50, 5) for one, at, two, to in links}
    return Graph(tools, Lineage(flows))


def shown(planned: Planned) -> dict[str, Any]:
    return {
        "suggestions": [workflow_json(one) for one in planned.suggestions],
        "missing": list(planned.missing),
    }
