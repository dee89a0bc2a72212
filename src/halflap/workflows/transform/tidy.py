"""Remove what does nothing: silent tasks and conditions, empty branches, blocks within blocks of their kind, dead and repeated tasks."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from halflap.workflows.analysis.order import Data, depend
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.block import (
    NOTHING,
    PLAIN,
    Branches,
    Loop,
    Sequence,
    Step,
    Way,
    mapped,
    parts_of,
)
from halflap.workflows.model.build import build
from halflap.workflows.model.checks import structure_problems
from halflap.workflows.model.reduce import structure_of
from halflap.workflows.score.durations import shares
from halflap.workflows.transform.ground import named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as List

    from halflap.workflows.model.block import Block, Structure
    from halflap.workflows.model.net import Task
    from halflap.workflows.score.facts import Facts
    from halflap.workflows.transform.ground import Changed, Ground

__all__ = ["drop_duplicates", "flatten", "remove_dead", "remove_silent", "without"]


def remove_silent(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Remove all silent tasks, conditions and branches that do nothing, at once."""
    kept = {
        node for block in structure.blocks for node in _deferred(block) if node not in ground.facts.net.tasks
    }
    steps = {node for block in structure.blocks for node in ground.facts.steps(block)} - kept
    gone = [node for node in (*ground.facts.net.conditions, *ground.facts.net.tasks) if node in steps]
    gone = [node for node in gone if ground.facts.removable(node)]
    new = structure.with_blocks([without(block, gone) for block in structure.blocks])
    if new != structure:
        yield new, f"Removed {named(gone)}, which show nothing." if gone else "Removed empty branches."


def _deferred(block: Block, after: Block | None = None) -> Iterator[str]:
    """Yield the nodes right before the choices that they are the gates of."""
    if isinstance(block, Step) and isinstance(after, Branches | Loop) and after.split == block.node:
        yield block.node
    elif isinstance(block, Sequence):
        for part, then in zip(block.parts, [*block.parts, after][1:], strict=True):
            yield from _deferred(part, then)
    elif isinstance(block, Branches):
        for way in block.ways:
            yield from _deferred(way.block)
    elif isinstance(block, Loop):
        yield from _deferred(block.body, block)
        yield from _deferred(block.again.block)


def without(block: Block, gone: List[str]) -> Block:
    """Return a block without some steps, and without the branches that are then empty, where that is the same."""

    def change(one: Block) -> Block:
        if isinstance(one, Step) and one.node in gone:
            return NOTHING
        if isinstance(one, Branches):
            return _fewer(one)
        empty = isinstance(one, Loop) and one.body == one.again.block == NOTHING
        return NOTHING if empty else one

    return mapped(block, change)


def _fewer(block: Branches) -> Block:
    if block.kind == "and":
        ways = tuple(way for way in block.ways if way.block != NOTHING)
        if len(ways) <= 1:
            return ways[0].block if ways else NOTHING
        return replace(block, ways=ways)
    elsewhere = block.partial and any(way.choice.decides for way in block.ways)
    return NOTHING if all(way.block == NOTHING for way in block.ways) and not elsewhere else block


