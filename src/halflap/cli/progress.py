"""Show that something is going on: on stderr, and, but for what takes minutes, only on a terminal."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from halflap.cli.output import note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["advancing", "awaiting", "counting", "working"]

_BETWEEN_LINES: Final = 1.0


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
def awaiting(what: str) -> Iterator[Callable[[Sequence[str], int], None] | None]:
    """Show how many of several are there and which are not yet; gives whom to tell."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 -- only a terminal needs it
    from rich.text import Text  # noqa: PLC0415 -- as above

    console = Console(stderr=True)
    with console.status(Text(f"{what} …")) as status:

        def told(waiting: Sequence[str], of: int) -> None:
            text = Text(f"{what}: {of - len(waiting)} of {of}, waiting for {', '.join(waiting)}")
            # One line alone: a terminal cannot take back more.
            text.truncate(max(console.width - 4, 10), overflow="ellipsis")
            status.update(text)

        yield told


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


@contextmanager
def counting() -> Iterator[Callable[[str, int, int, str], None]]:
    """Show how many of how many are done, of one thing after another; gives whom to tell, from any thread.

    Where there is no terminal, a line says it: of each thing that begins, and then about one a second.
    """
    if not sys.stderr.isatty():
        yield _in_lines()
        return
    from rich.console import Console  # noqa: PLC0415 -- only a terminal needs it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415 -- as above

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)

        def told(what: str, done: int, total: int, _: str) -> None:
            shown.update(task, description=what, completed=done, total=total)

        yield told


def _in_lines() -> Callable[[str, int, int, str], None]:
    lock, last = threading.Lock(), -_BETWEEN_LINES

    def told(what: str, done: int, total: int, unit: str) -> None:
        nonlocal last
        with lock:
            now = time.monotonic()
            if done and now - last < _BETWEEN_LINES:
                return
            last = now
            note(f"{what}: {done} of {total} {unit}")

    return told
