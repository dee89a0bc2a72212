"""A server that takes SECONDS to start and then has one tool."""

import sys
import time
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

Context = ServerRequestContext[dict[str, Any]]


async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    ok = types.Tool(name="ok", description="Say ok.", input_schema={"type": "object", "properties": {}})
    return types.ListToolsResult(tools=[ok])


async def call_tool(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text="ok")])


async def serve() -> None:
    server = Server("slow", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    time.sleep(float(sys.argv[1]))
    anyio.run(serve)
