"""call_tool: one call, and its result as it came."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import mcp_types as types

from server.faces import in_memory
from servers.memory import Memory, definition, echo, structured

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = {
    "content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}],
    "structuredContent": {"a": 1},
}
ODD = {"content": [{"type": "hologram", "depth": 3}], "isError": True, "_meta": {"x": 1}}
ANSWERS = {"picture": IMAGE, "odd": ODD, "greet": structured({"hello": "you"})}
OFF = {"execution": {"sandbox": "off"}}


def server() -> Memory:
    return Memory(
        definition("picture"),
        definition("odd"),
        definition("greet", takes="name"),
        answer=lambda name, _: ANSWERS[name],
    )


def test_results_come_back_unchanged_even_without_a_sandbox(home: Path) -> None:
    async def use() -> None:
        async with in_memory(home, {"s": server()}, OFF) as client:

            async def call(name: str, /, **arguments: Any) -> types.CallToolResult:
                return await client.call_tool(
                    "call_tool", {"name": f"mcp__s__{name}", "arguments": arguments}
                )

            picture = await call("picture")
            assert isinstance(picture.content[0], types.ImageContent)
            assert picture.structured_content == {"a": 1}
            assert (await call("greet", name="you")).structured_content == {"hello": "you"}
            odd = await call("odd")
            assert odd.is_error
            assert '"depth": 3' in getattr(odd.content[0], "text", "")
            wrong = await call("greet", nam="you")
            assert (wrong.meta or {})["halflap"]["code"] == "invalid-arguments"
            assert ((await call("gret")).meta or {})["halflap"]["code"] == "tool-not-found"

    asyncio.run(use())


def test_policy_and_confirmation_apply(home: Path) -> None:
    asked: list[str] = []

    async def answer(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return types.ElicitResult(action="accept", content={"confirm": len(asked) > 1})

    async def use() -> None:
        settings = {"tools": {"destructive": ["mcp__echo__pid"]}, "execution": {"confirm_destructive": True}}
        async with in_memory(home, {"echo": echo()}, settings, elicitation_callback=answer) as client:
            first, second = [
                await client.call_tool("call_tool", {"name": "mcp__echo__pid", "arguments": {}})
                for _ in range(2)
            ]
            assert first.is_error
            assert not second.is_error
        read_only = {"execution": {"read_only": True}}
        async with in_memory(home, {"echo": echo()}, read_only) as client:
            refused = await client.call_tool("call_tool", {"name": "mcp__echo__pid"})
            assert refused.is_error

    asyncio.run(use())
    assert len(asked) == 2
