"""How long a workflow takes against how long its data would let it: the critical path by the expected makespan."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.workflows.soundness import soundness
from halflap.workflows.timing.clock import EndlessError
from halflap.workflows.timing.critical import critical_path
from halflap.workflows.timing.makespan import SAMPLES, SEED, Timing
from halflap.workflows.timing.tokens import StuckError, simulated

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from halflap.workflows.pieces.facts import Facts
    from halflap.workflows.pieces.piece import Layout
    from halflap.workflows.study import Study
    from halflap.workflows.timing.makespan import Method

__all__ = ["Performance", "performance", "performance_by_pieces"]

_TOO_LARGE = "How long it takes can't be said: durations or costs are too large to be summed."


@dataclass(frozen=True, slots=True)
class Performance:
    """What was found of a workflow's times; None, with the reason, where nothing can be said."""

    score: float | None
    critical_path: float | None = None
    makespan: float | None = None
    cost: float | None = None
    width: int | None = None
    """How many tasks can be under way at once."""
    method: Method | None = None
    """How the makespan was found; None where there is none."""
    error: float | None = None
    """The standard error of the makespan, where the whole was played out by chance."""
    problem: str | None = None


def performance(study: Study, layout: Layout, facts: Facts, timing: Timing | None = None) -> Performance:
    """Find the times of a workflow; one that is not made of blocks is played out, if it is sound."""
    if layout.piece is not None:
        return performance_by_pieces(layout, facts, timing or Timing(facts))
    judged = soundness(study)
    if not judged.sound:
        why = judged.problem or (judged.failures[0].why if judged.failures else "")
        what = "it is not sound" if judged.sound is False else "it is not known to be sound"
        return Performance(None, problem=f"How long it takes can't be said, since {what}: {why}")
    return _by_cases(study.net, facts)


def performance_by_pieces(layout: Layout, facts: Facts, timing: Timing) -> Performance:
    """Find the times of a workflow that is made of blocks."""
    piece = layout.piece
    assert piece is not None
    found = timing.time(piece)
    if found.value is None:
        return Performance(None, problem=found.problem)
    shortest = critical_path(facts, piece)
    return _finite(
        Performance(
            _share(shortest, found.value),
            shortest,
            found.value,
            timing.cost(piece),
            timing.width(piece),
            found.method,
        )
    )


def _by_cases(net: Net, facts: Facts) -> Performance:
    try:
        cases = simulated(net, facts, SAMPLES, SEED)
    except StuckError as error:
        why = f"A case by chance went no further than {error}: a choice that is made too early can't be played out."
        return Performance(None, problem=why)
    except EndlessError as error:
        return Performance(None, problem=str(error))
    except WorkflowError as error:
        return Performance(None, problem=str(error))
    except OverflowError:
        return Performance(None, problem=_TOO_LARGE)
    return _finite(
        Performance(
            _share(cases.critical, cases.time),
            cases.critical,
            cases.time,
            cases.cost,
            cases.width,
            "simulated",
            cases.error,
        )
    )


def _finite(one: Performance) -> Performance:
    """Give the times, if they are numbers; the form refuses durations that are too large, and not all come from there."""
    numbers = (one.critical_path, one.makespan, one.cost, one.error)
    return (
        one if all(math.isfinite(each or 0.0) for each in numbers) else Performance(None, problem=_TOO_LARGE)
    )


def _share(shortest: float, makespan: float) -> float:
    return min(1.0, shortest / makespan) if makespan > 0 else 1.0
