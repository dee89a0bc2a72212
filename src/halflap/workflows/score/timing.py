"""How long a workflow takes, what it costs, and how much runs in parallel.

Choices and loops follow the probabilities of their flows. Means add up, so they are exact for a tree, unless something random
runs in parallel, or parallel branches share a resource: then cases are simulated, or only estimated during a search.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.footprint import bits_of
from halflap.workflows.analysis.order import dependents
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.answers import Measured, Times
from halflap.workflows.model.block import (
    Block,
    Branches,
    Loop,
    Sequence,
    Step,
    blocks_in,
    is_choice,
    remembered,
)
from halflap.workflows.score.facts import Atoms, Facts
from halflap.workflows.score.simulate import Case, EndlessError, Simulation

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.net import Net

_MAX_CHAIN = 1_000
"""In a longer case, each task counts as waiting for the one before."""
_NEARLY_ALWAYS = 1 - 1e-6
"""A loop that repeats with a higher probability than this counts as endless."""


def repeat_probability(loop: Loop) -> float:
    """Return the probability of another repetition; raises `EndlessError` if it is nearly 1."""
    if loop.back > _NEARLY_ALWAYS:
        raise EndlessError(
            f"The loop at '{loop.split}' is never left, or hardly ever: "
            f"it repeats with probability {loop.back:.10g}."
        )
    return loop.back


def longest(chances: Iterable[float], times: Iterable[float]) -> float:
    """Return the mean of the longest of those that happen: each independently by its probability, and at least one."""
    found, none = 0.0, 1.0
    for time, chance in sorted(zip(times, chances, strict=True), reverse=True):
        found += none * chance * time
        none *= 1 - chance
    return found / (1 - none) if none < 1 else 0.0


def counts(block: Block) -> list[float]:
    """Return how often each part of a block is done, on average."""
    if isinstance(block, Loop):
        back = repeat_probability(block)
        return [1 / (1 - back), back / (1 - back)]
    if not isinstance(block, Branches):
        return [1.0] * len(block.parts)
    some = 1 - math.prod(1 - p for p in block.chances) if block.kind == "or" else 1.0
    return [p / some for p in block.chances]


class Timing:
    """Mean times of blocks. Where random blocks run in parallel, they are estimates."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    @remembered
    def mean(self, block: Block) -> float:
        """Return the mean duration: in parallel the longest mean, or the load of one resource."""
        if isinstance(block, Step):
            return self.facts.duration[block.node]
        means = [self.mean(part) for part in block.parts]
        if isinstance(block, Branches) and block.kind != "xor":
            return max(longest(block.chances, means), *self.load(block).values(), 0.0)
        return sum(times * mean for times, mean in zip(counts(block), means, strict=True) if times)

    @remembered
    def is_exact(self, block: Block) -> bool:
        lasting = [part for part in block.parts if self.mean(part)]
        if isinstance(block, Branches) and block.kind != "xor" and len(lasting) > 1:
            resources = [resource for part in lasting for resource in self.load(part)]
            is_random = any(is_choice(one) for part in lasting for one in blocks_in(part))
            if is_random or len({*resources}) < len(resources):
                return False
        return all(self.is_exact(part) for part in block.parts)

    @remembered
    def visits(self, block: Block) -> Mapping[str, float]:
        """Return how often each node of a block is done, on average."""
        if isinstance(block, Step):
            return {block.node: 1.0}
        found: defaultdict[str, float] = defaultdict(float)
        for part, times in zip(block.parts, counts(block), strict=True):
            for node, count in self.visits(part).items():
                found[node] += times * count
        return found

    @remembered
    def load(self, block: Block) -> Mapping[str, float]:
        """Return how long each resource works on a block, on average."""
        found: defaultdict[str, float] = defaultdict(float)
        for node, times in self.visits(block).items():
            resource = self.facts.resource(node)
            if resource is not None:
                found[resource] += times * self.facts.duration[node]
        return found

    @remembered
    def width(self, block: Block) -> int:
        """Return how many tasks can run at the same time."""
        if isinstance(block, Step):
            return 0 if self.facts.routes(block.node) else 1
        widths = [self.width(part) for part in block.parts]
        parallel = isinstance(block, Branches) and block.kind != "xor"
        return sum(widths) if parallel else max(widths, default=0)


# The critical path ------------------------------------------------------------------------------------


