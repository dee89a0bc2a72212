from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp_types import ErrorData, ListRootsResult, Root
from pydantic import FileUrl

from cli.program import ECHO, SWIFT
from halflap import Gateway
from halflap.config import Config
from halflap.server import Front
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

from contextlib import asynccontextmanager

ROOTED = {
    "name": "rooted",
    "command": sys.executable,
    "args": [str(Path(__file__).with_name("rooted.py"))],
    "protocol": "legacy",
}


class Folders:
    """The roots of a client, which may change."""

    def __init__(self, *uris: str) -> None:
        self.uris = list(uris)

    async def __call__(self, _context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(uri)) for uri in self.uris])


@asynccontextmanager
async def connected(
    server: dict[str, Any], callback: Any, *, mode: str = "legacy", **more: Any
) -> AsyncIterator[tuple[Gateway, Client]]:
    gateway = Gateway(await asyncio.to_thread(Config.from_mapping, {"servers": [server], **more}))
    front = Front(gateway)
    front.forward_roots()
    try:
        async with Client(front.server, mode=mode, list_roots_callback=callback) as client:
            await client.list_tools()
            yield gateway, client
    finally:
        await gateway.close()


@pytest.mark.parametrize("upstream", ["legacy", "modern"])
def test_the_clients_roots_reach_a_server_that_asks(run: Run, upstream: str) -> None:
    async def scenario() -> None:
        folders = Folders("file:///home/somebody/project")
        async with connected({**ECHO, "protocol": upstream}, folders) as (gateway, _):
            text = (await gateway.call("mcp__echo__roots")).text
            assert json.loads(text) == ["file:///home/somebody/project"]

    run(scenario())


def test_the_clients_roots_come_after_the_configured_ones(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        folders = Folders("file:///home/somebody/project")
        async with connected(SWIFT, folders, roots=[str(tmp_path)]) as (gateway, _):
            text = (await gateway.call("mcp__echo__roots")).text
            assert json.loads(text) == [tmp_path.as_uri(), "file:///home/somebody/project"]

    run(scenario())


@pytest.mark.filterwarnings("ignore:The roots capability")
def test_a_change_of_the_clients_roots_reaches_the_server(run: Run) -> None:
    async def scenario() -> None:
        folders = Folders("file:///one")
        async with connected(ROOTED, folders) as (gateway, client):
            assert json.loads((await gateway.call("mcp__rooted__heard")).text) == []
            folders.uris = ["file:///one", "file:///two"]
            await client.send_roots_list_changed()
            async with asyncio.timeout(PATIENCE):
                while (text := (await gateway.call("mcp__rooted__heard")).text) == "[]":
                    await asyncio.sleep(0.02)
            assert json.loads(text) == [["file:///one", "file:///two"]]

    run(scenario())


def test_a_client_without_roots_is_not_asked(run: Run) -> None:
    async def scenario() -> None:
        async with connected(SWIFT, None) as (gateway, _):
            assert (await gateway.call("mcp__echo__roots")).text == "[]"

    run(scenario())


def test_a_client_of_the_new_era_cannot_be_asked_and_the_call_goes_on(run: Run) -> None:
    async def scenario() -> None:
        async with connected(SWIFT, Folders("file:///one"), mode="auto") as (gateway, _):
            assert (await gateway.call("mcp__echo__roots")).text == "[]"

    run(scenario())


def test_a_client_that_fails_to_tell_its_roots_does_not_fail_the_call(run: Run) -> None:
    async def refuse(_context: object) -> ErrorData:
        return ErrorData(code=-32603, message="no idea")

    async def scenario() -> None:
        async with connected(SWIFT, refuse) as (gateway, _):
            assert (await gateway.call("mcp__echo__roots")).text == "[]"

    run(scenario())
