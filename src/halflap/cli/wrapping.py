"""Print lines so that they stay within a terminal, broken at words and indented; in a pipe they stay whole."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from halflap.cli.output import data_console, harmless, note

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.text import Text

__all__ = ["broken", "broken_at", "print_lines", "say", "tell"]

tell = note

_NARROWEST = 10
_DEEPER = 2


def broken_at(text: str) -> str:
    """Break the lines of a text at words, where they are longer than the terminal is wide."""
    from rich.console import Console  # noqa: PLC0415 -- only a terminal needs it

    width = Console(stderr=True).width
    return "\n".join(part for line in text.split("\n") for part in broken(line, width))


def broken(line: str, width: int, lead: int = 0) -> list[str]:
    """Break a line at spaces, further lines indented behind the `lead`; a longer word stays whole, to be copied."""
    from rich.cells import cell_len  # noqa: PLC0415 -- as above

    if cell_len(line) <= width:
        return [line]
    indent = " " * min(lead + _DEEPER, width // 2)
    first, *words = line[lead:].split(" ")
    lines = [line[:lead] + first]
    for word in words:
        if cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        elif word:
            lines.append(indent + word)
    return lines


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
