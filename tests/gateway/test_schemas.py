from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway, ToolNotFoundError
from support import PATIENCE, python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ECHO = python_server("echo", "swift.py", protocol="legacy")
CHANGING = python_server("changing", "changing.py", protocol="legacy")


def config(*servers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"servers": list(servers), **more}


def test_a_schema_is_fetched_from_a_server_that_was_never_listed(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            schema = await gateway.get_schema("mcp__echo__add")
            assert schema.format_compact() == "mcp__echo__add(a: integer, b: integer) -> integer"
            assert not schema.stale

    run(scenario())


def test_a_miss_makes_one_listing_however_many_miss(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            names = ["mcp__echo__add", "mcp__echo__echo", "mcp__echo__env", "mcp__echo__pid"]
            await asyncio.gather(*(gateway.get_schema(name) for name in names))
            (report,) = await gateway.reports()
            assert report.status.starts == 1

    run(scenario())


def test_a_schema_that_appeared_since_the_last_listing_is_found(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(CHANGING)) as gateway:
            await gateway.call("mcp__changing__grow")
            assert (await gateway.get_schema("mcp__changing__grown_1")).tool_name == "mcp__changing__grown_1"

    run(scenario())


def test_an_expired_schema_is_given_marked_stale_and_refreshed_behind(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        settings = config(CHANGING, ttl={"schema_seconds": 500, "list_seconds": 10_000})
        async with Gateway.open(settings) as gateway:
            first = await gateway.get_schema("mcp__changing__stable")
            assert not first.stale
            before = gateway.snapshot.number
            monkeypatch.setattr(gateway._catalog, "_clock", lambda: time.time() + 600)
            assert (await gateway.get_schema("mcp__changing__stable")).stale
            async with asyncio.timeout(PATIENCE):
                while gateway.snapshot.number == before:
                    await asyncio.sleep(0.02)
            assert not (await gateway.get_schema("mcp__changing__stable")).stale

    run(scenario())


def test_a_time_of_its_own_counts_for_a_tool(run: Run) -> None:
    async def scenario() -> None:
        settings = config(ECHO, ttl={"per_tool": {"mcp__echo__a*": 0}})
        async with Gateway.open(settings) as gateway:
            await gateway.refresh()
            assert (await gateway.get_schema("mcp__echo__add")).stale
            assert not (await gateway.get_schema("mcp__echo__echo")).stale

    run(scenario())


def test_several_schemas_come_at_once(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            found = await gateway.get_schemas(["mcp__echo__add", "mcp__echo__echo", "mcp__echo__add"])
            assert list(found) == ["mcp__echo__add", "mcp__echo__echo"]

    run(scenario())


def test_an_unknown_name_among_several_raises_after_the_others_are_resolved(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO, CHANGING)) as gateway:
            with pytest.raises(ToolNotFoundError, match="mcp__echo__nope"):
                await gateway.get_schemas(["mcp__echo__nope", "mcp__changing__stable"])
            # The other server was listed all the same.
            assert "mcp__changing__stable" in gateway.snapshot.tools

    run(scenario())


def test_a_name_that_is_not_there_tells_all_that_are(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            with pytest.raises(ToolNotFoundError) as caught:
                await gateway.get_schema("mcp__echo__ad")
            assert caught.value.suggestions == ("mcp__echo__add",)
            assert caught.value.server == "echo"
            assert len(caught.value.available) == 14
            assert str(caught.value).count("mcp__echo__") == 1 + 1 + 10

    run(scenario())


def test_arguments_are_checked_without_calling_anything(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            problems = await gateway.validate_arguments("mcp__echo__add", {"a": True})
            assert [str(problem) for problem in problems] == [
                "b: missing; expected integer",
                "a: expected integer, received true",
            ]
            assert list(await gateway.recent_calls()) == []

    run(scenario())


def test_what_a_caller_does_to_a_schema_does_not_reach_the_catalogue(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            schema = await gateway.get_schema("mcp__echo__add")
            properties: dict[str, Any] = schema.raw_schema["properties"]
            properties["a"]["type"] = "string"
            assert (await gateway.get_schema("mcp__echo__add")).parameters[0].type == "integer"

    run(scenario())
