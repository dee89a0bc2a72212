"""`search_tools`, `list_callable_tools` and `inspect_tool`: which tools there are, and what they take and return."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ToolNotFoundError
from halflap.core.text import visible
from halflap.server.tools.tool import Answer, FrontTool, array, field, record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.passthrough.client import Client

__all__ = ["inspect_tool", "list_callable_tools", "search_tools"]

_SEARCH = (
    "Finds tools by what they do, across all connected MCP servers: a few words or a sentence, in any language, or a "
    "tool's name. Search for one step of a task at a time."
)
_LIST = (
    "Lists the names of all callable tools: mcp__<server>__<tool>, script__<name> and dspy__<name> (saved scripts and "
    "DSPy programs)."
)
_INSPECT = (
    "Returns the schema and description of a tool available in execute_program. Includes outputSchema if the "
    "upstream MCP server defines one. Call this before writing a script if you need to understand a tool's "
    "return format."
)
_MAX_SHOWN = 200
_HIT = record(
    "name description signature score",
    name=field("string", "Namespaced"),
    description=field("string", "One line"),
    signature=field("string", "? marks optional parameters"),
    score=field("number", "From 0 to 1"),
)
_DESCRIBED = record(
    "name description inputSchema outputSchema",
    name=field("string", "Namespaced"),
    description=field("string", "From the server"),
    inputSchema=field("object", "Parameters"),
    outputSchema=field(["object", "null"], "As declared by the server"),
    observedSchema=field("object", "Learned from results"),
    observations=field("integer", "Results learned from"),
    confidence=field("number", "Minimum probability of fitting the next result"),
    lastObserved=field(["string", "null"], "Last result", format="date-time"),
    drift=array("Changes in results", {"type": "object"}),
    note=field("string", "About the returned value"),
    spelling=field("string", "Of invisible characters"),
    unchecked=field("string", "Why arguments aren't validated"),
    server=field("string", "Its server"),
    originalName=field("string", "Name on its server"),
    annotations=field("object", "Effects"),
    instructions=field("string", "From the server"),
)


def search_tools(gateway: Gateway) -> FrontTool:
    async def answer(arguments: Mapping[str, Any], _client: Client) -> Answer:
        hits = await gateway.search(
            arguments["query"], limit=arguments.get("limit", 10), server=arguments.get("server")
        )
        return Answer.json({"tools": [asdict(hit) for hit in hits]})

    return FrontTool(
        name="search_tools",
        title="Search for tools",
        description=_SEARCH,
        input_schema=record(
            "query",
            closed=True,
            query=field("string", "What the tool should do, or its name"),
            limit=field("integer", "Maximum number of results", minimum=1, maximum=100, default=10),
            server=field(["string", "null"], "Only tools of this server"),
        ),
        output_schema=record("tools", tools=array("Best first", _HIT)),
        read_only=True,
        handler=answer,
        errors=("usage", "server-not-found"),
    )


def list_callable_tools(gateway: Gateway) -> FrontTool:
    async def answer(_arguments: Mapping[str, Any], _client: Client) -> Answer:
        await gateway.settle()
        names = list(gateway.snapshot.callable)
        text = json.dumps(names, indent=2, ensure_ascii=False)
        return Answer(text, {"result": names}, note=_missing(gateway))

    return FrontTool(
        name="list_callable_tools",
        title="List callable tools",
        description=_LIST,
        input_schema=record(closed=True),
        output_schema=record("result", result=array("Sorted", {"type": "string"})),
        read_only=True,
        handler=answer,
    )


def _missing(gateway: Gateway) -> str | None:
    """Return which servers' tools are not in the list, because they never started."""
    unknown = {
        name: why for name, why in gateway.unavailable().items() if name not in gateway.snapshot.servers
    }
    if not unknown:
        return None
    return "Not in this list: " + " ".join(f"Server {name!r}: {why}" for name, why in sorted(unknown.items()))


def inspect_tool(gateway: Gateway) -> FrontTool:
    async def answer(arguments: Mapping[str, Any], _client: Client) -> Answer:
        from halflap.calls import aside  # noqa: PLC0415 -- it loads much that listing the tools does not need

        name = arguments["tool_name"]
        try:
            described = await gateway.inspect(name)
        except ToolNotFoundError as error:
            # Nothing else follows where no tool comes near: that line is prescribed.
            near = error.suggestions or error.server
            more = str(error).partition("\n")[2] if near else ""
            return Answer(_not_found(name, more), is_error=True, code=error.code)
        if "blocked" in described:
            text = _not_found(name, f"{described['blocked']} blocks it.")
            return Answer(text, is_error=True, code="tool-blocked")
        return await aside(lambda: Answer.json(described), described)

    example = "Namespaced tool name (e.g., mcp__financial_data__query_financials)"
    return FrontTool(
        name="inspect_tool",
        title="Inspect a tool",
        description=_INSPECT,
        input_schema=record("tool_name", tool_name=field("string", example)),
        output_schema=_DESCRIBED,
        read_only=True,
        handler=answer,
        errors=("tool-not-found", "tool-blocked", "script"),
    )


def _not_found(name: str, more: str) -> str:
    first = f"[Tool not found] '{visible(name, _MAX_SHOWN)}' is not available in execute_program"
    return f"{first}\n{more}" if more else first
