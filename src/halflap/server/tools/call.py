"""`call_tool`: call one tool and return its result unchanged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NoReturn

from halflap.core.values import OWN
from halflap.server.confirm import Word
from halflap.server.passthrough.results import AsItCame
from halflap.server.tools.tool import FrontTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

__all__ = ["call_directly", "call_tool"]

_DESCRIPTION = (
    "Calls one tool and returns its result unchanged. Use execute_program for several calls or large results."
)
_OWN_PREFIXES = tuple(f"{own}__" for own in OWN)


async def call_directly(
    gateway: Gateway, name: str, arguments: Mapping[str, Any], caller: Caller
) -> NoReturn:
    """Call a tool for a client and pass on the result."""
    await gateway.prepare()
    word = Word()
    if gateway.config.execution.confirm_destructive and name.isidentifier():
        # Confirmation is asked for the same call as a program would make.
        program = f"await {name}(**{json.dumps(arguments, ensure_ascii=False)})"
        word = await caller.confirm(await gateway.needing_confirmation(program), program)
    # Repeated with an answer, the request would be confirmed once more; and programs of ours make calls of their own.
    forwards = word == Word() and not name.startswith(_OWN_PREFIXES)
    context = gateway.parts.executor.under_rule(caller.on_behalf(word, forwards=forwards))
    result = await gateway.call_tool(name, arguments, context)
    tool = gateway.snapshot.tools.get(name)
    if tool is not None:
        caller.note(tool.server, result)
    raise AsItCame(result.to_wire())


def call_tool(gateway: Gateway) -> FrontTool:
    async def answer(arguments: Mapping[str, Any], caller: Caller) -> NoReturn:
        await call_directly(gateway, arguments["name"], arguments.get("arguments") or {}, caller)

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
