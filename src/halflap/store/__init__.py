"""What Halflap stores: the catalogue, runs and calls, and what was learned about tools.

Read `records` for the values, then `store.Store` for the operations: it adds the catalogue to `traces` (runs and calls) and
`knowledge` (what was learned). `database` runs all of it in one thread, on SQLite or on a PostgreSQL shared by several
gateways; `sql` has what both understand, `migrations` has the versions of the tables. The store decides nothing:
redaction, retention and learning happen above it.
"""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from halflap.core.errors import StoreBrokenError, StoreError, StoreTooNewError
from halflap.store.records import (
    LIVE,
    RUNNING,
    SENT,
    TOOL_ERROR,
    Activity,
    AnyRecord,
    Breach,
    CallRecord,
    DriftEvent,
    Purged,
    RunRecord,
    ServerRows,
    StoredCatalog,
    StoredServer,
    StoredShape,
    StoredTool,
    ToolKey,
    WatermarkChange,
)

if TYPE_CHECKING:
    from halflap.store.store import Store  # noqa: TC004 -- takes a while to load: only for types, see `open_store`

__all__ = [
    "LIVE",
    "RUNNING",
    "SENT",
    "TOOL_ERROR",
    "Activity",
    "AnyRecord",
    "Breach",
    "CallRecord",
    "DriftEvent",
    "Purged",
    "RunRecord",
    "ServerRows",
    "Store",
    "StoredCatalog",
    "StoredServer",
    "StoredShape",
    "StoredTool",
    "ToolKey",
    "WatermarkChange",
    "open_store",
    "open_store_or_memory",
]

logger = logging.getLogger(__name__)


async def open_store(location: Path | str | None) -> Store:
    """Open a store: a path is SQLite, a string is a database URL, None is memory."""
    # What it keeps takes a while to load, so it is imported here, in a thread.
    module = await asyncio.to_thread(import_module, "halflap.store.store")
    store: Store = module.Store(location)
    await store.open()
    return store


async def open_store_or_memory(location: Path | str) -> Store:
    """Open a store; if it cannot be opened, one in memory whose `trouble` is the reason."""
    try:
        return await open_store(location)
    except (StoreTooNewError, StoreBrokenError):
        raise
    except StoreError as error:
        # People can use their tools even where the home folder cannot be written to.
        logger.warning("%s Continuing in memory: the next start will not remember this one.", error)
        store = await open_store(None)
        store.trouble = str(error)
        return store
