"""The contract on servers of the `mcp` package."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from mcp import Client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from contract.desk import CONTRACT, DESCRIPTIONS, described_parameters, register
from halflap.contract import tool_of
from halflap.contract.mcp import call_result, contract_tools

Run = Callable[[Coroutine[Any, Any, Any]], Any]


def desk() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("desk", log_level="CRITICAL")
    register(contract_tools(server, CONTRACT), Context)
    return server


async def called(server: Any, name: str, **arguments: Any) -> CallToolResult:
    async with Client(server) as client:
        # The client validates the result against the output schema, and raises on a mismatch.
        result: CallToolResult = await client.call_tool(name, arguments)
        return result


def envelope(run: Run, server: Any, name: str, **arguments: Any) -> dict[str, Any]:
    result = run(called(server, name, **arguments))
    assert result.is_error is False
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == result.structured_content
    found: dict[str, Any] = result.structured_content
    return found


def test_the_tools_are_listed_with_the_envelope_and_without_the_context(run: Run) -> None:
    server = desk()

    async def listed() -> list[Tool]:
        async with Client(server) as client:
            return (await client.list_tools()).tools

    tools = {one.name: one for one in run(listed())}
    read = tools["read_ticket"]
    assert (read.title, read.description) == ("Read", "Read a ticket.")
    assert list(read.input_schema["properties"]) == ["number"]
    assert read.input_schema["properties"]["number"]["x-halflap"] == {"consumes": "ticket"}
    assert read.input_schema["properties"]["number"]["description"] == "Which one. From list_tickets."
    assert read.output_schema is not None
    minutes = read.output_schema["oneOf"][0]["properties"]["data"]["properties"]["minutes"]
    assert minutes["description"] == "Time spent. Unit: minutes."
    assert described_parameters(tools["merge_tickets"].input_schema) == DESCRIPTIONS
    listing = tools["list_tickets"].output_schema
    assert listing is not None
    ticket = listing["$defs"]["Ticket"]["properties"]["ticket_id"]
    assert ticket["description"] == "Unique identifier. Use with read_ticket, merge_tickets."


def test_results_are_enveloped_in_text_and_structure(run: Run) -> None:
    first = envelope(run, desk(), "list_tickets")
    assert [one["ticket_id"] for one in first["data"]["results"]] == ["T-0", "T-1"]
    cursor = first["data"]["pagination"]["next_cursor"]
    second = envelope(run, desk(), "list_tickets", cursor=cursor, limit=10)
    assert [one["ticket_id"] for one in second["data"]["results"]] == ["T-2", "T-3", "T-4"]
    assert second["data"]["pagination"] == {"total_count": 5, "page_size": 3, "has_more": False}
    assert envelope(run, desk(), "read_ticket", number="T-3")["data"] == {"ticket_id": "T-3", "minutes": 30}


def test_protocol_errors_and_requests_pass_through(run: Run) -> None:
    server: MCPServer[Any] = MCPServer("s", log_level="CRITICAL")
    tool = contract_tools(server, CONTRACT)

    @tool()
    async def refuses() -> int:
        raise MCPError(-32001, "not in this session")

    @tool()
    async def asks() -> int | InputRequiredResult:
        return InputRequiredResult(request_state="asked once")

    with pytest.raises(MCPError, match="not in this session"):
        run(server.call_tool("refuses", {}))
    assert isinstance(run(server.call_tool("asks", {})), InputRequiredResult)


def test_the_low_level_server(run: Run) -> None:
    made: list[tuple[dict[str, Any], Callable[..., Awaitable[Any]]]] = []

    def register_plain(name: str | None = None, **settings: Any) -> Any:
        settings.pop("title", None)

        def add(function: Any) -> Any:
            context = "context" if name == "read_ticket" else None
            made.append(tool_of(function, CONTRACT, name=name, context=context, **settings))
            return function

        return add

    register(register_plain, ServerRequestContext)
    calls = {definition["name"]: call for definition, call in made}

    async def list_tools(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[Tool.model_validate(definition) for definition, _ in made])

    async def call_tool(context: Any, asked: CallToolRequestParams) -> CallToolResult:
        return call_result(await calls[asked.name](asked.arguments or {}, context))

    server = Server("desk", on_list_tools=list_tools, on_call_tool=call_tool)
    assert envelope(run, server, "read_ticket", number="T-3")["data"] == {"ticket_id": "T-3", "minutes": 30}
    assert envelope(run, server, "read_ticket", number=3)["error"]["code"] == "INVALID_QUERY"
