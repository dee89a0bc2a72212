"""`call_tool`: call one tool and return its result unchanged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import mcp_types as types
from pydantic import ValidationError

from halflap.server.confirm import Question
from halflap.server.tools.tool import FrontTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.core.values import Result
    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

__all__ = ["call_tool"]

_DESCRIPTION = (
    "Calls one tool and returns its result unchanged. Use execute_program for several calls or large results."
)


def call_tool(gateway: Gateway) -> FrontTool:
    async def answer(arguments: Mapping[str, Any], caller: Caller) -> types.CallToolResult | Question:
        name, given = arguments["name"], arguments.get("arguments") or {}
        # Confirmation is asked for the same call as a program would make.
        program = f"await {name}(**{json.dumps(given, ensure_ascii=False)})"
        tools = await gateway.needing_confirmation(program) if name.isidentifier() else ()
        word = await caller.confirm(tools, program)
        if isinstance(word, Question):
            return word
        context = gateway.under_rule(caller.on_behalf(word))
        return _unchanged(await gateway.call_tool(name, given, context))

    return FrontTool(
        name="call_tool",
        title="Call a tool",
        description=_DESCRIPTION,
        input_schema={
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Namespaced tool name"},
                "arguments": {"type": "object", "description": "As its inputSchema says"},
            },
            "required": ["name"],
            "additionalProperties": False,
        },
        output_schema=None,
        read_only=False,
        handler=answer,
        errors=(
            "tool-not-found",
            "tool-blocked",
            "tool-held",
            "tool-refused",
            "invalid-arguments",
            "upstream-unavailable",
            "upstream-lost",
            "call-timeout",
        ),
    )


def _unchanged(result: Result) -> types.CallToolResult:
    wire = result.to_wire()
    try:
        return types.CallToolResult.model_validate(wire)
    except ValidationError:
        # A content block that the protocol doesn't know reaches the model as text.
        blocks = [
            {"type": "text", "text": json.dumps(block, ensure_ascii=False)} for block in wire["content"]
        ]
        return types.CallToolResult.model_validate({**wire, "content": blocks})
