"""What is known about the tasks of a workflow: time, cost, data, and what has to stay where it is.

Whatever is not declared is never an advantage: a task with undeclared data depends on everything, one with an undeclared duration takes 1,
unless it is silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.order import Data, depend
from halflap.workflows.model.block import Block, Branches, Loop, Step, inner, remembered, steps_of
from halflap.workflows.model.net import CANCELLATION, FIXING
from halflap.workflows.predicates import names, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.workflows.model.block import Way
    from halflap.workflows.model.net import Net

__all__ = ["UNKNOWN", "Facts"]

UNKNOWN = Data(None, None)


class Facts:
    """The tasks of one workflow. Everything made from it has the same tasks, or fewer."""

    def __init__(self, net: Net, fixed: Iterable[str] = (), ordered: Iterable[tuple[str, str]] = ()) -> None:
        """Begin; `fixed` tasks are not moved, of each pair of `ordered` the first stays before the second."""
        self.net = net
        self.held = frozenset(fixed) | {one.at for one in net.kept if one.name in FIXING}
        """Tasks that are not moved."""
        self.named = frozenset(task for rule in net.rules for task in rule.tasks)
        """Tasks that a rule names: they cannot be dropped."""
        self.ties = frozenset(ordered) | {
            (rule.tasks[0], rule.tasks[1]) for rule in net.rules if rule.kind in {"precedence", "response"}
        }
        self._tied = frozenset(task for pair in self.ties for task in pair)
        self._depend: dict[tuple[Block, Block], bool] = {}

    @property
    def undeclared(self) -> list[str]:
        """Tasks without declared reads and writes."""
        tasks = [task for task in self.net.tasks.values() if not self.routes(task.id)]
        return [task.id for task in tasks if task.reads is None or task.writes is None]

    @property
    def timeless(self) -> list[str]:
        """Tasks without a duration."""
        tasks = self.net.tasks.values()
        return [task.id for task in tasks if task.label is not None and task.duration is None]

    @property
    def untouchable(self) -> str | None:
        """Why nothing in the workflow may be changed, if so."""
        found = sorted({one.name for one in self.net.kept if one.name in CANCELLATION})
        return (
            f"It has cancellation ({', '.join(found)}), whose effects the model cannot follow."
            if found
            else None
        )

    def duration(self, node: str) -> float:
        task = self.net.tasks.get(node)
        if task is None:
            return 0.0
        if task.duration is None:
            return 0.0 if task.label is None else 1.0
        return float(task.duration)

    def cost(self, node: str) -> float:
        task = self.net.tasks.get(node)
        return 0.0 if task is None or task.cost is None else float(task.cost)

    def resource(self, node: str) -> str | None:
        task = self.net.tasks.get(node)
        return None if task is None else task.resource

    def routes(self, node: str) -> bool:
        """Return whether a step does nothing: a condition, or a silent task that exists for its gates."""
        task = self.net.tasks.get(node)
        return task is None or (
            task.label is None
            and not task.duration
            and not task.cost
            and not task.writes
            and task.tool is None
            and task.resource is None
            and self.droppable(node)
        )

    def removable(self, node: str) -> bool:
        """Return whether nothing is lost with a step; a silent task that reads may be what a choice depends on."""
        task = self.net.tasks.get(node)
        return self.routes(node) and (task is None or not task.reads)

    def droppable(self, node: str) -> bool:
        return node not in self.held and node not in self.named

    def doing(self, block: Block) -> list[str]:
        """Return the tasks of a block that do something, as listed in the net."""
        steps = self.steps(block)
        return [task for task in self.net.tasks if task in steps and not self.routes(task)]

    @remembered
    def steps(self, block: Block) -> frozenset[str]:
        return frozenset(steps_of(block))

    @remembered
    def data(self, block: Block) -> Data:
        """Return what a block reads and writes, its choices included."""
        found = self._of_node(block.node) if isinstance(block, Step) else Data()
        for part in inner(block):
            found |= self.data(part)
        if isinstance(block, Loop) or (isinstance(block, Branches) and block.kind != "and"):
            found |= self.choice(block.split, block.ways)
        return found

    def depend(self, one: Block, other: Block) -> bool:
        """Return whether the order of two blocks matters, by data or because it was asked for."""
        key = (one, other)
        found = self._depend.get(key)
        if found is None:
            mine, yours = self.tied(one), self.tied(other)
            found = depend(self.data(one), self.data(other)) or any(
                (a, b) in self.ties or (b, a) in self.ties for a in mine for b in yours
            )
            self._depend[key] = found
        return found

    def tied(self, block: Block) -> frozenset[str]:
        """Return the tasks of a block that have to stay before or after others."""
        return self.steps(block) & self._tied

    def _of_node(self, node: str) -> Data:
        task = self.net.tasks.get(node)
        if task is None:
            return Data()
        if node in self.held:
            return UNKNOWN
        return Data(task.reads or frozenset()) if self.routes(node) else Data(task.reads, task.writes)

    def choice(self, split: str | None, ways: Iterable[Way]) -> Data:
        """Return what a choice reads: the names in its predicates, or what the task that chooses reads."""
        listed = list(_all_ways(split, ways))
        without = [way for way in listed if way.choice.predicate is None]
        # One way, the default, needs no predicate.
        if len(without) <= 1 < len(listed):
            try:
                read = [
                    names(parse(way.choice.predicate)) for way in listed if way.choice.predicate is not None
                ]
            except WorkflowError:
                return UNKNOWN
            return Data(frozenset(name[0] for one in read for name in one))
        task = self.net.tasks.get(split or "")
        declared = (
            task is not None and task.reads is not None and (task.label is None or task.writes is not None)
        )
        return Data() if declared else UNKNOWN


def _all_ways(split: str | None, ways: Iterable[Way]) -> Iterable[Way]:
    """Yield the ways of a gate, including those that are a block of their own at the same gate."""
    for way in ways:
        block = way.block
        if isinstance(block, Branches) and block.split == split and block.kind != "and":
            yield from _all_ways(split, block.ways)
        elif isinstance(block, Loop) and block.split == split:
            yield block.again
            yield way
        else:
            yield way
