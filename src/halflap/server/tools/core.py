"""The core family, and its `list_callable_tools`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.server.tools.call import call_tool
from halflap.server.tools.execute import execute_program
from halflap.server.tools.inspect import inspect_tool
from halflap.server.tools.search import search_tools
from halflap.server.tools.suggest import suggest_workflow
from halflap.server.tools.tool import Answer, FrontTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

__all__ = ["core_family"]

_LIST_CALLABLE_TOOLS = (
    "Lists the names of all callable tools: mcp__<server>__<tool>, script__<name> and dspy__<name> (saved scripts and "
    "DSPy programs)."
)


def _missing(gateway: Gateway) -> str | None:
    """Return which servers' tools are not in the list, because they never started."""
    unknown = {
        name: why for name, why in gateway.unavailable().items() if name not in gateway.snapshot.servers
    }
    if not unknown:
        return None
    return "Not in this list: " + " ".join(f"Server {name!r}: {why}" for name, why in sorted(unknown.items()))


def core_family(gateway: Gateway) -> list[FrontTool]:
    """Return the tools of the family, bound to a gateway."""

    async def list_callable_tools(_arguments: Mapping[str, Any], _caller: Caller) -> Answer:
        await gateway.settle()
        names = list(gateway.snapshot.callable)
        text = json.dumps(names, indent=2, ensure_ascii=False)
        return Answer(text, {"result": names}, note=_missing(gateway))

    return [
        search_tools(gateway),
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
                        "description": "Sorted",
                    }
                },
                "required": ["result"],
            },
            read_only=True,
            handler=list_callable_tools,
        ),
        inspect_tool(gateway),
        call_tool(gateway),
        execute_program(gateway),
        suggest_workflow(gateway),
    ]
