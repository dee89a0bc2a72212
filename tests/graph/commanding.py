"""Tools from a table, and which of them the words of a goal mean."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from graph.made import ports
from halflap.graph.asking import asked
from halflap.graph.clauses import read_goal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.graph.edge import Ports


def catalogue(text: str) -> list[Ports]:
    """Read tools: a name, what it takes, and its description."""
    told = (line.split("|") for line in text.strip().splitlines())
    return [
        replace(ports(name.strip(), takes.strip()), description=said.strip()) for name, takes, said in told
    ]


def meant(goal: str, tools: Sequence[Ports], have: dict[str, Any] | None = None) -> list[str]:
    """Give the tools that change something and are meant: with `*` if it says all, with `!` if no other tool may choose."""
    said = read_goal(goal, have)
    found = {one.original_name: asked(said, one) for one in tools if one.original_name != "list_users"}
    return [
        f"{name}{'*' if one.every else '' if one.is_open else '!'}"
        for name, one in found.items()
        if one.is_meant
    ]
