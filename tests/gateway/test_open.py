"""Opening a gateway: on what it is given, and with a part of that broken."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mcp.server.mcpserver import MCPServer

from halflap import Config, Gateway
from halflap.core.errors import StoreBrokenError, ToolBlockedError, UpstreamError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def shop() -> MCPServer:
    server = MCPServer("shop")

    @server.tool()
    def price(item: str) -> int:
        """Return what an item costs."""
        return len(item)

    return server


def test_a_server_object_cannot_have_the_name_of_a_configured_server(run: Run) -> None:
    async def story() -> None:
        async with Gateway.open({"mcpServers": {"shop": {"command": "x"}}}, servers={"shop": shop()}):
            pass

    with pytest.raises(UsageError):
        run(story())


def test_a_server_with_an_unset_variable_is_off_alone_and_doctor_says_why(run: Run) -> None:
    config = {
        "mcpServers": {"locked": {"url": "http://127.0.0.1:9/", "headers": {"X": "${NOT_SET_ANYWHERE}"}}}
    }

    async def story() -> tuple[str, dict[str, Any], str]:
        async with Gateway.open(config, servers={"shop": shop()}) as gateway:
            result = await gateway.call("mcp__shop__price", item="lamp")
            with pytest.raises(UpstreamError) as caught:
                await gateway.refresh("locked")
            return result.text, await gateway.parts.doctor.health(), str(caught.value)

    text, examined, refused = run(story())
    assert text == "4"
    assert "NOT_SET_ANYWHERE" in refused
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
