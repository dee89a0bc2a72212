"""The catalogue from end to end: what is known of servers before, while and after they run."""

from __future__ import annotations

import re
from typing import Any

import pytest

from halflap import Gateway
from halflap.core.errors import ToolHeldError, ToolNotFoundError, UpstreamError
from halflap.core.values import Changes
from servers.memory import Memory, definition
from support import comes


def opened(servers: dict[str, Memory], **settings: Any) -> Any:
    return Gateway.open(settings, servers=servers)


async def listed(servers: dict[str, Memory], **settings: Any) -> dict[str, str]:
    """List everything with a gateway of its own; return the original names by name."""
    async with opened(servers, **settings) as gateway:
        await gateway.refresh()
        return {tool.name: tool.original_name for tool in await gateway.tools()}


def change(server: Memory, tool: str) -> None:
    (one,) = (one for one in server.tools if one["name"] == tool)
    one["description"] = f"Tool {tool}, changed."


# What is remembered -------------------------------------------------------------------------------------


async def test_tools_listed_before_are_listed_and_inspected_without_starting_anything() -> None:
    servers = {"one": Memory("a", "b", instructions="About one."), "two": Memory("c")}
    before = await listed(servers)
    async with opened(servers) as gateway:
        assert {tool.name for tool in await gateway.tools()} == set(before)
        described = await gateway.inspect("mcp__one__a")
        assert (described["description"], described["instructions"]) == ("Tool a.", "About one.")
        assert described["inputSchema"] == definition("a")["inputSchema"]
    assert [server.starts for server in servers.values()] == [1, 1]


async def test_a_stale_list_is_used_although_the_server_is_broken() -> None:
    server = Memory("a")
    ttl = {"list_seconds": 0, "schema_seconds": 0}
    await listed({"one": server})
    server.broken = True
    async with opened({"one": server}, ttl=ttl) as gateway:
        assert [tool.name for tool in await gateway.tools()] == ["mcp__one__a"]
        assert (await gateway.inspect("mcp__one__a"))["name"] == "mcp__one__a"
        assert not await gateway.refresh()
        with pytest.raises(UpstreamError):
            await gateway.refresh("one")
        (tool,) = await gateway.tools()
        assert tool.unavailable is not None


async def test_a_stale_schema_is_returned_marked_and_refreshed_in_the_background() -> None:
    server = Memory("aa", "b")
    async with opened({"one": server}, ttl={"per_tool": {"mcp__one__a*": 0}}) as gateway:
        await gateway.refresh()
        assert not (await gateway.get_schema("mcp__one__b")).stale
        assert server.listings == 1
        assert (await gateway.get_schema("mcp__one__aa")).stale

        async def again() -> bool:
            return server.listings >= 2

        assert await comes(again)


async def test_tools_of_a_server_that_was_replaced_or_disabled_are_gone() -> None:
    replaced = {"name": "one", "command": "no-such-program"}
    await listed({"one": Memory("a")})
    for settings, reason in ((replaced, "not found"), ({**replaced, "disabled": True}, "halflap enable one")):
        async with Gateway.open({"servers": [settings]}, servers={"two": Memory("a")}) as gateway:
            assert [tool.name for tool in await gateway.tools()] == ["mcp__two__a"]
            with pytest.raises(ToolNotFoundError, match=reason) as caught:
                await gateway.call("mcp__one__a")
            assert caught.value.suggestions == ()


async def test_a_refresh_reports_what_was_added_removed_and_changed() -> None:
    server = Memory("a", "b")
    async with opened({"one": server, "two": Memory("x")}) as gateway:
        assert await gateway.refresh("one") == Changes(added=("mcp__one__a", "mcp__one__b"))
        server.tools = [definition("b", description="Changed."), definition("c")]
        assert await gateway.refresh("one") == Changes(
            added=("mcp__one__c",), removed=("mcp__one__a",), changed=("mcp__one__b",)
        )
        assert not await gateway.refresh("one")


# Changed definitions ------------------------------------------------------------------------------------


async def test_a_held_tool_is_refused_until_it_is_accepted_also_after_a_restart() -> None:
    server = Memory("a", "b")
    hold: dict[str, Any] = {"tools": {"pin": "hold"}}
    await listed({"one": server}, **hold)
    change(server, "a")
    assert list(await listed({"one": server}, **hold)) == ["mcp__one__b"]
    async with opened({"one": server}, **hold) as gateway:
        with pytest.raises(ToolHeldError):
            await gateway.call("mcp__one__a")
        described = await gateway.inspect("mcp__one__a")
        assert (described["description"], described["changed"]) == ("Tool a, changed.", ["description"])
        assert described["accepted"] == {"description": "Tool a."}
        assert "halflap trust --tool mcp__one__a" in described["held"]
        assert await gateway.parts.catalog.accept(["mcp__one__a"]) == ("mcp__one__a",)
        assert (await gateway.call("mcp__one__a")).text == "called a"
    assert list(await listed({"one": server}, **hold)) == ["mcp__one__a", "mcp__one__b"]


async def test_a_change_found_while_connecting_for_a_call_holds_that_call() -> None:
    server = Memory("a")
    await listed({"one": server})
    change(server, "a")
    async with opened({"one": server}, tools={"pin": "hold"}) as gateway:
        assert gateway.snapshot.callable == ("mcp__one__a",)
        with pytest.raises(ToolHeldError):
            await gateway.call("mcp__one__a")
        (record,) = await gateway.recent_calls()
        assert record.outcome == "tool-held"
    assert server.calls == []


# Names --------------------------------------------------------------------------------------------------


async def test_of_two_servers_that_collide_the_first_seen_keeps_the_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    older, newer = Memory("t"), Memory("t")
    assert await listed({"a_b": older}) == {"mcp__a_b__t": "t"}
    # The newer one comes first in the configuration.
    async with opened({"a-b": newer, "a_b": older}) as gateway:
        await gateway.refresh()
        tools = {tool.name: tool.server for tool in await gateway.tools()}
        assert tools.pop("mcp__a_b__t") == "a_b"
        ((name, server),) = tools.items()
        assert server == "a-b"
        assert re.fullmatch(r"mcp__a_b__t_[0-9a-f]{6}", name)
        await gateway.call(name)
        assert name in caplog.text
    assert (len(older.calls), len(newer.calls)) == (0, 1)


# Rules --------------------------------------------------------------------------------------------------


async def test_a_server_cannot_free_a_blocked_tool_by_taking_its_name_for_another() -> None:
    rules = {"block": ["mcp__s__delete_x"], "destructive": ["mcp__s__wipe_x"]}
    server = Memory("delete.x", "delete_x", "wipe.x", "wipe_x")
    async with opened({"s": server}, tools=rules) as gateway:
        await gateway.refresh()
        left = gateway.snapshot.callable
        assert {gateway.snapshot.tools[name].original_name for name in left} == {"wipe.x", "wipe_x"}
        for name in left:
            assert (await gateway.inspect(name))["annotations"]["destructive"] is True
