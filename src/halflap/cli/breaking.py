"""Lines broken at words, where they are longer than the terminal is wide."""

from __future__ import annotations

__all__ = ["broken", "broken_at"]

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
