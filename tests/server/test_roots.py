"""The folders that a client opens reach the servers behind us."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client
from mcp_types import ErrorData, ListRootsResult, Root
from pydantic import FileUrl

from halflap import Gateway
from halflap.config import Config
from halflap.server import Front
from servers.memory import echo
from servers.wire import Wire
from support import comes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


class Folders:
    """The roots of a client, which may change."""

    def __init__(self, *uris: str) -> None:
        self.uris = list(uris)

    async def __call__(self, _context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(uri)) for uri in self.uris])


@asynccontextmanager
async def connected(
    callback: Any, *, mode: str = "legacy", server: Any = None, **settings: Any
) -> AsyncIterator[tuple[Gateway, Client]]:
    config = await asyncio.to_thread(Config.from_mapping, settings)
    gateway = Gateway(config, {"echo": server or echo()})
    front = Front(gateway)
    front.forward_roots()
    try:
        async with Client(front.server, mode=mode, list_roots_callback=callback) as client:
            await client.list_tools()
            yield gateway, client
    finally:
        await gateway.close()


async def test_the_clients_roots_come_after_the_configured_ones(tmp_path: Path) -> None:
    folders = Folders("file:///home/somebody/project")
    async with connected(folders, roots=[str(tmp_path)]) as (gateway, _):
        text = (await gateway.call("mcp__echo__roots")).text
        assert json.loads(text) == [tmp_path.as_uri(), "file:///home/somebody/project"]


@pytest.mark.filterwarnings("ignore:The roots capability")
async def test_a_change_of_the_clients_roots_reaches_the_server() -> None:
    heard: list[Any] = []

    async def changed() -> None:
        heard.append(await wire.ask("roots/list", {}))

    async def is_heard() -> bool:
        return bool(heard)

    wire = Wire(None, **{"notifications/roots/list_changed": changed})
    folders = Folders("file:///one")
    async with connected(folders, server=wire) as (gateway, client):
        await gateway.call("mcp__echo__use")
        folders.uris.append("file:///two")
        await client.send_roots_list_changed()
        assert await comes(is_heard)
    assert [root["uri"] for root in heard[0]["roots"]] == folders.uris


async def refuse(_context: object) -> ErrorData:
    return ErrorData(code=-32603, message="no idea")


@pytest.mark.parametrize(
    ("callback", "mode"),
    [(None, "legacy"), (Folders("file:///one"), "auto"), (refuse, "legacy")],
    ids=["client without roots", "client that cannot be asked", "client that refuses"],
)
async def test_a_client_that_does_not_tell_its_roots_fails_no_call(callback: Any, mode: str) -> None:
    async with connected(callback, mode=mode) as (gateway, _):
        assert (await gateway.call("mcp__echo__roots")).text == "[]"
