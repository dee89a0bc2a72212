"""A running server picks up changes of its configuration, and keeps its clients."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING

from halflap.config import load_config
from halflap.gateway import Gateway
from halflap.server import serve
from servers.memory import Memory
from support import comes

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


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
