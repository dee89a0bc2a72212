"""What the shell offers when the user presses Tab: from the kept catalogue, starting nothing.

Every command that takes a name imports this, and few of them are completed: what it needs is loaded when it is used.
"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import typer  # noqa: TC002 -- typer reads the annotation when it runs

from halflap.core.errors import HalflapError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from halflap.config import Config
    from halflap.store import Store

__all__ = ["program_names", "run_ids", "script_names", "tool_names"]

_MOST_RUNS = 200


def tool_names(context: typer.Context, incomplete: str) -> list[str]:
    """Give the callable tools that begin so."""
    return [name for name in _asked(context, _names) if name.startswith(incomplete)]


def run_ids(context: typer.Context, incomplete: str) -> list[str]:
    """Give the newest runs that begin so."""
    return [identifier for identifier in _asked(context, _runs) if identifier.startswith(incomplete)]


def _asked(
    context: typer.Context, question: Callable[[Config, Store], Awaitable[Sequence[str]]]
) -> Sequence[str]:
    from halflap.config import load_config  # noqa: PLC0415 -- see the top

    with contextlib.suppress(HalflapError, OSError):
        return asyncio.run(_with_store(load_config(context.params.get("config")), question))
    return ()


def script_names(context: typer.Context, incomplete: str) -> list[str]:
    """Give the saved scripts that begin so."""
    from halflap.config import load_config  # noqa: PLC0415 -- see the top
    from halflap.scripts import Folder  # noqa: PLC0415 -- see the top

    with contextlib.suppress(HalflapError, OSError):
        folder = Folder(load_config(context.params.get("config")).data_dir / "scripts")
        return [name for name in folder.read().scripts if name.startswith(incomplete)]
    return []


def program_names(context: typer.Context, incomplete: str) -> list[str]:
    """Give the saved DSPy programs that begin so."""
    from halflap.config import load_config  # noqa: PLC0415 -- see the top
    from halflap.dspy.library import Library  # noqa: PLC0415 -- see the top

    with contextlib.suppress(HalflapError, OSError):
        library = Library(load_config(context.params.get("config")).programs.root)
        return [name for name in library.read().programs if name.startswith(incomplete)]
    return []


async def _with_store(
    config: Config, question: Callable[[Config, Store], Awaitable[Sequence[str]]]
) -> Sequence[str]:
    place = config.store.url or config.store.path or config.data_dir / "halflap.db"
    if isinstance(place, Path) and not place.exists():
        return ()
    from halflap.store import open_store  # noqa: PLC0415 -- see the top

    store = await open_store(place)
    try:
        return await question(config, store)
    finally:
        await store.close()


async def _names(config: Config, store: Store) -> Sequence[str]:
    from halflap.catalog import Catalog  # noqa: PLC0415 -- see the top

    catalog = Catalog(config, store)
    await catalog.load()
    return catalog.snapshot.callable


async def _runs(_config: Config, store: Store) -> Sequence[str]:
    return [run.id for run in await store.runs(_MOST_RUNS)]
