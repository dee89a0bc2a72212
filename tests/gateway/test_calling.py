"""Calls through the gateway, on servers in this process: what is sent, what comes back, what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from halflap import Gateway, ToolNotFoundError
from halflap.core.errors import ToolFailedError
from servers.echo import build
from servers.memory import Memory, RefusedError, definition, text


async def test_one_session_is_shared_by_calls_that_run_in_parallel() -> None:
    all_of_them = asyncio.Barrier(8)

    async def wait(_name: str, _arguments: Any) -> Any:
        await all_of_them.wait()
        return text("met")

    server = Memory("t", answer=wait)
    async with Gateway.open({}, servers={"s": server}) as gateway:
        results = await asyncio.gather(*(gateway.call("mcp__s__t") for _ in range(8)))
    assert ([one.text for one in results], server.starts) == (["met"] * 8, 1)


async def test_a_protocol_error_keeps_its_code_and_is_no_lost_connection() -> None:
    def refuse(_name: str, arguments: dict[str, Any]) -> Any:
        raise RefusedError(arguments["code"], "refused as asked")

    server = Memory({"name": "t", "inputSchema": {"type": "object"}}, answer=refuse)
    async with Gateway.open({}, servers={"s": server}) as gateway:
        # The first is the code that the library has for a closed connection.
        for code in (-32000, -32602, 7):
            with pytest.raises(ToolFailedError, match=f"'mcp__s__t' .*{code}.*refused as asked"):
                await gateway.call("mcp__s__t", code=code)
    assert (server.starts, len(server.calls)) == (1, 3)


async def test_an_argument_may_be_called_name_or_self() -> None:
    server = Memory(definition("t", "name self"))
    async with Gateway.open({}, servers={"s": server}) as gateway:
        await gateway.call("mcp__s__t", name="x", self="y")
    assert server.calls == [("t", {"name": "x", "self": "y"})]


async def test_very_many_unknown_names_make_the_server_list_its_tools_once() -> None:
    server = Memory("read")
    async with Gateway.open({}, servers={"s": server}) as gateway:
        await gateway.refresh()
        for number in range(300):
            with pytest.raises(ToolNotFoundError):
                await gateway.call(f"mcp__s__t{number}")
    assert server.listings == 2


async def test_pages_of_tools_are_followed_to_the_end() -> None:
    async with Gateway.open({}, servers={"s": build(95, page=10)}) as gateway:
        assert len(await gateway.tools()) == 14 + 95


async def test_schemas_of_a_server_that_was_never_listed_need_one_listing_however_many() -> None:
    server = Memory(definition("add", "a b"), "c", "d")
    names = ["mcp__s__add", "mcp__s__c", "mcp__s__d", "mcp__s__add"]
    async with Gateway.open({}, servers={"s": server}) as gateway:
        one_by_one = asyncio.gather(*map(gateway.get_schema, names))
        found, (add, *_) = await asyncio.gather(gateway.get_schemas(names), one_by_one)
    assert list(found) == ["mcp__s__add", "mcp__s__c", "mcp__s__d"]
    assert add.format_compact() == "mcp__s__add(a: string, b: string)"
    assert not add.stale
    assert (server.starts, server.listings) == (1, 1)
