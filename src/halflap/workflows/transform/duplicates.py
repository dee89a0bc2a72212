"""Drop an idempotent task that repeats another: the same was surely done before, and nothing it depends on changed since."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from halflap.workflows.analysis.order import Data, depend
from halflap.workflows.model.block import Branches, Sequence, Step
from halflap.workflows.transform.tidy import without

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.model.block import Block, Structure
    from halflap.workflows.model.net import Task
    from halflap.workflows.score.facts import Facts
    from halflap.workflows.transform.ground import Changed, Ground

__all__ = ["drop_duplicates"]

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
