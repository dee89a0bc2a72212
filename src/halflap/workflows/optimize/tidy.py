"""Remove what does nothing: silent tasks and conditions, empty branches, and parallel blocks directly within one another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from halflap.workflows.model.block import (
    NOTHING,
    PLAIN,
    Block,
    Branches,
    Loop,
    Step,
    blocks_in,
    is_choice,
    is_parallel,
    mapped,
    sequence,
)
from halflap.workflows.optimize.constraints import Ground, named


def remove_silent(ground: Ground, tree: Block) -> Iterator[tuple[Block, str]]:
    """Remove all silent tasks, conditions and branches that do nothing, at once."""
    net = ground.facts.net
    deciding = {one.split for one in blocks_in(tree) if isinstance(one, Branches | Loop) and is_choice(one)}
    # At a condition with several flows out of it, something outside decides.
    steps = ground.facts.steps(tree) - (deciding & net.conditions.keys())
    gone = [node for node in (*net.conditions, *net.tasks) if node in steps and ground.facts.removable(node)]

    def change(one: Block) -> Block:
        if isinstance(one, Step) and one.node in gone:
            return NOTHING
        if is_parallel(one):
            ways = [
                way
                for part in one.parts
                for way in (part.parts if is_parallel(part) else (part,))
                if way != NOTHING
            ]
            made = replace(one, parts=tuple(ways), choices=(PLAIN,) * len(ways))
            return made if len(ways) > 1 else sequence(ways)
        if not isinstance(one, Branches | Loop) or any(part != NOTHING for part in one.parts):
            return one
        # The other ways of its gate are chosen by what these state.
        stated = isinstance(one, Branches) and one.partial and any(choice.decides for choice in one.choices)
        return one if stated else NOTHING

    what = (
        f"Removed {named(gone)}, which show nothing."
        if gone
        else "Merged nested blocks, or removed empty ones."
    )
    yield mapped(tree, change), what
