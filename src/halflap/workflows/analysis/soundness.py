"""Soundness: every case can end, ends with nothing left over, and every task can happen.

A block-structured net is sound by construction. Otherwise every state is explored, up to a bound; each failure comes with a trace to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import Failure, FailureKind
from halflap.workflows.model.net import quoted

if TYPE_CHECKING:
    from halflap.workflows.analysis.states import StateSpace


@dataclass(frozen=True, slots=True)
class Soundness:
    """What is known; None where it is not."""

    sound: bool | None = True
    option_to_complete: bool | None = True
    proper_completion: bool | None = True
    no_dead_tasks: bool | None = True
    failures: tuple[Failure, ...] = ()
    problem: str | None = None
    """Why something is unknown."""

    def __and__(self, other: Soundness) -> Soundness:
        """Return what is known of two nets together."""
        return Soundness(
            both(self.sound, other.sound),
            both(self.option_to_complete, other.option_to_complete),
            both(self.proper_completion, other.proper_completion),
            both(self.no_dead_tasks, other.no_dead_tasks),
            self.failures + other.failures,
            self.problem or other.problem,
        )


def both(one: bool | None, other: bool | None) -> bool | None:
    """Return whether both hold; None where that is unknown."""
    return False if False in (one, other) else None if None in (one, other) else True


def soundness(study: Study) -> Soundness:
    """Judge a net and its sub-nets: a workflow is sound if each of its nets is."""
    found = Soundness() if study.block is not None else _by_states(study)
    for subnet in study.net.subnets:
        inner = soundness(Study(subnet, study.bound))
        where = f"In the net '{subnet.id}': "
        failures = (one.model_copy(update={"message": where + one.message}) for one in inner.failures)
        problem = inner.problem and where + inner.problem
        found &= replace(inner, failures=tuple(failures), problem=problem)
    return found


def _by_states(study: Study) -> Soundness:
    space = study.space
    whole = space.problem is None
    ended = {state for state, marking in enumerate(space.markings) if space.petri_net.end in marking}
    stuck, left_over, growing = _stuck(space, ended), _left_over(space, ended), _growing(space)
    fired = {
        task for edges in space.edges for one, _ in edges for task in space.petri_net.transitions[one].tasks
    }
    never = [task for task in study.net.tasks if task not in fired]
    dead = [_dead(space, task) for task in never] if whole else []
    failures = [one for one in (stuck, left_over, growing) if one is not None] + dead
    return Soundness(
        sound=False if failures else True if whole else None,
        option_to_complete=False if stuck else True if whole else None,
        proper_completion=False if left_over else True if whole else None,
        no_dead_tasks=not dead if whole else None if never else True,
        failures=tuple(failures),
        problem=space.problem,
    )


def _stuck(space: StateSpace, ended: set[int]) -> Failure | None:
    """Find a state from which the output cannot be reached."""
    for state, edges in enumerate(space.edges):
        if not edges and state not in ended:
            why = f"Deadlock: {_waiting(space, state)}."
            return _failure("option_to_complete", why, space, state)
    if space.problem is not None:
        return None
    fine = space.reaching(ended)
    state = next((state for state in range(len(space.markings)) if state not in fine), -1)
    if state < 0:
        return None
    why = "The output can no longer be reached, though something can still happen."
    return _failure("option_to_complete", why, space, state)


def _waiting(space: StateSpace, state: int) -> str:
    """Describe which tasks have some of the tokens they wait for, and what they lack."""
    marked = set(space.markings[state])
    if not marked:
        return f"no flow leads out of '{space.path_to(state)[-1]}'"
    waits = {
        f"'{step.tasks[0]}' waits for a token in {_places(space, set(step.takes) - marked)}": None
        for step in space.petri_net.transitions
        if step.tasks and marked & set(step.takes)
    }
    return "; ".join(waits) or "no task takes the tokens that are left"


def _left_over(space: StateSpace, ended: set[int]) -> Failure | None:
    final = (space.petri_net.end,)
    state = next((state for state in sorted(ended) if space.markings[state] != final), None)
    if state is None:
        return None
    extra = set(space.markings[state]) - set(final)
    why = f"The output is reached while a token is left in {_places(space, extra)}."
    return _failure(
        "proper_completion", why if extra else "The output is reached more than once.", space, state
    )


def _growing(space: StateSpace) -> Failure | None:
    if space.unbounded is None:
        return None
    smaller, larger = space.unbounded
    piling = Counter(space.markings[larger])
    piling.subtract(space.markings[smaller])
    places = _places(space, [place for place, count in piling.items() if count > 0])
    repeated = quoted(dict.fromkeys(space.path_to(larger)[len(space.path_to(smaller)) :]))
    why = f"{repeated or 'The last step'} can be repeated, and each time adds a token in {places}."
    return _failure("unbounded", why, space, larger)


def _dead(space: StateSpace, task: str) -> Failure:
    """Explain why a task never happens: the state nearest to it, and what is missing there."""
    taken = dict.fromkeys(step.takes for step in space.petri_net.transitions if task in step.tasks)
    needed = list(map(set, taken))
    if not needed:
        return _failure("dead_task", f"'{task}' can never happen: no flow leads to it.", space, 0, task)

    def missing(state: int) -> set[int]:
        return min((takes.difference(space.markings[state]) for takes in needed), key=len)

    nearest = min(range(len(space.markings)), key=lambda state: len(missing(state)))
    why = f"'{task}' can never happen: at best, a token is missing in {_places(space, missing(nearest))}."
    return _failure("dead_task", why, space, nearest, task)


def _places(space: StateSpace, places: Iterable[int]) -> str:
    return quoted(space.petri_net.places[place] for place in sorted(set(places)))


def _failure(kind: FailureKind, why: str, space: StateSpace, state: int, task: str | None = None) -> Failure:
    marking = Counter(space.petri_net.places[place] for place in space.markings[state])
    return Failure(kind=kind, message=why, trace=space.path_to(state), marking=marking, task=task)
