"""The contract on FastMCP, where it is installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from contract.desk import CONTRACT, DESCRIPTIONS, described_parameters, register

pytestmark = pytest.mark.skipif(find_spec("fastmcp") is None, reason="needs FastMCP, which is not installed")


async def test_tools_are_listed_and_answer_with_the_envelope() -> None:
    from halflap.contract.fastmcp import contract_tools  # noqa: PLC0415 -- loads FastMCP

    fastmcp: Any = import_module("fastmcp")
    server = fastmcp.FastMCP("desk")
    register(contract_tools(server, CONTRACT), fastmcp.Context)
    async with fastmcp.Client(server) as client:
        tools = {one.name: one for one in await client.list_tools()}

        async def call(name: str, **arguments: Any) -> Any:
            return (await client.call_tool(name, arguments)).structured_content

        read = tools["read_ticket"]
        assert (read.title, list(read.input_schema["properties"])) == ("Read", ["number"])
        assert read.input_schema["properties"]["number"]["description"] == "Which one. From list_tickets."
        minutes = read.output_schema["oneOf"][0]["properties"]["data"]["properties"]["minutes"]
        assert minutes["description"] == "Time spent. Unit: minutes."
        assert described_parameters(tools["merge_tickets"].input_schema) == DESCRIPTIONS
        assert (await call("read_ticket", number="T-3"))["data"] == {"ticket_id": "T-3", "minutes": 30}
        assert (await call("read_ticket", number="T-9"))["error"]["code"] == "NOT_FOUND"
        assert (await call("read_ticket", number="broken"))["error"]["details"] == {"path": "data.minutes"}
