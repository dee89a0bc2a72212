"""The contract on FastMCP, where it is installed."""

from __future__ import annotations

import json
import threading
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from contract.desk import CONTRACT, DESCRIPTIONS, described_parameters, register

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

HAS_FASTMCP = find_spec("fastmcp") is not None
fastmcp: Any = import_module("fastmcp") if HAS_FASTMCP else None
pytestmark = pytest.mark.skipif(not HAS_FASTMCP, reason="needs FastMCP, which is not installed")


def desk() -> Any:
    from halflap.contract.fastmcp import contract_tools  # noqa: PLC0415 -- loads FastMCP

    server = fastmcp.FastMCP("desk")
    register(contract_tools(server, CONTRACT), fastmcp.Context)
    return server


def envelope(run: Run, name: str, **arguments: Any) -> dict[str, Any]:
    server = desk()

    async def called() -> Any:
        async with fastmcp.Client(server) as client:
            return await client.call_tool(name, arguments)

    result = run(called())
    assert result.is_error is False
    (content,) = result.content
    assert json.loads(content.text) == result.structured_content
    found: dict[str, Any] = result.structured_content
    return found


def test_the_tools_are_listed_with_the_envelope_and_without_the_context(run: Run) -> None:
    server = desk()

    async def listed() -> Any:
        async with fastmcp.Client(server) as client:
            return await client.list_tools()

    tools = {one.name: one for one in run(listed())}
    read = tools["read_ticket"]
    assert (read.title, read.description) == ("Read", "Read a ticket.")
    assert list(read.input_schema["properties"]) == ["number"]
    assert read.input_schema["properties"]["number"]["x-halflap"] == {"consumes": "ticket"}
    assert read.input_schema["properties"]["number"]["description"] == "Which one. From list_tickets."
    good, _ = read.output_schema["oneOf"]
    assert good["properties"]["data"]["properties"]["minutes"]["description"] == "Time spent. Unit: minutes."
    assert described_parameters(tools["merge_tickets"].input_schema) == DESCRIPTIONS


def test_results_and_errors_are_enveloped(run: Run) -> None:
    first = envelope(run, "list_tickets")
    cursor = first["data"]["pagination"]["next_cursor"]
    assert len(envelope(run, "list_tickets", cursor=cursor, limit=10)["data"]["results"]) == 3
    assert envelope(run, "read_ticket", number="T-3")["data"] == {"ticket_id": "T-3", "minutes": 30}
    assert envelope(run, "read_ticket", number="T-9")["error"]["code"] == "NOT_FOUND"
    assert envelope(run, "list_tickets", cursor="forged")["error"]["code"] == "INVALID_QUERY"
    assert envelope(run, "read_ticket", number="broken")["error"]["details"] == {"path": "data.minutes"}
    assert "hunter2" not in str(envelope(run, "read_ticket", number="crash"))
    assert envelope(run, "thread_name")["data"] != threading.main_thread().name
