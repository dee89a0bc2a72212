"""`inspect_tool`: what a tool takes and returns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ToolNotFoundError
from halflap.core.text import visible
from halflap.server.family import Answer, FrontTool

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


def inspect_tool(gateway: Gateway) -> FrontTool:
    """Give the tool, bound to a gateway."""

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
        output_schema={
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Namespaced"},
                "description": {"type": "string", "description": "As its server has it"},
                "inputSchema": {"type": "object", "description": "What it takes"},
                "outputSchema": {
                    "type": ["object", "null"],
                    "description": "As the server declares it, or null",
                },
                "observedSchema": {
                    "type": "object",
                    "description": "What results looked like so far, as the value in a program: learned, not declared",
                },
                "observations": {"type": "integer", "description": "How many results that rests on"},
                "confidence": {
                    "type": "number",
                    "description": "The chance, at least, that the next result fits observedSchema",
                },
                "lastObserved": {"type": ["string", "null"], "description": "When the last result was seen"},
                "drift": {
                    "type": "array",
                    "items": {"type": "object"},
                    "description": "What results have that they had not before, and where they break outputSchema",
                },
                "note": {
                    "type": "string",
                    "description": "What to know about the value that the tool returns",
                },
                "spelling": {
                    "type": "string",
                    "description": "How names with letters that cannot be seen are written here, and in a call",
                },
                "unchecked": {
                    "type": "string",
                    "description": "Why arguments are not checked before a call, where they are not",
                },
                "server": {"type": "string", "description": "Whose it is"},
                "originalName": {"type": "string", "description": "The tool's name at its server"},
                "annotations": {
                    "type": "object",
                    "description": "What is known of its effects, what the server claims, and whether that counts",
                },
                "instructions": {
                    "type": "string",
                    "description": "What the server says about using its tools",
                },
            },
            "required": ["name", "description", "inputSchema", "outputSchema"],
        },
        read_only=True,
        handler=answer,
        errors=("tool-not-found", "tool-blocked", "script"),
    )


def _not_found(name: str, more: str) -> str:
    first = f"[Tool not found] '{visible(name, _LONGEST_SHOWN)}' is not available in execute_program"
    return f"{first}\n{more}" if more else first
