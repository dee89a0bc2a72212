"""Tools for tests, written shortly: `tool("git", "get_issue", "owner! repo! issue_number:integer!", {"title": str})`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.core.values import Tool
from halflap.graph.edges import Graph
from halflap.graph.ports import ports_of
from halflap.schema import read_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.edges import Edge
    from halflap.graph.ports import Ports

PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}
SCHEMA_TYPES = {*PLAIN.values(), "object", "array"}
NOTHING: Any = object()


def schema(template: Any) -> dict[str, Any]:  # noqa: PLR0911 -- one for each kind of template
    """Give the schema of values like this: `{"users": [{"id": int}]}`; a text is a format, a set an enum, `...` a map's key."""
    if template is Any:
        return {}
    if isinstance(template, type):
        return {"type": PLAIN[template]}
    if isinstance(template, str):
        return {"type": "string", "format": template}
    if isinstance(template, set):
        return {"type": "string", "enum": sorted(template)}
    if isinstance(template, list):
        return {"type": "array", "items": schema(template[0])}
    if template.keys() == {...}:
        return {"type": "object", "additionalProperties": schema(template[...])}
    kind = template.get("type")
    if "anyOf" in template or isinstance(kind, list) or (isinstance(kind, str) and kind in SCHEMA_TYPES):
        return dict(template)
    properties = {name.rstrip("?"): schema(inner) for name, inner in template.items()}
    required = [name for name in template if not name.endswith("?")]
    return {"type": "object", "properties": properties, "required": required}


def inputs(takes: str | Mapping[str, Any]) -> dict[str, Any]:
    """Read parameters: `owner! state ids:array limit:integer`; `!` is required, a string unless it says else."""
    if not isinstance(takes, str):
        properties = {name.rstrip("!"): schema(inner) for name, inner in takes.items()}
        return {
            "type": "object",
            "properties": properties,
            "required": [name[:-1] for name in takes if name.endswith("!")],
        }
    made: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    for one in takes.split():
        name, _, kind = one.rstrip("!").partition(":")
        item = {"type": kind.removesuffix("[]") or "string"}
        made["properties"][name] = {"type": "array", "items": item} if kind.endswith("[]") else item
        if one.endswith("!"):
            made["required"].append(name)
    return made


def tool(
    server: str,
    name: str,
    takes: str | Mapping[str, Any] = "",
    gives: Any = NOTHING,
    description: str = "",
    *,
    learned: Any = NOTHING,
    sure: float = 0.5,
    schema_: Mapping[str, Any] | None = None,
) -> Ports:
    """Make a tool's ports by way of its definition, as a server would give it."""
    output = None if gives is NOTHING else schema(gives)
    if output is not None and output.get("type") != "object":
        output = {"type": "object", "properties": {"result": output}, "required": ["result"]}
    made = Tool(
        name=f"mcp__{server}__{name}",
        server=server,
        original_name=name,
        description=description,
        input_schema=schema_ or inputs(takes),
        output_schema=output,
    )
    seen = None if learned is NOTHING else read_type(schema(learned))
    return ports_of(made, seen, learned_confidence=sure)


def mappings(edge: Edge | None) -> set[tuple[str, str]]:
    """Give which place goes to which slot, as text."""
    return set() if edge is None else {(one["from"], one["to"]) for one in edge.to_json()["mappings"]}


def pair(source: Ports, target: Ports, *others: Ports) -> Edge | None:
    """Give the edge between two tools, in a catalogue of these alone."""
    return Graph([source, target, *others]).edge(source.tool, target.tool)


def graph_of(*ports: Ports) -> Graph:
    """Make a graph of tools."""
    return Graph(ports)
