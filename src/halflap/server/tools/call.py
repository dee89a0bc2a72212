"""`call_tool`: call one tool and return its result unchanged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.core.values import OWN
from halflap.server.confirm import confirm
from halflap.server.passthrough.client import Word
from halflap.server.tools.tool import FrontTool, field, record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.passthrough.client import Client

__all__ = ["call_directly", "call_tool"]

_DESCRIPTION = (
    "Calls one tool and returns its result unchanged. Use execute_program for several calls or large results."
)
_OWN_PREFIXES = tuple(f"{own}__" for own in OWN)


async def call_directly(
    gateway: Gateway, name: str, arguments: Mapping[str, Any], client: Client
) -> dict[str, Any]:
    """Call a tool for a client and return the result as it came."""
    await gateway.prepare()
    word = Word()
    if gateway.config.execution.confirm_destructive and name.isidentifier():
        # Confirmation is asked for the same call as a program would make.
        program = f"await {name}(**{json.dumps(arguments, ensure_ascii=False)})"
        word = await confirm(client, await gateway.needing_confirmation(program), program)
    # Repeated with an answer, the request would be confirmed once more; and our own programs call other tools.
    forwards = word == Word() and not name.startswith(_OWN_PREFIXES)
    context = gateway.parts.executor.under_rule(client.on_behalf(word, forwards=forwards))
    return (await gateway.call_tool(name, arguments, context)).to_wire()


def call_tool(gateway: Gateway) -> FrontTool:
    async def answer(arguments: Mapping[str, Any], client: Client) -> dict[str, Any]:
        return await call_directly(gateway, arguments["name"], arguments.get("arguments") or {}, client)

    return FrontTool(
        name="call_tool",
        title="Call a tool",
        description=_DESCRIPTION,
        input_schema=record(
            "name",
            closed=True,
            name=field("string", "Namespaced tool name"),
            arguments=field("object", "As its inputSchema says"),
        ),
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
