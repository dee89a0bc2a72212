"""Whether every case of a workflow can end, ends with nothing left over, and every task has its day.

What is made of blocks is sound by construction, and no state is looked at. Else every state is, up to a bound; what is
wrong comes with a trace from the start that shows it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.workflows.net import Net
    from halflap.workflows.states import Space
    from halflap.workflows.study import Study

__all__ = ["FailureKind", "Soundness", "Unsound", "soundness"]

FailureKind = Literal["option_to_complete", "proper_completion", "dead_task", "unbounded"]


@dataclass(frozen=True, slots=True)
class Unsound:
    """One thing that is wrong, with what shows it."""

    kind: FailureKind
    why: str
    trace: tuple[str, ...]
    """The tasks, by their ids, that lead from the start to where it shows."""
    marking: Mapping[str, int]
    """Where the tokens are then: conditions by their ids, and `a -> b` for the one between two tasks."""
    task: str | None = None
    """The one that is dead."""
    repeated: tuple[str, ...] = ()
    """Of an unbounded workflow: the tasks at the end of the trace that can be done again and again."""


@dataclass(frozen=True, slots=True)
class Soundness:
    """What is known; None where it is not."""

    sound: bool | None
    option_to_complete: bool | None
    proper_completion: bool | None
    no_dead_tasks: bool | None
    failures: tuple[Unsound, ...] = ()
    method: Literal["blocks", "states"] = "states"
    problem: str | None = None
    """Why something is not known."""

    @property
    def conclusive(self) -> bool:
        return self.sound is not None


def soundness(study: Study) -> Soundness:
    """Judge a workflow."""
    if study.tree is not None:
        return Soundness(
            sound=True, option_to_complete=True, proper_completion=True, no_dead_tasks=True, method="blocks"
        )
    net, space = study.net, study.space
    stuck, stuck_known = _stuck(net, space)
    left_over = _left_over(space)
    failures = [one for one in (stuck, left_over, _growing(space)) if one is not None]
    dead: list[Unsound] = []
    fired = {space.machine.steps[step].task for steps in space.steps for step, _ in steps}
    never = [task for task in net.tasks if task not in fired]
    if space.problem is None:
        dead = [_dead(net, space, task) for task in never]
    failures += dead
    whole = space.problem is None
    return Soundness(
        sound=False if failures else (True if whole else None),
        option_to_complete=False if stuck else (True if stuck_known else None),
        proper_completion=False if left_over else (True if whole else None),
        no_dead_tasks=not dead if whole else (True if not never else None),
        failures=tuple(failures),
        problem=space.problem,
    )


def _stuck(net: Net, space: Space) -> tuple[Unsound | None, bool]:
    """Find a state from which the output can't be reached, and tell whether all were looked at."""
    dead_end = next(
        (state for state, steps in enumerate(space.steps) if not steps and not space.end_reached(state)), None
    )
    if dead_end is not None:
        why = f"Nothing can happen any more: {_waiting(net, space, dead_end)}."
        return _shown("option_to_complete", why, space, dead_end), True
    if space.problem is not None:
        return None, False
    fine = space.leading_to({state for state in range(len(space.markings)) if space.end_reached(state)})
    endless = next((state for state in range(len(space.markings)) if state not in fine), None)
    if endless is None:
        return None, True
    again = sorted({task for task in _tasks_from(space, endless) if task is not None})
    round_about = ", ".join(f"'{task}'" for task in again)
    why = f"From here the output can't be reached any more, only {round_about} can be done, without end."
    return _shown("option_to_complete", why, space, endless), True


def _tasks_from(space: Space, state: int) -> set[str | None]:
    seen = {state}
    waiting = [state]
    found: set[str | None] = set()
    for one in waiting:
        for step, target in space.steps[one]:
            found.add(space.machine.steps[step].task)
            if target not in seen:
                seen.add(target)
                waiting.append(target)
    return found


def _waiting(net: Net, space: Space, state: int) -> str:
    """Say which tasks have some of what they wait for, and what they lack."""
    marked = space.markings[state].places
    lacking: dict[str, list[str]] = {}
    for step in space.machine.steps:
        there = [place for place in step.takes if marked >> place & 1]
        if step.task is not None and there:
            missing = [f"'{space.machine.places[place]}'" for place in step.takes if not marked >> place & 1]
            lacking.setdefault(step.task, missing)
    told = [f"'{task}' waits for {' and '.join(lacking[task])}" for task in net.tasks if lacking.get(task)]
    return "; ".join(told) or "no task takes the tokens that there are"


