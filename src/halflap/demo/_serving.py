"""Serve functions as MCP tools over stdio, to clients of both protocol eras."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

READ_ONLY = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "integer": (int,)}


class RefusedError(Exception):
    """The call can't be answered; the message says why, and what would work."""


@dataclass(frozen=True)
class ServedTool:
    definition: Tool
    answer: Callable[..., Any]
    """Takes the arguments by name, returns a JSON value or raises RefusedError."""


def serve(name: str, tools: Sequence[ServedTool], *, instructions: str | None = None) -> None:
    """Serve the tools over stdin and stdout until the client leaves."""
    server = build(name, tools, instructions=instructions)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def build(
    name: str, tools: Sequence[ServedTool], *, instructions: str | None = None
) -> Server[dict[str, Any]]:
    by_name = {tool.definition.name: tool for tool in tools}

    async def list_tools(
        context: ServerRequestContext[dict[str, Any]], _: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                _with_object_root(tool.definition) if _must_wrap(tool, context) else tool.definition
                for tool in tools
            ]
        )

    async def call_tool(
        context: ServerRequestContext[dict[str, Any]], call: CallToolRequestParams
    ) -> CallToolResult:
        tool = by_name.get(call.name)
        if tool is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {call.name}. Known: {', '.join(by_name)}.")
        try:
            arguments = _checked(tool.definition.input_schema, call.arguments or {})
            value = tool.answer(**arguments)
        except RefusedError as refusal:
            return CallToolResult(content=[TextContent(text=str(refusal))], is_error=True)
        content = [TextContent(text=json.dumps(value, indent=2))]
        if tool.definition.output_schema is None:
            return CallToolResult(content=[*content])
        structured = {"result": value} if _must_wrap(tool, context) else value
        return CallToolResult(content=[*content], structured_content=structured)

    return Server(
        name, version="1.0.0", instructions=instructions, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _must_wrap(tool: ServedTool, context: ServerRequestContext[dict[str, Any]]) -> bool:
    """Return whether the declared output must be wrapped: before 2026-07-28 its root had to be an object."""
    schema = tool.definition.output_schema
    return (
        schema is not None
        and schema.get("type") != "object"
        and context.protocol_version not in MODERN_PROTOCOL_VERSIONS
    )


def _with_object_root(definition: Tool) -> Tool:
    wrapped = {"type": "object", "properties": {"result": definition.output_schema}, "required": ["result"]}
    return definition.model_copy(update={"output_schema": wrapped})


def _checked(schema: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Validate arguments against a flat input schema, which the SDK leaves to the server."""
    properties: Mapping[str, Mapping[str, Any]] = schema["properties"]
    for name in schema.get("required", ()):
        if name not in arguments:
            raise RefusedError(f"Missing argument: {name}.")
    for name, value in arguments.items():
        if name not in properties:
            raise RefusedError(f"Unknown argument: {name}. Known: {', '.join(properties)}.")
        expected = properties[name]["type"]
        if not isinstance(value, _TYPES[expected]) or isinstance(value, bool):
            raise RefusedError(f"Argument {name} must be of type {expected}, not {json.dumps(value)}.")
        allowed = properties[name].get("enum")
        if allowed is not None and value not in allowed:
            raise RefusedError(f"Argument {name} must be one of {', '.join(allowed)}, not {value!r}.")
    # The schemas give `limit` no minimum, yet a page of no rows, or of -1, is never meant.
    if arguments.get("limit", 1) < 1:
        raise RefusedError(f"Argument limit must be at least 1, not {arguments['limit']}.")
    return arguments
