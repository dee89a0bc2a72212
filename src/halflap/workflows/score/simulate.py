"""The simulator: cases of any workflow played with its tokens and a clock, each resource doing one thing at a time.

Whoever waited longest is next, then whoever is listed first. Few cases are played exhaustively, many by chance with a fixed seed.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.workflows.analysis.order import depend
from halflap.workflows.analysis.states import bits_of
from halflap.workflows.model.block import Step
from halflap.workflows.model.orblocks import or_blocks
from halflap.workflows.score.critical import EndlessError
from halflap.workflows.score.durations import gathered, shares

if TYPE_CHECKING:
    from halflap.workflows.model.net import Flow, Net
    from halflap.workflows.score.durations import Durations
    from halflap.workflows.score.facts import Facts

__all__ = ["Simulated", "StuckError", "simulate"]

_SEED = 0
_MAX_STEPS = 100_000
_Chooser = Callable[[Sequence[float]], int]


class StuckError(Exception):
    """A case could not go on; the message names the tasks that wait."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """The cases that were played: the distribution of their durations, and means of the rest."""

    durations: Durations
    critical: float
    cost: float
    width: int
    """The most tasks that were under way at once."""
    sampled: bool
    """Whether these are samples, and not every case."""


def simulate(
    net: Net, facts: Facts, *, exhaustive: int, samples: int, critical: bool = False
) -> Simulated | None:
    """Play every case if there are at most `exhaustive`, else so many samples; without samples return None."""
    plan = _Plan(net, facts)
    every = _every_case(plan, exhaustive, critical=critical)
    if every is not None or not samples:
        return every
    chance = random.Random(_SEED)  # noqa: S311 -- no secret
    played = [plan.play(lambda chances: _drawn(chance.random(), chances)) for _ in range(samples)]
    found = gathered(((case.clock, 1 / samples) for case in played), exact=False)
    longest = sum(case.critical() for case in played) / samples if critical else 0.0
    cost = sum(case.cost for case in played) / samples
    return Simulated(found, longest, cost, max(case.most for case in played), sampled=True)


def _drawn(at: float, chances: Sequence[float]) -> int:
    for number, chance in enumerate(chances):
        at -= chance
        if at < 0:
            return number
    return max(number for number, chance in enumerate(chances) if chance > 0)


def _every_case(plan: _Plan, most: int, *, critical: bool) -> Simulated | None:
    longest = cost = 0.0
    width = 0
    times: list[tuple[float, float]] = []
    script: list[int] = []
    for _ in range(most):
        made: list[tuple[int, Sequence[float]]] = []

        def choose(
            chances: Sequence[float],
            made: list[tuple[int, Sequence[float]]] = made,
            script: list[int] = script,
        ) -> int:
            if len(made) > most:
                # Of so many choices there are more cases than may be played.
                raise EndlessError
            chosen = script[len(made)] if len(made) < len(script) else _possible(chances, 0)
            made.append((chosen, chances))
            return chosen

        try:
            case = plan.play(choose)
        except EndlessError:
            return None
        likely = 1.0
        for chosen, chances in made:
            likely *= chances[chosen]
        times.append((case.clock, likely))
        longest += likely * case.critical() if critical else 0.0
        cost += likely * case.cost
        width = max(width, case.most)
        while made and _possible(made[-1][1], made[-1][0] + 1) == len(made[-1][1]):
            made.pop()
        if not made:
            return Simulated(gathered(times, exact=True), longest, cost, width, sampled=False)
        script = [*(chosen for chosen, _ in made[:-1]), _possible(made[-1][1], made[-1][0] + 1)]
    return None


def _possible(chances: Sequence[float], start: int) -> int:
    return next((at for at in range(start, len(chances)) if chances[at] > 0), len(chances))


class _Plan:
    """What is the same for all cases of a net."""

    def __init__(self, net: Net, facts: Facts) -> None:
        self.net = net
        self.facts = facts
        self.outgoing, self.incoming = net.outgoing(), net.incoming()
        self.closes = {split: block.join for split, block in or_blocks(net).items()}
        self.place = {task: at for at, task in enumerate(net.tasks)}
        self.waits: dict[tuple[str, str], bool] = {}

    def play(self, choose: _Chooser) -> _Case:
        case = _Case(self, choose)
        case.arrive(self.net.input, 0)
        case.run()
        left = sorted({flow.target for flow, there in case.tokens.items() if there})
        if not case.ended or left:
            raise StuckError(", ".join(f"'{node}'" for node in left))
        return case


@dataclass(slots=True)
class _Waiting:
    since: float
    place: int
    number: int
    node: str
    before: int


@dataclass(slots=True)
class _Case:
    plan: _Plan
    choose: _Chooser
    clock: float = 0.0
    cost: float = 0.0
    most: int = 0
    ended: bool = False
    tokens: dict[Flow, list[int]] = field(default_factory=dict)
    """Tokens before each task, by flow: everything that led to each, as bits."""
    awaited: dict[str, int] = field(default_factory=dict)
    """How many tokens an or-join waits for."""
    done: list[tuple[str, int]] = field(default_factory=list)
    """Tasks in the order they ended, each with everything that led to it, as bits."""
    waiting: list[_Waiting] = field(default_factory=list)
    running: list[tuple[float, _Waiting]] = field(default_factory=list)
    ready: deque[tuple[str, int]] = field(default_factory=deque)
    """Tasks that take no time and are done at once."""
    begun: int = 0

    def run(self) -> None:
        facts = self.plan.facts
        while True:
            while self.ready:
                self.finish(*self.ready.popleft())
            busy = {facts.resource(one.node) for _, one in self.running} - {None}
            left = []
            for one in sorted(self.waiting, key=lambda one: (one.since, one.place, one.number)):
                resource = facts.resource(one.node)
                if resource is not None and resource in busy:
                    left.append(one)
                    continue
                busy |= set() if resource is None else {resource}
                self.running.append((self.clock + facts.duration(one.node), one))
            self.waiting = left
            self.most = max(self.most, len(self.running))
            if not self.running:
                return
            self.clock = min(end for end, _ in self.running)
            ended = [one for end, one in self.running if end == self.clock]
            self.running = [(end, one) for end, one in self.running if end != self.clock]
            for one in sorted(ended, key=lambda one: (one.place, one.number)):
                self.finish(one.node, one.before)

    def arrive(self, condition: str, before: int) -> None:
        """Put a token into a condition; which task takes it is chosen at once."""
        flows = self.plan.outgoing[condition]
        if condition == self.plan.net.output:
            self.ended = True
        else:
            self.put(flows[self.choose(_chances(flows)) if len(flows) > 1 else 0], before)

    def put(self, flow: Flow, before: int) -> None:
        node = flow.target
        if node in self.plan.net.conditions:
            self.arrive(node, before)
            return
        self.tokens.setdefault(flow, []).append(before)
        join, flows = self.plan.net.tasks[node].join, self.plan.incoming[node]
        there = [one for one in flows if self.tokens.get(one)]
        needed = (
            len(flows)
            if join == "and"
            else self.awaited.get(node, 1)
            if join == "or" and len(flows) > 1
            else 1
        )
        if len(there) < needed:
            return
        for one in there[:1] if join == "xor" else there:
            before |= self.tokens[one].pop(0)
        self.begin(node, before)

    def begin(self, node: str, before: int) -> None:
        self.begun += 1
        if self.begun > _MAX_STEPS:
            raise EndlessError
        if self.plan.facts.duration(node) == 0 and self.plan.facts.resource(node) is None:
            self.ready.append((node, before))
        else:
            self.waiting.append(_Waiting(self.clock, self.plan.place[node], self.begun, node, before))

    def finish(self, node: str, before: int) -> None:
        self.cost += self.plan.facts.cost(node)
        after = before | 1 << len(self.done)
        self.done.append((node, before))
        task, flows = self.plan.net.tasks[node], self.plan.outgoing[node]
        if task.split == "xor" and len(flows) > 1:
            flows = [flows[self.choose(_chances(flows))]]
        elif task.split == "or" and len(flows) > 1:
            flows = self.some(flows)
            self.awaited[self.plan.closes[node]] = len(flows)
        for flow in flows:
            self.put(flow, after)

    def some(self, flows: Sequence[Flow]) -> list[Flow]:
        """Choose some flows of an or-split, at least one."""
        chances = [0.5 if flow.probability is None else flow.probability for flow in flows]
        if not any(chances):
            return [next((flow for flow in flows if flow.default), flows[0])]
        none = [1.0] * (len(chances) + 1)
        for at in range(len(chances) - 1, -1, -1):
            none[at] = none[at + 1] * (1 - chances[at])
        found: list[Flow] = []
        for at, (flow, chance) in enumerate(zip(flows, chances, strict=True)):
            likely = chance if found else chance / (1 - none[at]) if none[at] < 1 else 1.0
            if self.choose([likely, 1 - likely]) == 0:
                found.append(flow)
        return found

    def critical(self) -> float:
        """Return the longest chain of tasks each of which depends on, or was chosen by, the one before."""
        ends: list[float] = []
        for node, before in self.done:
            start = max(
                (ends[at] for at in bits_of(before) if self.waits(self.done[at][0], node)), default=0.0
            )
            ends.append(start + self.plan.facts.duration(node))
        return max(ends, default=0.0)

    def waits(self, first: str, then: str) -> bool:
        plan = self.plan
        found = plan.waits.get((first, then))
        if found is None:
            decides = plan.net.splits(first, plan.outgoing[first])
            data = (plan.facts.data(Step(first)), plan.facts.data(Step(then)))
            found = plan.waits[first, then] = decides or depend(*data)
        return found


def _chances(flows: Sequence[Flow]) -> list[float]:
    return shares([1.0 if flow.probability is None else flow.probability for flow in flows])
