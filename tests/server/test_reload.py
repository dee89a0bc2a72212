"""A running server picks up changes of its configuration, and keeps its clients."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING

import pytest

from cli.program import configure
from halflap.config import load_config
from halflap.gateway import Gateway
from halflap.server import serve
from server.faces import stdio_face
from servers.memory import Memory
from support import PATIENCE, comes, python_server

if TYPE_CHECKING:
    from pathlib import Path

    from mcp import Client

ALPHA = python_server("alpha", "swift.py")
BETA = python_server("beta", "swift.py")


async def names(client: Client) -> set[str]:
    result = (await client.call_tool("list_callable_tools", {})).structured_content
    assert result is not None
    return {name.split("__")[1] for name in result["result"]}


async def until(client: Client, expected: set[str]) -> None:
    async with asyncio.timeout(PATIENCE):
        while await names(client) != expected:
            await asyncio.sleep(0.2)


@pytest.mark.slow
def test_a_client_sees_a_server_that_was_added_and_one_that_was_removed(home: Path) -> None:
    async def use() -> str:
        config = configure(home, ALPHA)
        with (home / "errors").open("w+") as errors:
            async with stdio_face(config, home, mode="auto", errors=errors) as client:
                assert await names(client) == {"alpha"}
                path = configure(home, ALPHA, BETA)
                assert path == config
                await until(client, {"alpha", "beta"})
                await asyncio.to_thread(broken, config)
                await asyncio.sleep(2)
                assert await names(client) == {"alpha", "beta"}
                configure(home, BETA)
                await until(client, {"beta"})
            errors.seek(0)
            return errors.read()

    assert "can't be used" in asyncio.run(use())


def broken(config: str) -> None:
    with open(config, "w", encoding="utf-8") as file:  # noqa: PTH123 -- the path is a text
        json.dump({"sevrers": []}, file)


async def test_a_changed_configuration_is_applied_and_a_broken_one_is_not(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(serve, "_POLL_SECONDS", 0.01)
    file, numbers = home / "halflap.json", itertools.count()

    def write(**settings: object) -> None:
        file.write_text(json.dumps(settings))

    async def is_blocked() -> bool:
        return not gateway.snapshot.callable

    async def is_refused() -> bool:
        # Again each time: what is written before the first look is no change.
        await asyncio.to_thread(write, sevrers=[next(numbers)])
        return "can't be used" in caplog.text

    await asyncio.to_thread(write)
    async with Gateway.open(file, servers={"one": Memory("a")}) as gateway:
        await gateway.tools()
        following = asyncio.create_task(serve._follow(gateway, lambda: load_config(file)))
        assert await comes(is_refused)
        assert [tool.name for tool in await gateway.tools()] == ["mcp__one__a"]
        await asyncio.to_thread(write, tools={"block": ["mcp__one__a"]})
        assert await comes(is_blocked)
        following.cancel()
