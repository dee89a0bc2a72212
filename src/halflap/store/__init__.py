"""What happened and what was learned."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING

from halflap.store.base import (
    INTERRUPTED,
    LIVE,
    MISTAKEN,
    RUNNING,
    SENT,
    TOOL_ERROR,
    Advance,
    Breach,
    CallRecord,
    Condition,
    DriftEvent,
    Purged,
    RunRecord,
    ServerRows,
    Store,
    StoredCatalog,
    StoredEdge,
    StoredServer,
    StoredShape,
    StoredTool,
    ToolKey,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "INTERRUPTED",
    "LIVE",
    "MISTAKEN",
    "RUNNING",
    "SENT",
    "TOOL_ERROR",
    "Advance",
    "Breach",
    "CallRecord",
    "Condition",
    "DriftEvent",
    "Purged",
    "RunRecord",
    "ServerRows",
    "Store",
    "StoredCatalog",
    "StoredEdge",
    "StoredServer",
    "StoredShape",
    "StoredTool",
    "ToolKey",
    "open_store",
]


async def open_store(place: Path | str | None, *, read_only: bool = False) -> Store:
    """Open the store: a path is SQLite, a text is a database's URL, None is memory.

    A file can be opened to be read alone: nothing is created, upgraded or changed.
    The SQL library takes a while to load, so it is loaded here, in a thread, and not on import.
    """
    sql = await asyncio.to_thread(import_module, "halflap.store.sql")
    store = sql.SqlStore(place)
    await store.open(read_only=read_only)
    opened: Store = store
    return opened
