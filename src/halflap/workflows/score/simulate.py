"""The simulator: cases played on the Petri net with a clock, each resource doing one thing at a time.

The task that waited longest is next, then the one listed first. Without choices there is one case. Otherwise a choice of the n-th
case is drawn by the name of its gate, so that two versions of a workflow are compared on the same cases.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from halflap.workflows.analysis.states import petri_net_of, petri_net_of_tree

if TYPE_CHECKING:
    from halflap.workflows.analysis.states import Transition
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.score.facts import Facts

_CASES = 200
_MAX_STEPS = 100_000


class EndlessError(Exception):
    """A loop is never left, or hardly ever."""


@lru_cache(200_000)
def _drawn(case: int, gate: str, visit: int) -> float:
    """Return a random number from 0 to 1, the same each time for the same choice."""
    digest = blake2b(f"{case} {visit} {gate}".encode(errors="replace"), digest_size=7).digest()
    return int.from_bytes(digest) / 2**56


class Simulation:
    """The cases of a sound net."""

    def __init__(self, study: Study, facts: Facts) -> None:
        net, tree = study.net, study.block
        nodes = [*net.tasks, *net.conditions]
        self.petri_net = petri_net_of(net) if tree is None else petri_net_of_tree(net, tree, nodes)
        self.duration = facts.duration
        self.resource = {task: facts.resource(task) for task in net.tasks}
        self.listed = {task: at for at, task in enumerate(net.tasks)}
        self.taking: list[list[Transition]] = [[] for _ in self.petri_net.places]
        for step in self.petri_net.transitions:
            for place in step.takes:
                self.taking[place].append(step)
        first = Case(self, 0)
        self.random = bool(first.visits)
        """Whether cases differ, because something is chosen."""
        self._first = first

    @cached_property
    def cases(self) -> list[Case]:
        return [self._first, *(Case(self, number) for number in range(1, _CASES if self.random else 1))]

    def makespan(self) -> tuple[float, float | None]:
        """Return the mean duration and its standard error; without choices there is no error."""
        times = [case.clock for case in self.cases]
        mean = sum(times) / len(times)
        if not self.random:
            return mean, None
        return mean, math.sqrt(sum((time - mean) ** 2 for time in times)) / len(times)


class Case:
    """One simulated case."""

    def __init__(self, plan: Simulation, number: int) -> None:
        self.plan = plan
        self.number = number
        self.clock = 0.0
        self.width = 0
        """The most tasks that ran at the same time."""
        self.done: list[str] = []
        """Tasks in the order they ended."""
        self.visits: Counter[str] = Counter()
        """How often each gate chose."""
        self._tokens = [0] * len(plan.taking)
        self._begun = 0
        self._waiting: list[tuple[float, int, int, Transition]] = []
        """Tasks that have their tokens: since when, their position in the net, and a serial number."""
        running: list[tuple[float, int, int, Transition]] = []
        self._mark((plan.petri_net.start,))
        while self._waiting or running:
            busy = {plan.resource[step.tasks[0]] for *_, step in running} - {None}
            left = []
            for one in sorted(self._waiting):
                _, place, begun, step = one
                resource = plan.resource[step.tasks[0]]
                if resource in busy:
                    left.append(one)
                else:
                    busy |= {resource} - {None}
                    running.append((self.clock + plan.duration[step.tasks[0]], place, begun, step))
            self._waiting = left
            self.width = max(self.width, len(running))
            self.clock = min(running)[0]
            ended = sorted(one for one in running if one[0] == self.clock)
            running = [one for one in running if one[0] > self.clock]
            for *_, step in ended:
                self.done += step.tasks
                self._mark(step.gives)

    def _mark(self, places: tuple[int, ...]) -> None:
        """Put tokens into places, and fire what is enabled then."""
        plan, tokens = self.plan, self._tokens
        marked = [*places]
        for place in marked:
            tokens[place] += 1
        for place in marked:
            while tokens[place]:
                takers = plan.taking[place]
                steps = [
                    one for one in takers if len(one.takes) == 1 or all(tokens[need] for need in one.takes)
                ]
                if not steps:
                    break
                step = steps[0] if len(steps) == 1 else self._chosen(place, steps)
                for taken in step.takes:
                    tokens[taken] -= 1
                self._begun += 1
                if self._begun > _MAX_STEPS:
                    raise EndlessError("A loop is never left, or hardly ever.")
                node = step.tasks[0] if step.tasks else None
                if node and (plan.duration[node] or plan.resource[node]):
                    self._waiting.append((self.clock, plan.listed[node], self._begun, step))
                else:
                    self.done += step.tasks
                    marked += step.gives
                    for given in step.gives:
                        tokens[given] += 1

    def _chosen(self, place: int, steps: list[Transition]) -> Transition:
        gate = self.plan.petri_net.places[place] or str(place)
        self.visits[gate] += 1
        left = _drawn(self.number, gate, self.visits[gate]) * sum(one.weight for one in steps)
        for one in steps:
            left -= one.weight
            if left < 0:
                return one
        return max(steps, key=lambda one: one.weight)
