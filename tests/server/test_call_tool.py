"""call_tool: what acceptance tests do not pin."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import mcp_types as types

from server.faces import in_memory
from servers.memory import Memory, definition, echo

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client

ODD = {"content": [{"type": "hologram", "depth": 3}], "isError": True, "_meta": {"x": 1}}


async def call(client: Client, name: str) -> types.CallToolResult:
    return await client.call_tool("call_tool", {"name": name, "arguments": {}})


def test_results_come_back_even_without_a_sandbox_and_in_unknown_forms(home: Path) -> None:
    async def use() -> None:
        server = Memory("odd", answer=lambda *_: ODD)
        async with in_memory(home, {"s": server}, {"execution": {"sandbox": "off"}}) as client:
            odd = await call(client, "mcp__s__odd")
            assert odd.is_error
            assert '"depth": 3' in getattr(odd.content[0], "text", "")

    asyncio.run(use())


def test_an_argument_that_the_schema_does_not_name_is_refused_as_in_a_program(home: Path) -> None:
    async def use(settings: dict[str, Any]) -> tuple[types.CallToolResult, int]:
        server = Memory(definition("list_issues", "project_key"))
        async with in_memory(home, {"s": server}, settings) as client:
            await client.call_tool("list_callable_tools", {})
            arguments = {"name": "mcp__s__list_issues", "arguments": {"project": "WEB", "project_key": "W"}}
            return await client.call_tool("call_tool", arguments), len(server.calls)

    refused, calls = asyncio.run(use({}))
    assert (refused.is_error, calls) == (True, 0)
    assert "'project_key'" in getattr(refused.content[0], "text", "")
    assert asyncio.run(use({"execution": {"check": "hints"}}))[1] == 1


def test_policy_and_confirmation_apply(home: Path) -> None:
    asked: list[str] = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"confirm": len(asked) > 1})

    async def use() -> None:
        settings = {"tools": {"destructive": ["mcp__echo__pid"]}, "execution": {"confirm_destructive": True}}
        async with in_memory(home, {"echo": echo()}, settings, elicitation_callback=answer) as client:
            assert [(await call(client, "mcp__echo__pid")).is_error for _ in range(2)] == [True, False]
        async with in_memory(home, {"echo": echo()}, {"execution": {"read_only": True}}) as client:
            assert (await call(client, "mcp__echo__pid")).is_error

    asyncio.run(use())
    assert len(asked) == 2
