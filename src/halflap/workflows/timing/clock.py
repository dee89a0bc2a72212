"""A clock that lets tasks be done as soon as they can, each resource one thing at a time: who waited longest is next, then who is listed first."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.workflows.pieces.facts import Facts

__all__ = ["Clock", "EndlessError"]

_MOST_STEPS = 100_000


class EndlessError(Exception):
    """It goes on and on; says where it goes back, and how likely, as far as that is known."""

    def __init__(self, split: str | None = None, back: float | None = None) -> None:
        super().__init__(split, back)
        self.split = split
        self.back = back

    def __str__(self) -> str:
        where = "A loop in it" if self.split is None else f"The loop at '{self.split}'"
        if self.back is None:
            return f"{where} is never left, or hardly ever."
        often = "never" if self.back >= 1 else "hardly ever"
        return f"{where} is {often} left: the way back is taken with probability {self.back:.10g}."


@dataclass(slots=True)
class _Waiting:
    since: float
    place: int
    number: int
    node: str
    then: Callable[[], None]


class Clock:
    """One case, as time goes by."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.now = 0.0
        self.most = 0
        """How many tasks were being done at once, at most."""
        self._place = {task: at for at, task in enumerate(facts.net.tasks)}
        self._steps = 0
        self._next: deque[Callable[[], None]] = deque()
        self._waiting: list[_Waiting] = []
        self._running: list[tuple[float, _Waiting]] = []
        self._busy: set[str] = set()

    def soon(self, then: Callable[[], None]) -> None:
        """Go on with this, at the same time."""
        self._next.append(then)

    def do(self, node: str, then: Callable[[], None]) -> None:
        """Do a task as soon as it can be, then go on."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise EndlessError
        if self.facts.duration(node) == 0 and self.facts.resource(node) is None:
            self.soon(then)
            return
        self._waiting.append(_Waiting(self.now, self._place.get(node, -1), self._steps, node, then))

    def run(self) -> float:
        """Let everything be done, and give the time at the end."""
        while True:
            while self._next:
                self._next.popleft()()
            self._start()
            if not self._running:
                return self.now
            self.now = min(end for end, _ in self._running)
            done = [one for end, one in self._running if end == self.now]
            self._running = [(end, one) for end, one in self._running if end != self.now]
            for one in sorted(done, key=lambda one: (one.place, one.number)):
                self._busy.discard(self.facts.resource(one.node) or "")
                self.soon(one.then)

    def _start(self) -> None:
        if not self._waiting:
            return
        left = []
        for one in sorted(self._waiting, key=lambda one: (one.since, one.place, one.number)):
            resource = self.facts.resource(one.node)
            if resource is not None and resource in self._busy:
                left.append(one)
                continue
            if resource is not None:
                self._busy.add(resource)
            self._running.append((self.now + self.facts.duration(one.node), one))
        self._waiting = left
        self.most = max(self.most, len(self._running))
