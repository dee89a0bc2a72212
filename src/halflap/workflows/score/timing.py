"""How long a workflow takes, what it costs, and how much runs at once.

A choice goes by the probabilities of its flows, a loop is left with that of the flow out of it. Means add up, so a tree tells them exactly, unless
something random runs in parallel, or parallel branches share a resource: then cases are simulated, or only estimated where that has to be quick.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.model.block import (
    NOTHING,
    Block,
    Branches,
    Loop,
    Sequence,
    Step,
    blocks_in,
    is_choice,
    parts_of,
    remembered,
)
from halflap.workflows.score.facts import Facts, fused
from halflap.workflows.score.simulate import EndlessError, Simulation

if TYPE_CHECKING:
    from halflap.workflows.analysis.order import Data
    from halflap.workflows.analysis.study import Study

Method = Literal["exact", "simulated", "estimated"]
_NEARLY_ALWAYS = 1 - 1e-6
"""A loop whose way back is more likely than this has no end one could wait for."""


def way_back(loop: Loop) -> float:
    """Return the probability of the way back; raises `EndlessError` if it is nearly always taken."""
    if loop.back > _NEARLY_ALWAYS:
        raise EndlessError(
            f"The loop at '{loop.split}' is never left, or hardly ever: "
            f"the way back is taken with probability {loop.back:.10g}."
        )
    return loop.back


def longest(chances: Iterable[float], times: Iterable[float]) -> float:
    """Return the mean of the longest of those that happen: each with its own probability, and at least one of them."""
    found, none = 0.0, 1.0
    for time, chance in sorted(zip(times, chances, strict=True), reverse=True):
        found += none * chance * time
        none *= 1 - chance
    return found / (1 - none) if none < 1 else 0.0


def counts(block: Block) -> list[float]:
    """Return how often each part of a block is done, on average."""
    if isinstance(block, Loop):
        back = way_back(block)
        return [1 / (1 - back), back / (1 - back)]
    if not isinstance(block, Branches):
        return [1.0] * len(block.parts)
    some = 1 - math.prod(1 - p for p in block.chances) if block.kind == "or" else 1.0
    return [p / some for p in block.chances]


class Timing:
    """Mean times of blocks; each is computed once. What is random and runs in parallel is estimated."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    @remembered
    def mean(self, block: Block) -> float:
        """Return the mean duration: in parallel the longest mean, or what one resource has to do."""
        if isinstance(block, Step):
            return self.facts.duration(block.node)
        means = [self.mean(part) for part in block.parts]
        if isinstance(block, Branches) and block.kind != "xor":
            return max(longest(block.chances, means), *self.load(block).values(), 0.0)
        return sum(times * mean for times, mean in zip(counts(block), means, strict=True) if times)

    @remembered
    def is_exact(self, block: Block) -> bool:
        lasting = [part for part in block.parts if self.mean(part)]
        if isinstance(block, Branches) and block.kind != "xor" and len(lasting) > 1:
            random = any(is_choice(one) for part in lasting for one in blocks_in(part))
            seen: set[str] = set()
            for part in lasting:
                needs = {one for node in self.facts.steps(part) if (one := self.facts.resource(node))}
                if random or not seen.isdisjoint(needs):
                    return False
                seen |= needs
        return all(self.is_exact(part) for part in block.parts)

    @remembered
    def load(self, block: Block) -> dict[str, float]:
        """Return how long each resource works on a block, on average."""
        if isinstance(block, Step):
            own = self.facts.resource(block.node)
            return {} if own is None else {own: self.facts.duration(block.node)}
        found: dict[str, float] = {}
        for part, times in zip(block.parts, counts(block), strict=True):
            for resource, time in self.load(part).items():
                found[resource] = found.get(resource, 0.0) + times * time
        return found

    @remembered
    def cost(self, block: Block) -> float:
        """Return the mean cost; an undeclared cost is 0."""
        if isinstance(block, Step):
            return self.facts.cost(block.node)
        return sum(times * self.cost(part) for part, times in zip(block.parts, counts(block), strict=True))

    @remembered
    def width(self, block: Block) -> int:
        """Return how many tasks can be under way at once."""
        if isinstance(block, Step):
            return 0 if self.facts.routes(block.node) else 1
        widths = [self.width(part) for part in block.parts]
        parallel = isinstance(block, Branches) and block.kind != "xor"
        return sum(widths) if parallel else max(widths, default=0)


