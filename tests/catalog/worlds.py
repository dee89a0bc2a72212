"""Configurations, listings and catalogues to test with."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from halflap.catalog import Catalog
from halflap.config import Config
from halflap.core.values import Listing
from halflap.store import open_store

if TYPE_CHECKING:
    from halflap.store import Store

NO_SERVERS: Any = SimpleNamespace(made=None)
OPEN: list[Store] = []
"""The stores of catalogues in memory, to be closed after the test."""


async def config(*servers: str, **more: Any) -> Config:
    settings = {"mcpServers": {name: {"command": "true"} for name in servers}, **more}
    return await asyncio.to_thread(Config.from_mapping, settings)


def definition(name: str, description: str = "A tool.", **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}


def listing(server: str, *tools: str | dict[str, Any], **more: Any) -> Listing:
    definitions = tuple(definition(tool) if isinstance(tool, str) else tool for tool in tools)
    return Listing(server, definitions, **more)


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


async def catalog(*listings: Listing, clock: Clock | None = None, **more: Any) -> Catalog:
    """Return a catalogue in memory with these listings."""
    settings = await config(*dict.fromkeys(one.server for one in listings), **more)
    OPEN.append(await open_store(None))
    made = Catalog(settings, OPEN[-1], NO_SERVERS, refresh_stale=False, clock=clock or Clock())
    await made.load()
    for one in listings:
        await made.absorb(one)
    return made