def chain_ends(needs: Iterable[int], times: Iterable[float]) -> list[float]:
    """Return when each would end if it waited only for those before it that it needs, given as bits."""
    ends: list[float] = []
    latest = 0.0
    for at, (needed, time) in enumerate(zip(needs, times, strict=True)):
        start = (
            latest if needed == (1 << at) - 1 else max((ends[one] for one in bits_of(needed)), default=0.0)
        )
        ends.append(start + time)
        latest = max(latest, ends[-1])
    return ends


def critical_path(facts: Facts, block: Block) -> float:
    """Return the mean length of the longest chain of dependent tasks in a block; resources are ignored."""
    atoms = Atoms(facts, block)
    return max(chain_ends(atoms.needs, (_expected(facts, one) for one in atoms.atoms)), default=0.0)


def _expected(facts: Facts, block: Block) -> float:
    """Return the critical path of an atom; a choice counts by its probabilities."""
    if isinstance(block, Step):
        return facts.duration[block.node]
    if isinstance(block, Sequence):
        return sum(_expected(facts, part) for part in block.parts)
    inside = [critical_path(facts, part) for part in block.parts]
    if isinstance(block, Branches) and block.kind == "or":
        return longest(block.chances, inside)
    return sum(times * one for times, one in zip(counts(block), inside, strict=True))


# The whole --------------------------------------------------------------------------------------------


def performance(study: Study, facts: Facts, timing: Timing | None = None, *, quick: bool = False) -> Times:
    """Return the times of a workflow; quick ones may be estimates."""
    try:
        found = (
            _by_cases(study, facts)
            if study.block is None
            else _by_blocks(study, study.block, timing or Timing(facts), quick)
        )
        if not all(math.isfinite(one or 0.0) for one in found.values() if not isinstance(one, str)):
            found = {"problem": "Durations or costs are too large to be summed."}
    except (WorkflowError, EndlessError, OverflowError) as error:
        found = {"problem": str(error)}
    known = dict.fromkeys(Measured.model_fields) | found
    return Times(assumed_durations=facts.timeless, unknown_data=facts.undeclared, **known)


def _by_blocks(study: Study, block: Block, timing: Timing, quick: bool) -> dict[str, Any]:
    makespan, error, method = timing.mean(block), None, "exact"
    if not timing.is_exact(block):
        simulation = Simulation(study, timing.facts)
        if quick and simulation.random:
            method = "estimated"
        else:
            makespan, error = simulation.makespan()
            method = "simulated" if simulation.random else "exact"
    return {
        "critical_path": critical_path(timing.facts, block),
        "expected_makespan": makespan,
        "expected_cost": sum(times * timing.facts.cost(node) for node, times in timing.visits(block).items()),
        "max_parallel": timing.width(block),
        "method": method,
        "standard_error": error,
    }


def _by_cases(study: Study, facts: Facts) -> dict[str, Any]:
    judged = soundness(study)
    if not judged.sound:
        why = judged.failures[0].message if judged.failures else judged.problem
        what = "it is not sound" if judged.sound is False else "its soundness is unknown"
        return {"problem": f"The makespan is unknown, since {what}: {why}"}
    simulation = Simulation(study, facts)
    makespan, error = simulation.makespan()
    chains = [_case_path(study.net, facts, case) for case in simulation.cases]
    count = len(simulation.cases)
    return {
        "critical_path": sum(chains) / count,
        "expected_makespan": makespan,
        "expected_cost": sum(facts.cost(node) for case in simulation.cases for node in case.done) / count,
        "max_parallel": max(case.width for case in simulation.cases),
        "method": "simulated" if simulation.random else "exact",
        "standard_error": error,
    }


def _case_path(net: Net, facts: Facts, case: Case) -> float:
    """Return the length of the longest chain of dependent tasks in a case; everything after a choice waits for it."""
    if len(case.done) > _MAX_CHAIN:
        return case.clock
    outgoing = net.outgoing()
    needs: list[int] = []
    deciders = 0
    for at, needed in enumerate(dependents(facts.data(Step(node=node)) for node in case.done)):
        needs.append(needed | deciders)
        deciders |= net.chooses(case.done[at], outgoing[case.done[at]]) << at
    return min(case.clock, max(chain_ends(needs, [facts.duration[node] for node in case.done]), default=0.0))
