"""Show progress on stderr: with rich on a terminal, else not at all, or in a line a second."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from halflap.cli.output import note, working

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["advancing", "awaiting", "counting", "working"]

_LINE_SECONDS: Final = 1.0


@contextmanager
def awaiting(what: str) -> Iterator[Callable[[Sequence[str], int], None] | None]:
    """Show a spinner with the names that are still awaited; yields what to call with them."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    with console.status(Text(f"{what} …")) as status:

        def update(waiting: Sequence[str], of: int) -> None:
            text = Text(f"{what}: {of - len(waiting)} of {of}, waiting for {', '.join(waiting)}")
            text.truncate(max(console.width - 4, 10), overflow="ellipsis")
            status.update(text)

        yield update


@contextmanager
def advancing(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show how many bytes are done; yields what to call with that and the total."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.DownloadColumn(),
        progress.TransferSpeedColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total or None)


@contextmanager
def counting() -> Iterator[Callable[[str, int, int, str], None]]:
    """Show how many of how many are done; yields what to call, from any thread, also without a terminal."""
    if not sys.stderr.isatty():
        yield _in_lines()
        return
    from rich import progress
    from rich.console import Console

    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn())
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("", total=None)

        def update(what: str, done: int, total: int, _: str) -> None:
            shown.update(task, description=what, completed=done, total=total)

        yield update


def _in_lines() -> Callable[[str, int, int, str], None]:
    lock, last = threading.Lock(), -_LINE_SECONDS

    def update(what: str, done: int, total: int, unit: str) -> None:
        nonlocal last
        with lock:
            now = time.monotonic()
            if done and now - last < _LINE_SECONDS:
                return
            last = now
            note(f"{what}: {done} of {total} {unit}")

    return update
