"""Remove what does nothing: silent tasks and conditions, empty branches, blocks within blocks of their kind, repeated tasks."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from halflap.workflows.analysis.order import Data, depend
from halflap.workflows.model.block import (
    NOTHING,
    PLAIN,
    Block,
    Branches,
    Choice,
    Loop,
    Step,
    Tangle,
    blocks_in,
    is_choice,
    mapped,
    parts_of,
    sequence,
    shares,
)
from halflap.workflows.transform.constraints import Ground, named

if TYPE_CHECKING:
    from halflap.workflows.model.net import Task

Changed = tuple["Block", str]


def _deciding(tree: Block) -> set[str | None]:
    """Return the nodes that choose."""
    return {one.split for one in blocks_in(tree) if isinstance(one, Branches | Loop) and is_choice(one)}


def remove_silent(ground: Ground, tree: Block) -> Iterator[Changed]:
    """Remove all silent tasks, conditions and branches that do nothing, at once."""
    net = ground.facts.net
    # A condition with several flows out of it is where something outside decides.
    kept = _deciding(tree) & net.conditions.keys()
    steps = ground.facts.steps(tree) - kept
    gone = [node for node in (*net.conditions, *net.tasks) if node in steps and ground.facts.removable(node)]
    what = f"Removed {named(gone)}, which show nothing." if gone else "Removed empty branches."
    yield without(tree, gone), what


def without(tree: Block, gone: Collection[str]) -> Block:
    """Return a tree without some steps, and without the branches that are then empty, where that is the same."""

    def change(one: Block) -> Block:
        if isinstance(one, Step) and one.node in gone:
            return NOTHING
        if isinstance(one, Branches) and one.kind == "and":
            ways = [part for part in one.parts if part != NOTHING]
            return (
                replace(one, parts=tuple(ways), choices=(PLAIN,) * len(ways))
                if len(ways) > 1
                else sequence(ways)
            )
        empty = bool(one.parts) and all(part == NOTHING for part in one.parts)
        if isinstance(one, Branches):
            elsewhere = one.partial and any(choice.decides for choice in one.choices)
            return NOTHING if empty and not elsewhere else one
        return NOTHING if empty and isinstance(one, Loop) else one

    return mapped(tree, change)


def flatten(ground: Ground, tree: Block) -> Iterator[Changed]:
    """Merge blocks of a kind that are directly within one another, everywhere at once."""

    def change(block: Block) -> Block:
        if not isinstance(block, Branches):
            return block
        ways: list[tuple[Block, Choice]] = []
        for part, choice, chance in zip(block.parts, block.choices, shares(block.choices), strict=True):
            inside = _alone(ground, part)
            taken = None if inside is None else _taken_in(block, inside, chance)
            ways += (
                [(part, choice)] if inside is None or taken is None else zip(inside.parts, taken, strict=True)
            )
        parts, choices = zip(*ways, strict=True)
        return replace(block, parts=parts, choices=choices)

    yield mapped(tree, change), "Merged nested blocks of the same kind."


def _alone(ground: Ground, block: Block) -> Branches | None:
    """Return the block that is all a way has, apart from silent tasks that do nothing."""
    facts = ground.facts
    parts = [
        part
        for part in parts_of(block)
        if not isinstance(part, Step) or part.node in facts.net.conditions or not facts.removable(part.node)
    ]
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Branches) else None


def _taken_in(block: Branches, inside: Branches, chance: float) -> tuple[Choice, ...] | None:
    """Return what the ways of an inner block state as ways of the outer one; None where that is not the same."""
    every = (*block.choices, *inside.choices)
    if inside.kind != block.kind:
        return None
    if block.kind == "and" or (inside.partial and inside.split == block.split):
        return inside.choices
    known = [one.probability is not None for one in every]
    if any(one.decides for one in every) or block.partial or inside.partial:
        return None
    if not any(known):
        return inside.choices
    if block.kind == "or" or not all(known):
        return None
    likely = [chance * share for share in shares(inside.choices)]
    return tuple(one._replace(probability=p) for one, p in zip(inside.choices, likely, strict=True))


# Repeated tasks ----------------------------------------------------------------------------------------


_Known = dict[str, str]
"""What was surely done and still holds: what it looks like, and the task that did it."""


def drop_duplicates(ground: Ground, tree: Block) -> Iterator[Changed]:  # noqa: C901 -- a case for each kind of block
    """Drop one idempotent task at a time that repeats another."""
    if isinstance(tree, Tangle):
        return
    facts = ground.facts
    tasks = facts.net.tasks
    deciding = _deciding(tree)
    found: list[tuple[str, str]] = []

    def still(known: _Known, data: Data) -> _Known:
        return {look: task for look, task in known.items() if not depend(tasks[task], data)}

    def step(node: str, known: _Known, beside: Data) -> _Known:
        task = tasks.get(node)
        if task is None or facts.routes(node):
            return known
        data = facts.data(Step(node=node))
        if not task.idempotent or data.reads is None or data.writes is None or task.label is None:
            return still(known, data)
        look = _look(task)
        if look in known:
            if known[look] != node and node not in deciding and facts.droppable(node):
                found.append((node, known[look]))
            return known
        known = still(known, data)
        return known if depend(task, beside) else {**known, look: node}

    def through(block: Block, known: _Known, beside: Data) -> _Known:
        """Return what is known after a block; `beside` is what may be read and written at the same time."""
        if isinstance(block, Step):
            return step(block.node, known, beside)
        if isinstance(block, Loop):
            known = through(block.parts[0], still(known, facts.data(block)), beside)
            through(block.parts[1], known, beside)
        elif isinstance(block, Branches) and block.kind == "xor":
            ends = [through(part, known, beside) for part in block.parts]
            known = {look: task for look, task in ends[0].items() if all(look in one for one in ends)}
        elif isinstance(block, Branches):
            data = [facts.data(part) for part in block.parts]
            after = still(known, reduce(or_, data, Data()))
            for at, part in enumerate(block.parts):
                others = reduce(or_, (one for other, one in enumerate(data) if other != at), Data())
                inside = through(part, still(known, others), beside | others)
                after |= inside if block.kind == "and" else {}
            known = after
        else:
            for part in block.parts:
                known = through(part, known, beside)
        return known

    through(tree, {}, Data())
    for again, first in found:
        what = f"Dropped '{again}': '{first}' has done the same, and nothing has changed since."
        yield without(tree, [again]), what


def _look(task: Task) -> str:
    """Return everything that matters about what a task does."""
    arguments = None if task.arguments is None else dict(task.arguments)
    data = [sorted(task.reads or ()), sorted(task.writes or ())]
    return json.dumps([task.label, task.tool, arguments, *data], sort_keys=True, default=repr)
