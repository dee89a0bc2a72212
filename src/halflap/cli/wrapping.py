"""Print lines so that they stay within a terminal, broken at words and indented; in a pipe they stay whole."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from halflap.cli.output import data_console, harmless

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.text import Text

__all__ = ["print_lines", "say"]

_NARROWEST = 10
_DEEPER = 2


def print_lines(lines: Iterable[str]) -> None:
    """Print lines of text; where one is broken, it goes on further in than it began."""
    if not sys.stdout.isatty():
        sys.stdout.write(harmless("\n".join(lines)) + "\n")
        sys.stdout.flush()
        return
    from rich.text import Text  # noqa: PLC0415 -- only a terminal needs it

    console = data_console()
    for line in harmless("\n".join(lines)).split("\n"):
        text = line.expandtabs().lstrip()
        indent = len(line.expandtabs()) - len(text)
        say(console, Text(text), Text(" " * indent), deeper=_DEEPER)


def say(console: Console, text: Text, first: Text, *, deeper: int = 0) -> None:
    """Print a text behind what stands `first`; on a terminal, further lines begin below its beginning, or deeper."""
    from rich.text import Text as Line  # noqa: PLC0415 -- as above

    room = console.width - len(first)
    if not console.is_terminal or len(text) <= room:
        console.print(Line.assemble(first, text), soft_wrap=True)
        return
    head, *rest = text.wrap(console, max(room, _NARROWEST))
    lines = [(first, head)]
    if rest:
        indent = Line(" " * (len(first) + deeper))
        left = text[len(head.plain) :]
        left = left[len(left.plain) - len(left.plain.lstrip()) :]
        lines += [(indent, line) for line in left.wrap(console, max(room - deeper, _NARROWEST))]
    for before, line in lines:
        line.rstrip()
        console.print(Line.assemble(before, line), soft_wrap=True)
