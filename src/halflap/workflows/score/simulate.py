"""The simulator: cases of any sound workflow played with its tokens and a clock, each resource doing one thing at a time.

The task that waited longest is next, then the one listed first. Without choices there is one case. Otherwise a choice of the n-th case is drawn by
the name of the node that had its gate originally, so that two versions of a workflow are compared on the same cases.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from halflap.workflows.model.block import Choice, shares
from halflap.workflows.model.checks import or_blocks

if TYPE_CHECKING:
    from halflap.workflows.analysis.study import Study
    from halflap.workflows.model.net import Flow
    from halflap.workflows.score.facts import Facts

_CASES = 200
_MAX_STEPS = 100_000


class EndlessError(Exception):
    """A loop is never left, or hardly ever."""


@lru_cache(200_000)
def _drawn(case: int, node: str, visit: int) -> float:
    """Return a random number from 0 to 1, always the same for the same choice."""
    digest = blake2b(f"{case} {visit} {node}".encode(errors="replace"), digest_size=7).digest()
    return int.from_bytes(digest) / 2**56


class _Job(NamedTuple):
    """What there is to know about a task in order to play it."""

    place: int
    duration: float
    cost: float
    resource: str | None
    waits: int
    """How many flows its join waits for; 0 for those that an or-split chose."""


class Simulation:
    """The cases of a net."""

    def __init__(self, study: Study, facts: Facts) -> None:
        self.net = net = study.net
        self.gates = study.gates
        self.outgoing = net.outgoing()
        self.closes = {split: block.join for split, block in or_blocks(net).items()}
        incoming = net.incoming()
        self.jobs: dict[str, _Job] = {}
        for place, (node, task) in enumerate(net.tasks.items()):
            waits = (
                {"xor": 1, "and": len(incoming[node]), "or": 0}[task.join] if len(incoming[node]) > 1 else 1
            )
            self.jobs[node] = _Job(place, facts.duration(node), facts.cost(node), task.resource, waits)

    @property
    def random(self) -> bool:
        """Whether cases differ: something is chosen."""
        return any(self.net.chooses(node, flows) for node, flows in self.outgoing.items())

    @cached_property
    def cases(self) -> list[Case]:
        played = [Case(self, number) for number in range(_CASES if self.random else 1)]
        for case in played:
            case.play()
        return played

    def makespan(self) -> tuple[float, float | None]:
        """Return the mean duration and its standard error; without choices there is no error."""
        times = [case.clock for case in self.cases]
        mean = sum(times) / len(times)
        if len(times) == 1:
            return mean, None
        return mean, math.sqrt(sum((time - mean) ** 2 for time in times)) / len(times)


@dataclass(slots=True, eq=False)
class Case:
    """One case: how long it took, what it cost, and what was done."""

    plan: Simulation
    number: int
    clock: float = 0.0
    cost: float = 0.0
    width: int = 0
    """The most tasks that were under way at once."""
    done: list[str] = field(default_factory=list)
    """Tasks in the order they ended."""
    _visits: Counter[str] = field(default_factory=Counter)
    _arrived: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Tokens before each task that waits for several, by where they came from."""
    _awaited: dict[str, int] = field(default_factory=dict)
    """How many tokens an or-join waits for."""
    _ready: deque[str] = field(default_factory=deque)
    """Tasks that take no time and are done at once."""
    _waiting: list[tuple[float, int, int, str]] = field(default_factory=list)
    """By how long they wait, and their place in the net."""
    _running: list[tuple[float, int, int, str]] = field(default_factory=list)
    """By their end, and their place in the net."""

    def play(self) -> None:
        jobs = self.plan.jobs
        self.arrive(self.plan.net.input)
        while True:
            while self._ready:
                self.finish(self._ready.popleft())
            busy = {jobs[node].resource for *_, node in self._running} - {None}
            left = []
            for waiting in sorted(self._waiting):
                _, place, begun, node = waiting
                resource = jobs[node].resource
                if resource in busy:
                    left.append(waiting)
                else:
                    busy |= {resource} - {None}
                    self._running.append((self.clock + jobs[node].duration, place, begun, node))
            self._waiting = left
            self.width = max(self.width, len(self._running))
            if not self._running:
                return
            self.clock = min(self._running)[0]
            ended = sorted(one for one in self._running if one[0] == self.clock)
            self._running = [one for one in self._running if one[0] != self.clock]
            for *_, node in ended:
                self.finish(node)

    def arrive(self, condition: str) -> None:
        """Put a token into a condition; which task takes it is chosen at once."""
        flows = self.plan.outgoing[condition]
        if flows:
            self.put(self.chosen(condition, flows))

    def put(self, flow: Flow) -> None:
        """Put a token on a flow; the task it leads to begins if its join allows."""
        node = flow.target
        job = self.plan.jobs.get(node)
        if job is None:
            self.arrive(node)
            return
        if job.waits != 1:
            there = self._arrived[node]
            there[flow.source] += 1
            if len(there) < (job.waits or self._awaited[node]):
                return
            self._arrived[node] = there - Counter(there.keys())
        if job.duration == 0 and job.resource is None:
            self._ready.append(node)
        else:
            self._waiting.append((self.clock, job.place, len(self.done), node))

    def finish(self, node: str) -> None:
        self.cost += self.plan.jobs[node].cost
        self.done.append(node)
        if len(self.done) > _MAX_STEPS:
            raise EndlessError("A loop is never left, or hardly ever.")
        flows = self.plan.outgoing[node]
        if self.plan.net.chooses(node, flows):
            is_or = node in self.plan.closes
            flows = self.some(node, flows) if is_or else [self.chosen(node, flows)]
        for flow in flows:
            self.put(flow)

    def draw(self, node: str) -> float:
        self._visits[node] += 1
        return _drawn(self.number, self.plan.gates.get(node, node), self._visits[node])

    def chosen(self, node: str, flows: Sequence[Flow]) -> Flow:
        if len(flows) == 1:
            return flows[0]
        chances = shares(map(Choice.of, flows))
        at = self.draw(node)
        for flow, chance in zip(flows, chances, strict=True):
            at -= chance
            if at < 0:
                return flow
        return max(zip(chances, flows, strict=True), key=lambda one: one[0])[1]

    def some(self, node: str, flows: Sequence[Flow]) -> list[Flow]:
        """Choose some flows of an or-split, at least one."""
        chances = [0.5 if flow.probability is None else flow.probability for flow in flows]
        found: list[Flow] = []
        if not any(chances):
            found = [next((flow for flow in flows if flow.default), flows[0])]
        while not found:
            found = [flow for flow, chance in zip(flows, chances, strict=True) if self.draw(node) < chance]
        self._awaited[self.plan.closes[node]] = len(found)
        return found
