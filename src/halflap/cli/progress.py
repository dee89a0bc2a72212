"""Show that something is going on: on stderr, and only on a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["advancing", "working"]


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 -- only a terminal needs it
    from rich.text import Text  # noqa: PLC0415 -- as above

    with Console(stderr=True).status(Text(f"{what} …")):
        yield


@contextmanager
def advancing(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show how many bytes of how many are done, how fast, and how long it will take yet; gives whom to tell."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 -- only a terminal needs it
    from rich.progress import (  # noqa: PLC0415 -- as above
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        # Of what is piped in nobody knows how much there is.
        yield lambda done, total: shown.update(task, completed=done, total=total or None)
