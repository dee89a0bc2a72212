"""Show that something is going on: on stderr, and only on a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["working"]


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
