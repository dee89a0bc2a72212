"""Soundness: every case can end, ends with nothing left over, and every task can happen.

A block-structured net is sound by construction. Otherwise every state is explored, up to a bound; each failure comes with a trace to it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.core.text import join
from halflap.workflows.analysis.states import bits_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.workflows.analysis.states import Space
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.net import Net

__all__ = ["Failure", "FailureKind", "Soundness", "soundness"]

FailureKind = Literal["option_to_complete", "proper_completion", "dead_task", "unbounded"]


@dataclass(frozen=True, slots=True)
class Failure:
    """One way in which a net is unsound, with the trace that shows it."""

    kind: FailureKind
    why: str
    trace: tuple[str, ...]
    """Task ids from the start to where it shows."""
    marking: Mapping[str, int]
    """The tokens there: conditions by id, and `a -> b` for the one between two tasks."""
    task: str | None = None
    """The dead task."""

    @property
    def sentence(self) -> str:
        return f"After {', '.join(self.trace)}: {self.why}" if self.trace else self.why


@dataclass(frozen=True, slots=True)
class Soundness:
    """What is known; None where it is not."""

    sound: bool | None
    option_to_complete: bool | None
    proper_completion: bool | None
    no_dead_tasks: bool | None
    failures: tuple[Failure, ...] = ()
    method: Literal["blocks", "states"] = "states"
    problem: str | None = None
    """Why something is not known."""


_BY_BLOCKS = Soundness(
    sound=True, option_to_complete=True, proper_completion=True, no_dead_tasks=True, method="blocks"
)


def soundness(study: Study) -> Soundness:
    if study.block is not None:
        return _BY_BLOCKS
    net, space = study.net, study.space
    whole = space.problem is None
    stuck, stuck_known = _stuck(net, space)
    left_over = _left_over(space)
    failures = [one for one in (stuck, left_over, _growing(space)) if one is not None]
    fired = {space.machine.steps[step].task for steps in space.steps for step, _ in steps}
    never = [task for task in net.tasks if task not in fired]
    dead = [_dead(space, task) for task in never] if whole else []
    failures += dead
    return Soundness(
        sound=False if failures else (True if whole else None),
        option_to_complete=False if stuck else (True if stuck_known else None),
        proper_completion=False if left_over else (True if whole else None),
        no_dead_tasks=not dead if whole else (True if not never else None),
        failures=tuple(failures),
        problem=space.problem,
    )


def _stuck(net: Net, space: Space) -> tuple[Failure | None, bool]:
    """Find a state from which the output cannot be reached; also return whether that is known."""
    dead_ends = (
        state for state, steps in enumerate(space.steps) if not steps and not space.reaches_end(state)
    )
    state = next(dead_ends, None)
    if state is not None:
        return _failure(
            "option_to_complete", f"Nothing can happen: {_waiting(net, space, state)}.", space, state
        ), True
    if space.problem is not None:
        return None, False
    every = range(len(space.markings))
    fine = space.leading_to({state for state in every if space.reaches_end(state)})
    state = next((state for state in every if state not in fine), None)
    if state is None:
        return None, True
    endless = join(f"'{task}'" for task in sorted(_tasks_from(space, state)))
    why = f"The output can no longer be reached; only {endless} can happen, without end."
    return _failure("option_to_complete", why, space, state), True


def _tasks_from(space: Space, state: int) -> set[str]:
    seen = {state}
    waiting = [state]
    found: set[str] = set()
    for one in waiting:
        for step, target in space.steps[one]:
            task = space.machine.steps[step].task
            found |= set() if task is None else {task}
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return found


def _waiting(net: Net, space: Space, state: int) -> str:
    """Describe which tasks have some of the tokens they wait for, and what they lack."""
    marked = space.markings[state].places
    lacking: dict[str, list[str]] = {}
    for step in space.machine.steps:
        missing = [f"'{space.machine.places[place]}'" for place in step.takes if not marked >> place & 1]
        if step.task is not None and len(missing) < len(step.takes):
            lacking.setdefault(step.task, missing)
    waits = [f"'{task}' waits for {join(lacking[task])}" for task in net.tasks if lacking.get(task)]
    return "; ".join(waits) or "no task takes the tokens that are left"


def _left_over(space: Space) -> Failure | None:
    alone = 1 << space.machine.end
    for state, marking in enumerate(space.markings):
        if space.reaches_end(state) and (marking.places != alone or marking.more):
            beside = bits_of(marking.places & ~alone) or [
                one for one in marking.more if one != space.machine.end
            ]
            why = (
                f"The output is reached while a token is left in {_places(space, beside)}."
                if beside
                else "The output is reached more than once."
            )
            return _failure("proper_completion", why, space, state)
    return None


def _growing(space: Space) -> Failure | None:
    if space.unbounded is None:
        return None
    smaller, larger = space.unbounded
    grown = _tokens(space, larger)
    grown.subtract(_tokens(space, smaller))
    piling = join(f"'{name}'" for name, count in grown.items() if count > 0)
    again = space.way_to(larger)[len(space.way_to(smaller)) :]
    repeated = join(dict.fromkeys(f"'{step.task}'" for step in again if step.task is not None))
    why = f"{repeated or 'The last step'} can be repeated, and each time adds a token in {piling}."
    return _failure("unbounded", why, space, larger)


def _dead(space: Space, task: str) -> Failure:
    """Explain why a task never happens: the nearest that any state comes to it, and what is missing then."""
    ways = [step.takes for step in space.machine.steps if step.task == task]
    if not ways:
        return _failure("dead_task", f"'{task}' never happens: no flow leads to it.", space, 0, task)

    def missing(state: int) -> list[int]:
        marked = space.markings[state].places
        lacking = ([place for place in takes if not marked >> place & 1] for takes in ways)
        return min(lacking, key=len)

    nearest = min(range(len(space.markings)), key=lambda state: (_lacks(space, state, ways), state))
    why = f"'{task}' never happens: after this trace there is no token in {_places(space, missing(nearest))}."
    return _failure("dead_task", why, space, nearest, task)


def _lacks(space: Space, state: int, ways: list[tuple[int, ...]]) -> int:
    """Return, negated, how many of the tokens that a task needs are there at most."""
    return -max(sum(space.markings[state].places >> place & 1 for place in takes) for takes in ways)


def _places(space: Space, places: Iterable[int]) -> str:
    return join(f"'{space.machine.places[place]}'" for place in sorted(set(places)))


def _tokens(space: Space, state: int) -> Counter[str]:
    marking = space.markings[state]
    return Counter(space.machine.places[place] for place in (*bits_of(marking.places), *marking.more))


def _failure(kind: FailureKind, why: str, space: Space, state: int, task: str | None = None) -> Failure:
    trace = tuple(step.task for step in space.way_to(state) if step.task is not None)
    return Failure(kind, why, trace, dict(_tokens(space, state)), task)
