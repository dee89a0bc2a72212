"""call_tool: what acceptance tests do not pin."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import mcp_types as types

from server.faces import in_memory
from servers.memory import Memory, echo

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
