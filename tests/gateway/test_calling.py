"""Calls through the gateway, on servers in this process: what is sent, what comes back, what is refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway, ToolNotFoundError
from halflap.core.errors import ToolFailedError
from servers.echo import build
from servers.memory import Memory, RefusedError, definition, text

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

PIXEL = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}


def asked(run: Run, server: Any, question: Callable[[Gateway], Coroutine[Any, Any, Any]]) -> Any:
    """Ask a gateway with one server, `s`."""

    async def scenario() -> Any:
        async with Gateway.open({}, servers={"s": server}) as gateway:
            return await question(gateway)

    return run(scenario())


def test_one_session_is_shared_by_calls_that_run_in_parallel(run: Run) -> None:
    all_of_them = asyncio.Barrier(8)

    async def wait(_name: str, _arguments: Any) -> Any:
        await all_of_them.wait()
        return text("met")

    server = Memory("t", answer=wait)

    async def ask(gateway: Gateway) -> list[str]:
        return [one.text for one in await asyncio.gather(*(gateway.call("mcp__s__t") for _ in range(8)))]

    assert asked(run, server, ask) == ["met"] * 8
    assert server.starts == 1


def test_a_protocol_error_keeps_its_code_and_is_no_lost_connection(run: Run) -> None:
    def refuse(_name: str, arguments: dict[str, Any]) -> Any:
        raise RefusedError(arguments["code"], "refused as asked")

    server = Memory({"name": "t", "inputSchema": {"type": "object"}}, answer=refuse)

    async def ask(gateway: Gateway) -> None:
        # The first is the code that the library has for a closed connection.
        for code in (-32000, -32602, 7):
            with pytest.raises(ToolFailedError, match=f"'mcp__s__t' .*{code}.*refused as asked"):
                await gateway.call("mcp__s__t", code=code)

    asked(run, server, ask)
    assert (server.starts, len(server.calls)) == (1, 3)


def test_an_argument_may_be_called_name_or_self(run: Run) -> None:
    server = Memory(definition("t", "name self"))
    asked(run, server, lambda gateway: gateway.call("mcp__s__t", name="x", self="y"))
    assert server.calls == [("t", {"name": "x", "self": "y"})]


def test_very_many_unknown_names_make_the_server_list_its_tools_once(run: Run) -> None:
    server = Memory("read")

    async def ask(gateway: Gateway) -> None:
        await gateway.refresh()
        for number in range(300):
            with pytest.raises(ToolNotFoundError):
                await gateway.call(f"mcp__s__t{number}")

    asked(run, server, ask)
    assert server.listings == 2


def test_pages_of_tools_are_followed_to_the_end(run: Run) -> None:
    tools = asked(run, build(95, page=10), lambda gateway: gateway.tools())
    assert len(tools) == 14 + 95


# Schemas ------------------------------------------------------------------------------------------------


def test_schemas_of_a_server_that_was_never_listed_need_one_listing_however_many(run: Run) -> None:
    server = Memory(definition("add", "a b"), "c", "d")

    async def ask(gateway: Gateway) -> Any:
        names = ["mcp__s__add", "mcp__s__c", "mcp__s__d", "mcp__s__add"]
        return await asyncio.gather(gateway.get_schemas(names), *(gateway.get_schema(one) for one in names))

    found, add, *_ = asked(run, server, ask)
    assert list(found) == ["mcp__s__add", "mcp__s__c", "mcp__s__d"]
    assert add.format_compact() == "mcp__s__add(a: string, b: string)"
    assert not add.stale
    assert (server.starts, server.listings) == (1, 1)
