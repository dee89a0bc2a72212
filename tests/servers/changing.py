"""A server whose list of tools changes while it runs, and says so in the way of either protocol era."""

from dataclasses import dataclass
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[dict[str, Any]]


@dataclass
class State:
    grown: int = 0
    rewritten: int = 0


def definitions(state: State) -> list[types.Tool]:
    described = {
        "grow": "Add a tool to this server.",
        "rewrite": "Change the description of the tool stable.",
        "stable": f"A tool that stays. Rewritten {state.rewritten} times.",
    } | {f"grown_{number}": f"Tool number {number} that has grown." for number in range(1, state.grown + 1)}
    return [
        types.Tool(name=name, description=description, input_schema={"type": "object", "properties": {}})
        for name, description in described.items()
    ]


def build(state: State) -> Server[dict[str, Any]]:
    bus = InMemorySubscriptionBus()

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=definitions(state))

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name == "grow":
            state.grown += 1
            await changed(context)
            answer = f"grown_{state.grown}"
        elif params.name == "rewrite":
            state.rewritten += 1
            await changed(context)
            answer = f"rewritten {state.rewritten}"
        elif params.name in {tool.name for tool in definitions(state)}:
            answer = f"{params.name} ok"
        else:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        return types.CallToolResult(content=[types.TextContent(text=answer)])

    async def changed(context: Context) -> None:
        if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
            await bus.publish(ToolsListChanged())
        else:
            await context.session.send_tool_list_changed()

    return Server(
        "changing",
        version="1.0.0",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=ListenHandler(bus),
    )


async def serve(server: Server[dict[str, Any]]) -> None:
    options = server.create_initialization_options(NotificationOptions(tools_changed=True))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, options)


def main() -> None:
    anyio.run(serve, build(State()))


if __name__ == "__main__":
    main()
