"""`inspect_tool`: what a tool takes and returns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ToolNotFoundError
from halflap.core.text import visible
from halflap.server.tools.tool import Answer, FrontTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

__all__ = ["inspect_tool"]

_LONGEST_SHOWN = 200

_DESCRIPTION = (
    "Returns the schema and description of a tool available in execute_program. Includes outputSchema if the "
    "upstream MCP server defines one. Call this before writing a script if you need to understand a tool's "
    "return format."
)

_TEXT = {"type": "string"}
_OBJECT = {"type": "object"}
_OUTPUT = {
    "type": "object",
    "properties": {
        "name": {**_TEXT, "description": "Namespaced"},
        "description": {**_TEXT, "description": "From the server"},
        "inputSchema": {**_OBJECT, "description": "Parameters"},
        "outputSchema": {"type": ["object", "null"], "description": "As declared by the server"},
        "observedSchema": {**_OBJECT, "description": "Learned from results"},
        "observations": {"type": "integer", "description": "Results learned from"},
        "confidence": {"type": "number", "description": "Minimum probability of fitting the next result"},
        "lastObserved": {"type": ["string", "null"], "format": "date-time", "description": "Last result"},
        "drift": {"type": "array", "items": _OBJECT, "description": "Changes in results"},
        "note": {**_TEXT, "description": "About the returned value"},
        "spelling": {**_TEXT, "description": "Of invisible characters"},
        "unchecked": {**_TEXT, "description": "Why arguments aren't validated"},
        "server": {**_TEXT, "description": "Its server"},
        "originalName": {**_TEXT, "description": "Name on its server"},
        "annotations": {**_OBJECT, "description": "Effects"},
        "instructions": {**_TEXT, "description": "From the server"},
    },
    "required": ["name", "description", "inputSchema", "outputSchema"],
}


def inspect_tool(gateway: Gateway) -> FrontTool:
    async def answer(arguments: Mapping[str, Any], _caller: Caller) -> Answer:
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
            told = _not_found(name, f"{described['blocked']} blocks it.")
            return Answer(told, is_error=True, code="tool-blocked")
        text = await aside(lambda: json.dumps(described, indent=2, ensure_ascii=False), described)
        return Answer(text, described)

    return FrontTool(
        name="inspect_tool",
        title="Inspect a tool",
        description=_DESCRIPTION,
        input_schema={
            "type": "object",
            "properties": {
                "tool_name": {
                    "type": "string",
                    "description": "Namespaced tool name (e.g., mcp__financial_data__query_financials)",
                }
            },
            "required": ["tool_name"],
        },
        output_schema=_OUTPUT,
        read_only=True,
        handler=answer,
        errors=("tool-not-found", "tool-blocked", "script"),
    )


def _not_found(name: str, more: str) -> str:
    first = f"[Tool not found] '{visible(name, _LONGEST_SHOWN)}' is not available in execute_program"
    return f"{first}\n{more}" if more else first