# The critical path ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Chain:
    """When everything that was done so far would have ended, had it waited only for the data it needs."""

    end: float = 0.0
    floor: float = 0.0
    """Nothing more begins before this: what has undeclared data depends on everything."""
    wrote: dict[str, float] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)
    """When each name was last written, and last read or written."""

    def add(self, data: Data, time: float, *, decides: bool = False) -> None:
        known = data.reads is not None and data.writes is not None
        reads, writes = data.reads or frozenset(), data.writes or frozenset()
        waits = [self.wrote.get(name, 0.0) for name in reads] + [self.used.get(name, 0.0) for name in writes]
        end = max(self.floor, *waits, 0.0 if known else self.end) + time
        if not known or decides:
            self.floor = max(self.floor, end)
        for name in writes:
            self.wrote[name] = max(end, self.wrote.get(name, 0.0))
        for name in reads | writes:
            self.used[name] = max(end, self.used.get(name, 0.0))
        self.end = max(self.end, end)

    def branch(self) -> Chain:
        return Chain(self.end, self.floor, dict(self.wrote), dict(self.used))

    def join(self, branch: Chain) -> None:
        self.end, self.floor = max(self.end, branch.end), max(self.floor, branch.floor)
        for mine, yours in ((self.wrote, branch.wrote), (self.used, branch.used)):
            mine.update({name: end for name, end in yours.items() if end > mine.get(name, 0.0)})


def critical_path(facts: Facts, block: Block) -> float:
    """Return how long a block takes at least, on average: the longest chain of dependent tasks. Resources do not count."""
    chain = Chain()
    _follow(facts, block, chain)
    return chain.end


def _follow(facts: Facts, block: Block, chain: Chain) -> None:
    for part in fused(parts_of(block)):
        if isinstance(part, Branches) and part.kind == "and":
            branches = [chain.branch() for _ in part.parts]
            for way, branch in zip(part.parts, branches, strict=True):
                _follow(facts, way, branch)
            for branch in branches:
                chain.join(branch)
        elif part != NOTHING:
            chain.add(facts.data(part), _expected(facts, part))


def _expected(facts: Facts, block: Block) -> float:
    """Return the critical path of what is taken as a whole; a choice counts by its probabilities."""
    if isinstance(block, Step):
        return facts.duration(block.node)
    if isinstance(block, Sequence):
        return sum(_expected(facts, part) for part in block.parts)
    inside = [critical_path(facts, part) for part in block.parts]
    if isinstance(block, Branches) and block.kind == "or":
        return longest(block.chances, inside)
    return sum(times * one for times, one in zip(counts(block), inside, strict=True))


# The whole --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Performance:
    """The times of a workflow; None where they are unknown."""

    score: float | None = None
    """The critical path divided by the expected makespan."""
    critical_path: float | None = None
    makespan: float | None = None
    cost: float | None = None
    width: int | None = None
    """How many tasks can be under way at once."""
    method: Method | None = None
    error: float | None = None
    """The standard error of a simulated makespan."""
    problem: str | None = None


def performance(
    study: Study, facts: Facts, timing: Timing | None = None, *, quick: bool = False
) -> Performance:
    """Return the times of a workflow; quick ones may be estimates."""
    try:
        if study.block is None:
            found = _by_cases(study, facts)
        else:
            found = _by_blocks(study, study.block, facts, timing or Timing(facts), quick=quick)
    except (WorkflowError, EndlessError, OverflowError) as error:
        return Performance(problem=str(error))
    if not all(math.isfinite(one or 0.0) for one in (found.critical_path, found.makespan, found.cost)):
        return Performance(problem="Durations or costs are too large to be summed.")
    return found


def _by_blocks(study: Study, block: Block, facts: Facts, timing: Timing, *, quick: bool) -> Performance:
    shortest, makespan = critical_path(facts, block), timing.mean(block)
    method: Method = "exact"
    error = None
    if not timing.is_exact(block):
        simulation = Simulation(study, facts)
        if quick and simulation.random:
            method = "estimated"
        else:
            makespan, error = simulation.makespan()
            method = "simulated" if simulation.random else "exact"
    cost, width = timing.cost(block), timing.width(block)
    return Performance(_share(shortest, makespan), shortest, makespan, cost, width, method, error)


def _by_cases(study: Study, facts: Facts) -> Performance:
    judged = soundness(study)
    if not judged.sound:
        why = judged.problem or judged.failures[0].why
        what = "it is not sound" if judged.sound is False else "its soundness is unknown"
        return Performance(problem=f"The makespan is unknown, since {what}: {why}")
    simulation = Simulation(study, facts)
    makespan, error = simulation.makespan()
    chains = []
    for case in simulation.cases:
        chain = Chain()
        for node in case.done:
            decides = study.net.chooses(node, simulation.outgoing[node])
            chain.add(facts.data(Step(node=node)), facts.duration(node), decides=decides)
        chains.append(min(chain.end, case.clock))
    count = len(simulation.cases)
    critical, cost = sum(chains) / count, sum(case.cost for case in simulation.cases) / count
    width = max(case.width for case in simulation.cases)
    method: Method = "exact" if error is None else "simulated"
    return Performance(_share(critical, makespan), critical, makespan, cost, width, method, error)


def _share(shortest: float, makespan: float) -> float:
    return min(1.0, shortest / makespan) if makespan > 0 else 1.0
