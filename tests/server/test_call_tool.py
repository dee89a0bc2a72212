"""call_tool: what acceptance tests do not pin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import mcp_types as types

from server.faces import in_memory
from servers.memory import Memory, definition, echo

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client

ODD = {"content": [{"type": "hologram", "depth": 3}], "isError": True, "_meta": {"x": 1}}


async def call(client: Client, name: str, **arguments: Any) -> types.CallToolResult:
    return await client.call_tool("call_tool", {"name": name, "arguments": arguments})


async def test_results_come_back_even_without_a_sandbox_and_in_unknown_forms(home: Path) -> None:
    server = Memory("odd", answer=lambda *_: ODD)
    async with in_memory(home, {"s": server}, {"execution": {"sandbox": "off"}}) as client:
        odd = await call(client, "mcp__s__odd")
    assert odd.is_error
    assert '"depth": 3' in getattr(odd.content[0], "text", "")


async def test_an_argument_that_the_schema_does_not_name_is_refused_as_in_a_program(home: Path) -> None:
    server = Memory(definition("list_issues", "project_key"))
    for check, calls in (("on", 0), ("hints", 1)):
        async with in_memory(home, {"s": server}, {"execution": {"check": check}}) as client:
            await client.call_tool("list_callable_tools", {})
            answer = await call(client, "mcp__s__list_issues", project="WEB", project_key="W")
        assert (answer.is_error, len(server.calls)) == (not calls, calls)
        assert bool(calls) != ("'project_key'" in getattr(answer.content[0], "text", ""))


async def test_policy_and_confirmation_apply(home: Path) -> None:
    asked: list[str] = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"confirm": len(asked) > 1})

    settings = {"tools": {"destructive": ["mcp__echo__pid"]}, "execution": {"confirm_destructive": True}}
    async with in_memory(home, {"echo": echo()}, settings, elicitation_callback=answer) as client:
        assert [(await call(client, "mcp__echo__pid")).is_error for _ in range(2)] == [True, False]
    async with in_memory(home, {"echo": echo()}, {"execution": {"read_only": True}}) as client:
        assert (await call(client, "mcp__echo__pid")).is_error
    assert len(asked) == 2
