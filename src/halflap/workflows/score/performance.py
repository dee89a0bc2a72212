"""Performance: the critical path divided by the expected makespan of a case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.score.critical import EndlessError, critical_path
from halflap.workflows.score.simulate import StuckError, simulate
from halflap.workflows.score.timing import SAMPLES, Timing

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.block import Block
    from halflap.workflows.score.facts import Facts

__all__ = ["Method", "Performance", "performance"]

Method = Literal["exact", "simulated", "estimated"]
_EVERY_CASE = 64
"""Up to so many cases of a net that is not block-structured are all played."""


@dataclass(frozen=True, slots=True)
class Performance:
    """The times of a workflow; None where they are unknown."""

    score: float | None
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
    cases = simulate(study.net, facts, exhaustive=_EVERY_CASE, samples=SAMPLES, critical=True)
    assert cases is not None
    method: Method = "simulated" if cases.sampled else "exact"
    error = cases.durations.deviation / math.sqrt(SAMPLES) if cases.sampled else None
    makespan = cases.durations.mean
    score = _share(cases.critical, makespan)
    return Performance(score, cases.critical, makespan, cases.cost, cases.width, method, error)


def _share(shortest: float, makespan: float) -> float:
    return min(1.0, shortest / makespan) if makespan > 0 else 1.0
