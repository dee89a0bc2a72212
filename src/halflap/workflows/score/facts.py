"""Facts about the tasks of a workflow: time, cost, data, and which tasks must not be moved.

Undeclared attributes are never an advantage: a task with undeclared data depends on everything, one with an undeclared duration
takes 1, unless it is silent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.order import UNKNOWN, Data, depend, dependents
from halflap.workflows.model.block import (
    NOTHING,
    Block,
    Branches,
    Loop,
    Step,
    is_choice,
    is_parallel,
    parts_of,
    remembered,
    sequence,
    steps_of,
)
from halflap.workflows.model.net import FIXING, Net
from halflap.workflows.predicates import names, parse

TIE = "\0"
"""The prefix of names that express an order to keep instead of data."""


class Facts:
    """The tasks of one workflow. Workflows made from it have the same tasks, or fewer."""

    def __init__(
        self, net: Net, fixed: Collection[str] = (), keep_order: Iterable[tuple[str, str]] = ()
    ) -> None:
        self.net = net
        ordered = [*keep_order, *(one.tasks for one in net.rules if one.kind in {"precedence", "response"})]
        self._ties: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
        """Of tasks that keep their order, a name that both seem to write."""
        for at, tasks in enumerate(ordered):
            for task in tasks:
                self._ties[task] |= {f"{TIE}{at}"}
        self._held = {*fixed, *(one.at for one in net.kept if one.name in FIXING)}
        """Tasks that are not moved."""
        self._needed = self._held.union(task for rule in net.rules for task in rule.tasks)
        """Tasks that cannot be dropped."""
        listed = net.tasks.values()
        self.duration = dict.fromkeys(net.conditions, 0.0)
        for one in listed:
            self.duration[one.id] = float(one.label is not None if one.duration is None else one.duration)
        self.timeless = [one.id for one in listed if one.label is not None and one.duration is None]
        """Tasks without a duration."""
        undeclared = (one.id for one in listed if one.reads is None or one.writes is None)
        self.undeclared = [task for task in undeclared if not self.routes(task)]
        """Tasks without declared reads and writes."""

    def routes(self, node: str) -> bool:
        """Return whether a step only routes: a condition, or a silent task that exists for its gates."""
        task = self.net.tasks.get(node)
        return task is None or (
            task.label is None
            and not (task.duration or task.cost or task.writes or task.tool or task.resource)
            and node not in self._needed
        )

    def removable(self, node: str) -> bool:
        """Return whether a step can be removed; a silent task that reads may be what a choice depends on."""
        task = self.net.tasks.get(node)
        return self.routes(node) and (task is None or not task.reads)

    def cost(self, node: str) -> float:
        task = self.net.tasks.get(node)
        return 0.0 if task is None or task.cost is None else float(task.cost)

    def resource(self, node: str) -> str | None:
        task = self.net.tasks.get(node)
        return None if task is None else task.resource

    def doing(self, block: Block) -> list[str]:
        """Return the tasks of a block that do not only route, in the order of the net."""
        steps = self.steps(block)
        return [task for task in self.net.tasks if task in steps and not self.routes(task)]

    @remembered
    def steps(self, block: Block) -> frozenset[str]:
        return frozenset(steps_of(block))

    @remembered
    def data(self, block: Block) -> Data:
        """Return what a block reads and writes, its choices included."""
        if isinstance(block, Step):
            task = self.net.tasks.get(block.node)
            if task is None or block.node in self._held:
                return Data() if task is None else UNKNOWN
            nothing = frozenset[str]()
            own = (task.reads or nothing, nothing) if self.routes(task.id) else (task.reads, task.writes)
            return Data.of(*own) | self.tie(task.id)
        found = self.choice(block) if is_choice(block) else Data()
        for part in block.parts:
            found |= self.data(part)
        return found

    def depend(self, one: Block, other: Block) -> bool:
        """Return whether the order of two blocks matters, by data or by a constraint."""
        return depend(self.data(one), self.data(other))

    def tie(self, node: str | None) -> Data:
        """Return what keeps a node in its order with others, as if it were data."""
        return Data(writes=self._ties[node or ""])

    def choice(self, block: Block) -> Data:
        """Return what a choice reads: the names in its predicates, or what the task that chooses reads."""
        assert isinstance(block, Branches | Loop)
        stated = [one.predicate for one in block.choices if one.predicate is not None]
        # One way, the default, needs no predicate.
        if len(stated) >= len(block.choices) - 1:
            try:
                read = frozenset(name[0] for one in stated for name in names(parse(one)))
            except WorkflowError:
                return UNKNOWN
            return Data.of(read, frozenset()) | self.tie(block.split)
        task = self.net.tasks.get(block.split or "")
        known = (
            task is not None and task.reads is not None and (task.label is None or task.writes is not None)
        )
        return self.tie(block.split) if known else UNKNOWN


# Atoms ------------------------------------------------------------------------------------------------


def fused(parts: Iterable[Block]) -> list[Block]:
    """Join each choice with what decides it: the node before it, or the loop with the same gate."""
    found: list[Block] = []
    for part in parts:
        if found and isinstance(part, Branches) and is_choice(part) and part.split is not None:
            last = parts_of(found[-1])[-1] if parts_of(found[-1]) else found[-1]
            gate = last.node if isinstance(last, Step) else last.split if isinstance(last, Loop) else None
            if gate == part.split:
                found[-1] = sequence((found[-1], part))
                continue
        found.append(part)
    return found


class Atoms:
    """The parts of a block that are moved as a whole: tasks, choices with the task that decides, loops."""

    def __init__(self, facts: Facts, block: Block) -> None:
        self.atoms: list[Block] = []
        self.before: list[int] = []
        """For each atom, those that come before it, as bits."""
        self._add(block, 0)
        self.depends = dependents(facts.data(one) for one in self.atoms)
        """For each atom, the earlier listed ones it depends on, whether they come before it or run in parallel."""
        self.needs = [one & before for one, before in zip(self.depends, self.before, strict=True)]
        """For each atom, those before it that it depends on."""

    def _add(self, block: Block, before: int) -> int:
        added = 0
        for part in fused(parts_of(block)):
            if is_parallel(part):
                inside = 0
                for way in part.parts:
                    inside |= self._add(way, before | added)
                added |= inside
            elif part != NOTHING:
                bit = 1 << len(self.atoms)
                self.atoms.append(part)
                self.before.append(before | added)
                added |= bit
        return added