def _left_over(space: Space) -> Unsound | None:
    alone = 1 << space.machine.end
    for state, marking in enumerate(space.markings):
        if space.end_reached(state) and (marking.places != alone or marking.more):
            beside = marking.places & ~alone or _mask(set(marking.more) - {space.machine.end})
            why = (
                f"The output is reached while there is still a token in {_names(space, beside)}."
                if beside
                else "The output is reached more than once."
            )
            return _shown("proper_completion", why, space, state)
    return None


def _mask(places: Iterable[int]) -> int:
    """Give the bits of places; one that is named twice is one."""
    found = 0
    for place in places:
        found |= 1 << place
    return found


def _names(space: Space, places: int) -> str:
    named = [f"'{name}'" for place, name in enumerate(space.machine.places) if places >> place & 1]
    return " and ".join(named)


def _growing(space: Space) -> Unsound | None:
    if space.unbounded is None:
        return None
    smaller, larger = space.unbounded
    grown = _tokens(space, larger)
    grown.subtract(_tokens(space, smaller))
    piling = " and ".join(f"'{name}'" for name, count in grown.items() if count > 0)
    whole, before = space.way_to(larger), space.way_to(smaller)
    repeated = tuple(step.task for step in whole[len(before) :] if step.task is not None)
    why = f"What is done last can be done again and again, and each time there is a token more in {piling}."
    shown = _shown("unbounded", why, space, larger)
    return Unsound(shown.kind, shown.why, shown.trace, shown.marking, repeated=repeated)


def _dead(net: Net, space: Space, task: str) -> Unsound:
    """Say why a task is never done: the nearest that any state comes to it, and what is missing then."""
    ways = [step.takes for step in space.machine.steps if step.task == task]
    if not ways:
        shown = _shown("dead_task", f"'{task}' is never done: no flow leads to it.", space, 0)
        return Unsound(shown.kind, shown.why, shown.trace, shown.marking, task=task)
    ever = 0
    for marking in space.markings:
        ever |= marking.places
    never = sorted({place for takes in ways for place in takes if not ever >> place & 1})
    nearest, most = 0, -1
    for state, marking in enumerate(space.markings):
        there = max(sum(marking.places >> place & 1 for place in takes) for takes in ways)
        if there > most:
            nearest, most = state, there
    missing = [
        place
        for place in max(
            ways, key=lambda takes: sum(space.markings[nearest].places >> at & 1 for at in takes)
        )
        if not space.markings[nearest].places >> place & 1
    ]
    if never:
        lacking = _names(space, _mask(never))
        known = _givers(space, set(never))
        givers = [one for one in net.tasks if one in known]
        why = f"'{task}' is never done: there is never a token in {lacking}"
        why += (
            f", since {_listed(givers)} {'is' if len(givers) == 1 else 'are'} never done, or never with that outcome."
            if givers
            else "."
        )
    else:
        # Whatever comes of it then, it needs the same: a task that is begun by any one of several is not dead here.
        together = _names(space, _mask(place for takes in ways for place in takes))
        why = (
            f"'{task}' is never done: it needs tokens in {together} at the same time, and never gets them; "
            f"after this trace {_names(space, _mask(missing))} is missing."
        )
    shown = _shown("dead_task", why, space, nearest)
    return Unsound(shown.kind, shown.why, shown.trace, shown.marking, task=task)


def _givers(space: Space, places: set[int]) -> set[str]:
    """Give the tasks that could put a token into one of these, be it by a choice that they make first."""
    wanted = set(places)
    found: set[str] = set()
    waiting = list(places)
    for place in waiting:
        for step in space.machine.steps:
            if place not in step.gives:
                continue
            if step.task is not None:
                found.add(step.task)
            else:
                more = set(step.takes) - wanted
                wanted |= more
                waiting += sorted(more)
    return found


def _listed(tasks: Sequence[str]) -> str:
    return " and ".join(f"'{task}'" for task in tasks)


def _tokens(space: Space, state: int) -> Counter[str]:
    marking = space.markings[state]
    found = Counter(name for place, name in enumerate(space.machine.places) if marking.places >> place & 1)
    found.update(space.machine.places[place] for place in marking.more)
    return found


def _shown(kind: FailureKind, why: str, space: Space, state: int) -> Unsound:
    trace = tuple(step.task for step in space.way_to(state) if step.task is not None)
    return Unsound(kind, why, trace, dict(_tokens(space, state)))
