"""Knuth's search: the cheapest way to a goal where each step has several that it needs, all of them."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from halflap.graph.cover import Choice, cover_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.graph.cover import Cover

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
    def met(self) -> Iterable[str]:
        """The tools that supply something to another."""
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
    """One search, without some tools, and without leaving some units of some tools open.

    The tools are settled in the order of their cost, as in Dijkstra's.
    """

    def __init__(
        self, known: Known, banned: frozenset[str], filled: frozenset[tuple[str, int]] = frozenset()
    ) -> None:
        self._known = known
        self._banned = banned
        self._filled = filled
        self._queue: list[tuple[float, str]] = []
        self._covers: dict[str, Cover] = {}
        self._settled: dict[str, Choice] = {}
        self._reached: dict[str, Choice] = {}

    def way(self, most: float) -> Found | None:
        """Give the cheapest way to the goal, if it costs no more than this."""
        for tool in [*self._known.met, GOAL]:
            if tool not in self._banned:
                self._begin(tool)
        while self._queue:
            cost, tool = heapq.heappop(self._queue)
            if cost > most:
                break
            if tool in self._settled:
                continue
            self._settled[tool] = self._reached[tool]
            if tool == GOAL:
                return self._found(cost)
            for target in self._known.fed_by(tool):
                if target not in self._settled and target not in self._banned:
                    self._feed(target, tool, cost)
        return None

    def _begin(self, tool: str) -> None:
        size = self._known.open(tool)
        if not size:
            self._reach(tool, Choice(self._known.own(tool), None, 0))
        elif prices := self._prices(tool):
            self._reach(tool, Choice(self._known.own(tool) + sum(prices), None, (1 << size) - 1))

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
            heapq.heappush(self._queue, (reached.cost, tool))

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
            choices[tool] = {}
            while chosen is not None:
                choices[tool][chosen.source] = _numbers(chosen.units)
                todo.append(chosen.source)
                chosen = chosen.before
            if lacks:
                missing[tool] = _numbers(lacks)
                prices = self._known.prices(tool) or ()
                cost -= sum(prices[at] for at in missing[tool])
        return Found(cost, choices, missing, total)


def _numbers(bits: int) -> tuple[int, ...]:
    return tuple(at for at in range(bits.bit_length()) if bits >> at & 1)
