"""Schemas as trees, for whoever looks at one in a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

from halflap.cli.output import data_console, harmless

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["print_parameters", "print_places"]

_LINE = re.compile(r"(?P<indent> *)- (?P<rest>.*)", re.DOTALL)


def print_parameters(title: str, lines: Sequence[str]) -> None:
    """Draw what a tool takes, from its lines: one for each parameter, those within another indented under it."""
    tree = Tree(Text(title, style="bold"), guide_style="dim")
    branches = [tree]
    for line in lines:
        found = _LINE.match(harmless(line))
        depth = 0 if found is None else len(found["indent"]) // 2
        text = harmless(line) if found is None else found["rest"]
        name, space, more = text.partition(" ")
        parent = branches[min(depth, len(branches) - 1)]
        del branches[depth + 1 :]
        branches.append(parent.add(Text.assemble((name, "cyan"), space, more)))
    data_console().print(tree)


def print_places(title: str, rows: Sequence[tuple[str, ...]]) -> None:
    """Draw what is at each place, which comes first in its row, below the place that it is in."""
    known = {row[0] for row in rows}
    tree = Tree(Text(title, style="bold"), guide_style="dim")
    branches: dict[str, Tree] = {}
    for place, what, *more in rows:
        aside = ", ".join(part for part in more if part)
        told = Text.assemble("  ", harmless(what), (f"  {harmless(aside)}" if aside else "", "dim"))
        if not place:
            tree.label = Text.assemble((title, "bold"), told)
            continue
        parent = _parent(place, known)
        name = harmless(place[len(parent) :].removeprefix("."))
        branches[place] = branches.get(parent, tree).add(Text.assemble((name, "cyan"), told))
    data_console().print(tree)


def _parent(place: str, known: set[str]) -> str:
    """Give the nearest place that this one is in; that of the whole value is empty."""
    ends = (at for at in range(len(place) - 1, 0, -1) if place[at] in ".[" and place[:at] in known)
    return place[: next(ends, 0)]
