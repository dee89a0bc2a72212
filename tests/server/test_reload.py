"""A running server picks up changes of its configuration, and keeps its clients."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from cli.program import configure
from server.faces import stdio_face
from support import PATIENCE, python_server

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
