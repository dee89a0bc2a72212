"""What the shell offers when the user presses Tab: from the kept catalogue, starting nothing."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import typer  # noqa: TC002 -- typer reads the annotation when it runs

from halflap.catalog import Catalog
from halflap.config import load_config
from halflap.errors import HalflapError
from halflap.scripts import Folder
from halflap.store import open_store

if TYPE_CHECKING:
    from halflap.config import Config

__all__ = ["script_names", "tool_names"]


def tool_names(context: typer.Context, incomplete: str) -> list[str]:
    """Give the callable tools that begin so."""
    with contextlib.suppress(HalflapError, OSError):
        names = asyncio.run(_names(load_config(context.params.get("config"))))
        return [name for name in names if name.startswith(incomplete)]
    return []


def script_names(context: typer.Context, incomplete: str) -> list[str]:
    """Give the saved scripts that begin so."""
    with contextlib.suppress(HalflapError, OSError):
        folder = Folder(load_config(context.params.get("config")).data_dir / "scripts")
        return [name for name in folder.read().scripts if name.startswith(incomplete)]
    return []


async def _names(config: Config) -> tuple[str, ...]:
    place = config.store.url or config.store.path or config.data_dir / "halflap.db"
    if isinstance(place, Path) and not place.exists():
        return ()
    store = await open_store(place)
    try:
        catalog = Catalog(config, store)
        await catalog.load()
        return catalog.snapshot.callable
    finally:
        await store.close()
