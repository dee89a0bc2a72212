"""The core family of our own tools."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.gateway import FIRST_LISTING_SECONDS
from halflap.server.execution import execute_program
from halflap.server.family import Answer, FrontTool
from halflap.server.inspection import inspect_tool
from halflap.server.search import search_tools
from halflap.server.suggestion import suggest_workflow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

__all__ = ["core_family"]

_LIST_CALLABLE_TOOLS = """\
Lists the names of all tools that can be called through Halflap, from every connected MCP server, as a \
sorted JSON array of strings. A name has the form mcp__<server>__<tool>, script__<name> for a saved script, or dspy__<name> for a saved DSPy program. Takes no arguments. Use it to \
see what is there; the array holds names only, no descriptions or schemas."""


def _missing(gateway: Gateway) -> str | None:
    """Say which servers' tools are not in the list because nothing is known of them."""
    unknown = {
        name: why for name, why in gateway.unavailable().items() if name not in gateway.snapshot.servers
    }
    if not unknown:
        return None
    return "Not in this list: " + " ".join(f"Server {name!r}: {why}" for name, why in sorted(unknown.items()))


def core_family(gateway: Gateway) -> list[FrontTool]:
    """Give the tools of the family, bound to a gateway."""

    async def list_callable_tools(_arguments: Mapping[str, Any], _caller: Caller) -> Answer:
        await gateway.settle(wait_seconds=FIRST_LISTING_SECONDS)
        names = list(gateway.snapshot.callable)
        text = json.dumps(names, indent=2, ensure_ascii=False)
        return Answer(text, {"result": names}, note=_missing(gateway))

    return [
        FrontTool(
            name="list_callable_tools",
            title="List callable tools",
            description=_LIST_CALLABLE_TOOLS,
            input_schema={"type": "object", "properties": {}, "additionalProperties": False},
            output_schema={
                "type": "object",
                "properties": {
                    "result": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "Namespaced tool names, sorted",
                    }
                },
                "required": ["result"],
            },
            read_only=True,
            handler=list_callable_tools,
        ),
        inspect_tool(gateway),
        search_tools(gateway),
        execute_program(gateway),
        suggest_workflow(gateway),
    ]
