"""How long a block takes, what it costs, and how much runs at once.

A choice goes by the probabilities of its flows, a loop is left with that of the flow out of it. In parallel the mean of the longest counts, not the
longest mean. Branches that share a resource are not independent: their block is simulated, or only estimated where that has to be quick.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.model.block import Block, Branches, Loop, Sequence, Step, inner, remembered
from halflap.workflows.model.build import build
from halflap.workflows.model.reduce import whole
from halflap.workflows.score.critical import EndlessError, critical_path, or_chances, way_back
from halflap.workflows.score.durations import Durations, certain, longest, mixed, repeated, shares
from halflap.workflows.score.simulate import SAMPLES, StuckError, simulate

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.score.facts import Facts

__all__ = ["Method", "Performance", "Timing", "performance"]

Method = Literal["exact", "simulated", "estimated"]


class Timing:
    """Times of blocks; each is computed once."""

    def __init__(self, facts: Facts, *, quick: bool = False) -> None:
        """Begin; a `quick` one simulates nothing, but estimates."""
        self.facts = facts
        self.quick = quick

    @remembered
    def mean(self, block: Block) -> tuple[float, bool]:
        """Return the mean duration and whether it is exact; raises `EndlessError` for a loop that is never left."""
        if isinstance(block, Step) or (isinstance(block, Branches) and block.kind != "xor"):
            times = self.durations(block)
            return times.mean, times.exact
        parts = [(times, *self.mean(part)) for part, times in self._counts(block) if times]
        return sum(times * time for times, time, _ in parts), all(exact for *_, exact in parts)

    @remembered
    def durations(self, block: Block) -> Durations:
        match block:
            case Step():
                return certain(self.facts.duration(block.node))
            case Sequence(parts):
                found = certain(0.0)
                for part in parts:
                    found += self.durations(part)
                return found
            case Loop():
                return repeated(
                    self.durations(block.body), self.durations(block.again.block), way_back(block)
                )
            case Branches(kind="xor"):
                inside = [self.durations(way.block) for way in block.ways]
                return mixed(zip(shares([way.weight for way in block.ways]), inside, strict=True))
            case Branches():
                return self._parallel(block)

    def _parallel(self, block: Branches) -> Durations:
        if self._share_a_resource(block):
            if self.quick:
                return Durations(((self.estimate(block), 1.0),), exact=False)
            return simulate(build(self.facts.net, whole(self.facts.net, block)), self.facts).durations
        chances = [1.0] * len(block.ways) if block.kind == "and" else or_chances(block)
        inside = [self.durations(way.block) for way in block.ways]
        return longest([(p, one) for p, one in zip(chances, inside, strict=True) if p])

    @remembered
    def estimate(self, block: Block) -> float:
        """Estimate the mean duration: in parallel the longest mean, or what one resource has to do."""
        if isinstance(block, Step):
            return self.facts.duration(block.node)
        if isinstance(block, Branches) and block.kind != "xor":
            means = [certain(self.estimate(way.block)) for way in block.ways]
            chances = [1.0] * len(means) if block.kind == "and" else or_chances(block)
            expected = longest([(p, time) for p, time in zip(chances, means, strict=True) if p]).mean
            return max(expected, *self.load(block).values(), 0.0)
        return sum(times * self.estimate(part) for part, times in self._counts(block))

    @remembered
    def load(self, block: Block) -> dict[str, float]:
        """Return how long each resource works on a block, on average."""
        if isinstance(block, Step):
            own = self.facts.resource(block.node)
            return {} if own is None else {own: self.facts.duration(block.node)}
        found: dict[str, float] = {}
        for part, times in self._counts(block):
            for resource, time in self.load(part).items():
                found[resource] = found.get(resource, 0.0) + times * time
        return found

    @remembered
    def cost(self, block: Block) -> float:
        """Return the mean cost; an undeclared cost is 0."""
        own = self.facts.cost(block.node) if isinstance(block, Step) else 0.0
        return own + sum(times * self.cost(part) for part, times in self._counts(block))

    @remembered
    def width(self, block: Block) -> int:
        """Return how many tasks can be under way at once."""
        if isinstance(block, Step):
            return 0 if self.facts.routes(block.node) else 1
        widths = [self.width(part) for part in inner(block)]
        parallel = isinstance(block, Branches) and block.kind != "xor"
        return sum(widths) if parallel else max(widths, default=0)

    @remembered
    def shares_resources(self, block: Block) -> bool:
        """Return whether branches anywhere in a block share a resource."""
        own = isinstance(block, Branches) and self._share_a_resource(block)
        return own or any(self.shares_resources(part) for part in inner(block))

    def _share_a_resource(self, block: Branches) -> bool:
        seen: set[str] = set()
        for way in block.ways if block.kind != "xor" else ():
            needs = {one for node in self.facts.steps(way.block) if (one := self.facts.resource(node))}
            if not seen.isdisjoint(needs):
                return True
            seen |= needs
        return False

    @staticmethod
    def _counts(block: Block) -> list[tuple[Block, float]]:
        """Return the parts of a block and how often each is done, on average."""
        match block:
            case Loop():
                back = way_back(block)
                return [(block.body, 1 / (1 - back)), (block.again.block, back / (1 - back))]
            case Branches(kind="xor"):
                chances = shares([way.weight for way in block.ways])
            case Branches(kind="or"):
                chances = or_chances(block)
                some = 1 - math.prod(1 - p for p in chances)
                chances = [p / some for p in chances]
            case _:
                return [(part, 1.0) for part in inner(block)]
        return [(way.block, p) for way, p in zip(block.ways, chances, strict=True)]


@dataclass(frozen=True, slots=True)
class Performance:
    """The times of a workflow; None where they are unknown."""

    score: float | None
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


def performance(study: Study, facts: Facts, timing: Timing | None = None) -> Performance:
    """Return the times of a workflow; of a quick `timing` they may be estimates."""
    try:
        if study.block is not None:
            found = _by_blocks(study.block, facts, timing or Timing(facts))
        else:
            found = _by_states(study, facts)
    except EndlessError as error:
        return Performance(None, problem=str(error))
    except StuckError as error:
        return Performance(None, problem=f"A simulated case went no further than {error}.")
    except (WorkflowError, OverflowError) as error:
        return Performance(None, problem=str(error))
    if not all(math.isfinite(one or 0.0) for one in (found.critical_path, found.makespan, found.cost)):
        return Performance(None, problem="Durations or costs are too large to be summed.")
    return found


def _by_blocks(block: Block, facts: Facts, timing: Timing) -> Performance:
    shortest = critical_path(facts, block)
    makespan, exact = timing.mean(block)
    sampled = timing.shares_resources(block) and not timing.quick
    method: Method = "exact" if exact else "simulated" if sampled else "estimated"
    error = timing.durations(block).deviation / math.sqrt(SAMPLES) if method == "simulated" else None
    cost, width = timing.cost(block), timing.width(block)
    return Performance(_share(shortest, makespan), shortest, makespan, cost, width, method, error)


def _by_states(study: Study, facts: Facts) -> Performance:
    judged = soundness(study)
    if not judged.sound:
        why = judged.problem or judged.failures[0].why
        what = "it is not sound" if judged.sound is False else "its soundness is unknown"
        return Performance(None, problem=f"The makespan is unknown, since {what}: {why}")
    cases = simulate(study.net, facts, critical=True)
    makespan, critical = cases.durations.mean, cases.critical
    method: Method = "simulated" if cases.sampled else "exact"
    error = cases.durations.deviation / math.sqrt(SAMPLES) if cases.sampled else None
    return Performance(_share(critical, makespan), critical, makespan, cases.cost, cases.width, method, error)


def _share(shortest: float, makespan: float) -> float:
    return min(1.0, shortest / makespan) if makespan > 0 else 1.0
