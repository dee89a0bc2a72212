"""Knuth's search: the cheapest way to a goal where each step has several that it needs, all of them.

The tools are settled in the order of what a way to the goal over them costs at least: what it costs to get to them, and
what is still ahead of them then. What is ahead is never more than it turns out to be, and never falls by more along a
link than the link and its target cost. So whatever a tool is supplied by is settled before it, as in Dijkstra's search,
and nothing is settled that could only be on dearer ways than the best.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from halflap.graph.cover import Choice, cover_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halflap.graph.cover import Chosen, Cover

__all__ = ["GOAL", "Found", "Known", "Knuth"]

GOAL = ""
"""Stands for all that is wanted, as if it were a tool that takes it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A way to the goal: for each tool on it, who supplies what, and what nobody does."""

    cost: float
    """Without what is missing."""
    choices: Mapping[str, Mapping[str, tuple[int, ...]]]
    """Of each tool, the tools that supply it, each with the units that it supplies."""
    missing: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of each tool, the units that nobody supplies."""
    total: float = 0.0
    """With the price of what is missing."""

    @property
    def tools(self) -> frozenset[str]:
        """All tools on the way."""
        return frozenset(self.choices) - {GOAL}


class Known(Protocol):
    """What is known of a graph, as far as it was looked at."""

    @property
    def starts(self) -> Sequence[tuple[float, str, Choice]]:
        """What can be called with nothing of any other tool: what a way over it costs at least, in that order."""
        ...

    def ahead(self, tool: str) -> float:
        """Say what it costs at least to get from having called a tool to the goal."""
        ...

    def fed_by(self, tool: str) -> Sequence[str]:
        """Give those that take something from a tool."""
        ...

    def prices_from(self, source: str, target: str) -> Sequence[tuple[int, float]]:
        """Give what it costs to take each of what a tool needs from another, as far as that has it."""
        ...

    def own(self, tool: str) -> float:
        """Say what a tool costs itself."""
        ...

    def open(self, tool: str) -> int:
        """Say how much it needs from others."""
        ...

    def prices(self, tool: str) -> Sequence[float] | None:
        """Say what it costs to leave each of that open, if that is possible."""
        ...


class Knuth:
    """One search, without some tools, and without leaving some units of some tools open."""

    def __init__(
        self, known: Known, banned: frozenset[str], filled: frozenset[tuple[str, int]] = frozenset()
    ) -> None:
        self._known = known
        self._banned = banned
        self._filled = filled
        self._unlike = {tool for tool, _ in filled}
        self._queue: list[tuple[float, str]] = []
        self._covers: dict[str, Cover] = {}
        self._settled: dict[str, Choice] = {}
        self._reached: dict[str, Choice] = {}

    def way(self, most: float) -> Found | None:
        """Give the cheapest way to the goal, if it costs no more than this."""
        for tool in self._settle(most):
            if tool == GOAL:
                return self._found(self._settled[tool].cost)
        return None

    def ways(self) -> Iterator[tuple[str, Mapping[str, tuple[int, ...]]]]:
        """Give the cheapest way to every tool: who supplies what; each tool after those that supply it."""
        for tool in self._settle(math.inf):
            yield tool, _suppliers(self._settled[tool].chosen)

    def _settle(self, most: float) -> Iterator[str]:
        for least, tool in self._soonest():
            if least > most:
                return
            cost = self._reached[tool].cost
            self._settled[tool] = self._reached[tool]
            yield tool
            for target in self._known.fed_by(tool):
                if target not in self._settled and target not in self._banned:
                    self._feed(target, tool, cost)

    def _soonest(self) -> Iterator[tuple[float, str]]:
        """Give the tools that are reached, those on the cheapest ways first, each once."""
        for least, tool, start in self._known.starts:
            while self._queue and self._queue[0] < (least, tool):
                yield from self._next()
            # What is not to be left open can't be, and all of a start is.
            if tool not in self._settled and tool not in self._banned and tool not in self._unlike:
                self._reached[tool] = start
                yield least, tool
        while self._queue:
            yield from self._next()

    def _next(self) -> Iterator[tuple[float, str]]:
        least, tool = heapq.heappop(self._queue)
        if tool not in self._settled:
            yield least, tool

    def _prices(self, tool: str) -> Sequence[float] | None:
        prices = self._known.prices(tool)
        if prices is None or not self._filled:
            return prices
        return [math.inf if (tool, at) in self._filled else price for at, price in enumerate(prices)]

    def _feed(self, target: str, source: str, cost: float) -> None:
        if target not in self._covers:
            self._covers[target] = cover_of(self._known.open(target), self._prices(target))
        best = self._covers[target].add(source, cost, self._known.prices_from(source, target))
        if best is not None:
            self._reach(target, best._replace(cost=best.cost + self._known.own(target)))

    def _reach(self, tool: str, reached: Choice) -> None:
        if reached.cost < (self._reached[tool].cost if tool in self._reached else math.inf):
            self._reached[tool] = reached
            heapq.heappush(self._queue, (reached.cost + self._known.ahead(tool), tool))

    def _found(self, total: float) -> Found:
        choices: dict[str, dict[str, tuple[int, ...]]] = {}
        missing: dict[str, tuple[int, ...]] = {}
        cost = total
        todo = [GOAL]
        while todo:
            tool = todo.pop()
            if tool in choices:
                continue
            _, chosen, lacks = self._settled[tool]
            choices[tool] = _suppliers(chosen)
            todo += choices[tool]
            if lacks:
                missing[tool] = _numbers(lacks)
                prices = self._known.prices(tool) or ()
                cost -= sum(prices[at] for at in missing[tool])
        return Found(cost, choices, missing, total)


def _suppliers(chosen: Chosen | None) -> dict[str, tuple[int, ...]]:
    suppliers: dict[str, tuple[int, ...]] = {}
    while chosen is not None:
        suppliers[chosen.source] = _numbers(chosen.units)
        chosen = chosen.before
    return suppliers


def _numbers(bits: int) -> tuple[int, ...]:
    return tuple(at for at in range(bits.bit_length()) if bits >> at & 1)
