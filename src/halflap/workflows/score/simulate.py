"""The simulator: cases of any workflow played with its tokens and a clock, each resource doing one thing at a time.

The task that waited longest is next, then the one listed first. Few cases are all played, of many a sample with a fixed seed.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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

__all__ = ["SAMPLES", "Simulated", "StuckError", "simulate"]

SAMPLES = 200
_EVERY_CASE = 64
"""Up to this many cases are all played; of more, samples."""
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


def simulate(net: Net, facts: Facts, *, critical: bool = False) -> Simulated:
    """Play every case if there are few, else samples; the critical path takes longest, so only on request."""
    plan = _Plan(net, facts)
    played = _every_case(plan)
    sampled = played is None
    if played is None:
        chance = random.Random(_SEED)  # noqa: S311 -- no secret
        played = [
            (plan.play(lambda chances: _drawn(chance.random(), chances)), 1 / SAMPLES) for _ in range(SAMPLES)
        ]
    return Simulated(
        gathered(((case.clock, likely) for case, likely in played), exact=not sampled),
        sum(likely * case.critical() for case, likely in played) if critical else 0.0,
        sum(likely * case.cost for case, likely in played),
        max(case.most for case, _ in played),
        sampled,
    )


def _drawn(at: float, chances: Sequence[float]) -> int:
    for number, chance in enumerate(chances):
        at -= chance
        if at < 0:
            return number
    return max(number for number, chance in enumerate(chances) if chance > 0)


def _every_case(plan: _Plan) -> list[tuple[_Case, float]] | None:
    """Return every case with its probability; None if there are too many."""
    played: list[tuple[_Case, float]] = []
    scripts: list[list[int]] = [[]]
    while scripts:
        made: list[tuple[int, Sequence[float]]] = []
        script = scripts.pop()

        def choose(chances: Sequence[float], made: list[Any] = made, script: list[int] = script) -> int:
            if len(made) > _EVERY_CASE:
                raise EndlessError
            chosen = script[len(made)] if len(made) < len(script) else _possible(chances)[0]
            made.append((chosen, chances))
            return chosen

        try:
            case = plan.play(choose)
        except EndlessError:
            return None
        played.append((case, math.prod(chances[chosen] for chosen, chances in made)))
        for at in range(len(script), len(made)):
            chosen = [one for one, _ in made[:at]]
            scripts += [[*chosen, other] for other in _possible(made[at][1])[1:]]
        if len(played) + len(scripts) > _EVERY_CASE:
            return None
    return played


def _possible(chances: Sequence[float]) -> list[int]:
    return [at for at, chance in enumerate(chances) if chance > 0]


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
