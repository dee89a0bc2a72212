"""Opening a gateway: on what it is given, and with a part of that broken."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from mcp.server.mcpserver import MCPServer

from halflap import Config, Gateway
from halflap.core.errors import StoreBrokenError, ToolBlockedError, UpstreamError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


def shop() -> MCPServer:
    server = MCPServer("shop")

    @server.tool()
    def price(item: str) -> int:
        """Return what an item costs."""
        return len(item)

    return server


async def test_a_server_object_cannot_have_the_name_of_a_configured_server() -> None:
    with pytest.raises(UsageError):
        async with Gateway.open({"mcpServers": {"shop": {"command": "x"}}}, servers={"shop": shop()}):
            pass


async def test_a_server_with_an_unset_variable_is_off_alone_and_doctor_says_why() -> None:
    locked = {"url": "http://127.0.0.1:9/", "headers": {"X": "${NOT_SET_ANYWHERE}"}}
    async with Gateway.open({"mcpServers": {"locked": locked}}, servers={"shop": shop()}) as gateway:
        assert (await gateway.call("mcp__shop__price", item="lamp")).text == "4"
        with pytest.raises(UpstreamError, match="NOT_SET_ANYWHERE"):
            await gateway.refresh("locked")
        examined = await gateway.parts.doctor.health()
    states = {row["name"]: (row["state"], row["trouble"]) for row in examined["servers"]}
    assert states == {"locked": ("failed", "misconfigured"), "shop": ("ready", None)}
    (finding,) = [one for one in examined["findings"] if one["code"] == "misconfigured"]
    assert finding["server"] == "locked"
    assert "NOT_SET_ANYWHERE" in finding["what"]


async def test_a_reload_uses_another_configuration_and_a_failed_one_keeps_the_old(tmp_path: Path) -> None:
    file = tmp_path / "damaged.db"
    await asyncio.to_thread(file.write_bytes, b"not a database" * 1_000)
    settings = {"tools": {"block": ["mcp__shop__price"]}}, {"store": {"path": str(file)}}
    blocking, damaged = [await asyncio.to_thread(Config.from_mapping, one) for one in settings]
    async with Gateway.open({}, servers={"shop": shop()}) as gateway:
        with pytest.raises(StoreBrokenError):
            await gateway.reload(damaged)
        assert (await gateway.call("mcp__shop__price", item="lamp")).text == "4"
        await gateway.reload(blocking)
        with pytest.raises(ToolBlockedError):
            await gateway.call("mcp__shop__price", item="lamp")
    assert all(task is asyncio.current_task() for task in asyncio.all_tasks())
