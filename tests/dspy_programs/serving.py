"""A gateway and a client of it in this process."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp import Client

from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server import Front

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@asynccontextmanager
async def opened(
    home: Path, config: dict[str, Any], servers: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[tuple[Gateway, Client]]:
    found = replace(await asyncio.to_thread(Config.from_mapping, config), data_dir=home / "data")
    async with (
        Gateway.open(found, servers=servers) as gateway,
        Client(Front(gateway).server, **options) as client,
    ):
        yield gateway, client


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0]
    return answer.structured_content


async def refused(client: Client, **arguments: Any) -> tuple[str, str]:
    answer = await client.call_tool("dspy_execute_program", arguments)
    assert answer.is_error
    assert answer.structured_content is not None
    return answer.structured_content["code"], answer.structured_content["message"]


async def executed(client: Client, code: str) -> str:
    answer = await client.call_tool("execute_program", {"code": code})
    return str(answer.content[0].text)  # type: ignore[union-attr]