def flatten(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Merge blocks of a kind that are directly within one another, everywhere at once."""

    def change(block: Block) -> Block:
        if not isinstance(block, Branches):
            return block
        ways: list[Way] = []
        for way, chance in zip(block.ways, shares([way.weight for way in block.ways]), strict=True):
            inside = _alone(ground, way.block)
            same = inside is not None and inside.kind == block.kind
            ways += (_taken_in(block, way, inside, chance) if same and inside else None) or [way]
        return replace(block, ways=tuple(ways))

    new = structure.with_blocks([mapped(block, change) for block in structure.blocks])
    if new != structure:
        yield new, "Merged nested blocks of the same kind."


def _alone(ground: Ground, block: Block) -> Branches | None:
    """Return the block that is all a way has, apart from what does nothing."""
    facts = ground.facts
    if any(isinstance(part, Step) and part.node in facts.net.conditions for part in parts_of(block)):
        return None
    parts = [part for part in parts_of(block) if not (isinstance(part, Step) and facts.removable(part.node))]
    return parts[0] if len(parts) == 1 and isinstance(parts[0], Branches) else None


def _taken_in(block: Branches, way: Way, inside: Branches, chance: float) -> List[Way] | None:
    """Return the ways of an inner block as ways of the outer one; None where that is not the same."""
    if block.kind == "and" or (way.choice == PLAIN and inside.split == block.split):
        return inside.ways
    every = (*block.ways, *inside.ways)
    if any(one.choice.decides for one in every) or block.partial or inside.partial:
        return None
    if block.kind == "or":
        return inside.ways if all(one.choice == PLAIN for one in every) else None
    known = _known(block.ways)
    if known != _known(inside.ways):
        return None
    likely = [chance * share for share in shares([one.weight for one in inside.ways])]
    return [
        replace(one, weight=p, choice=one.choice._replace(probability=p)) if known else one
        for one, p in zip(inside.ways, likely, strict=True)
    ]


def _known(ways: List[Way]) -> bool:
    return all(way.choice.probability is not None for way in ways)


def remove_dead(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Remove tasks that never happen; a block-structured net has none."""
    if structure.block is not None:
        return
    net = build(ground.facts.net, structure)
    judged = soundness(Study(net))
    dead = {failure.task for failure in judged.failures if failure.kind == "dead_task" and failure.task}
    if not dead or len(dead) < len(judged.failures) or not all(map(ground.facts.droppable, dead)):
        return
    flows = tuple(flow for flow in net.flows if flow.source not in dead and flow.target not in dead)
    used = {net.input, net.output} | {node for flow in flows for node in (flow.source, flow.target)}
    new = replace(
        net,
        tasks={name: task for name, task in net.tasks.items() if name not in dead},
        conditions={name: one for name, one in net.conditions.items() if name in used},
        flows=flows,
    )
    if not structure_problems(new) and soundness(Study(new)).sound:
        yield structure_of(new), f"Removed {named(sorted(dead))}, which can never happen."


# Repeated tasks ----------------------------------------------------------------------------------------


_Known = dict[str, str]
"""What was surely done and still holds: what it looks like, and the task that did it."""


def drop_duplicates(ground: Ground, structure: Structure) -> Iterator[Changed]:
    """Drop one idempotent task at a time that repeats another."""
    if structure.block is None:
        return
    walk = _Walk(ground.facts)
    walk.through(structure.block, {})
    for again, first in walk.found:
        block = without(structure.block, [again])
        what = f"Dropped '{again}': '{first}' has done the same, and nothing has changed since."
        yield structure.with_blocks([block]), what


def _look(task: Task) -> str:
    """Return everything that matters about what a task does."""
    arguments = None if task.arguments is None else dict(task.arguments)
    data = [sorted(task.reads or ()), sorted(task.writes or ())]
    return json.dumps([task.label, task.tool, arguments, task.each, *data], sort_keys=True, default=repr)


@dataclass(slots=True)
class _Walk:
    """Goes through a block with what was done before it; collects the tasks that repeat others."""

    facts: Facts
    meanwhile: Data = field(default_factory=Data)
    """What parallel branches may do at the same time."""
    found: list[tuple[str, str]] = field(default_factory=list)

    def through(self, block: Block, known: _Known, *, decides: bool = False) -> _Known:
        """Return what is known after a block; `decides` if a choice follows that it may decide."""
        if isinstance(block, Step):
            return self.step(block.node, known, decides=decides)
        if isinstance(block, Sequence):
            for at, part in enumerate(block.parts):
                after = block.parts[at + 1] if at + 1 < len(block.parts) else None
                chosen = isinstance(after, Branches) and isinstance(part, Step) and after.split == part.node
                known = self.through(part, known, decides=chosen or (decides and after is None))
            return known
        if isinstance(block, Branches):
            if block.kind != "xor":
                return self.parallel(block, known)
            ends = [self.through(way.block, known) for way in block.ways]
            return {look: task for look, task in ends[0].items() if all(look in one for one in ends)}
        known = self.through(block.body, self.still(known, self.facts.data(block)), decides=True)
        self.through(block.again.block, known)
        return known

    def parallel(self, block: Branches, known: _Known) -> _Known:
        data = [self.facts.data(way.block) for way in block.ways]
        together: _Known = {}
        for at, way in enumerate(block.ways):
            others = reduce(or_, (one for other, one in enumerate(data) if other != at), Data())
            beside = _Walk(self.facts, self.meanwhile | others, self.found)
            after = beside.through(way.block, self.still(known, others))
            together |= after if block.kind == "and" else {}
        return {**self.still(known, reduce(or_, data, Data())), **together}

    def still(self, known: _Known, data: Data) -> _Known:
        return {look: task for look, task in known.items() if not depend(self.facts.data(Step(task)), data)}

    def step(self, node: str, known: _Known, *, decides: bool) -> _Known:
        task = self.facts.net.tasks.get(node)
        if task is None or self.facts.routes(node):
            return known
        data = self.facts.data(Step(node))
        if not task.idempotent or data.reads is None or data.writes is None or task.label is None:
            return self.still(known, data)
        look = _look(task)
        first = known.get(look)
        if first is not None:
            if self.facts.droppable(node) and not decides and first != node:
                self.found.append((node, first))
            return known
        known = self.still(known, data)
        return known if depend(data, self.meanwhile) else {**known, look: node}
