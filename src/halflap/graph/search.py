"""The cheapest way to what is wanted: Knuth's generalisation of Dijkstra's search to ways with several beginnings.

**What is minimised.** Each tool has a cost of its own; each link has one, from how sure it is. What it costs to get to
the point of having called a tool is its own cost, and, of all choices of other tools that supply together what it
needs, the cheapest: for each tool chosen what it costs to get to *it*, once, and for each link used the link's cost.
So a tool that supplies three arguments of the same call is paid once. One that is needed at two different calls is
paid at both: the cost is that of the tree, not of the graph without repetition (the least of which is hard to find
at all), though in the plan it is one step. All costs are positive, so a tool never helps to get to itself, and
cycles can't be part of what is found.

**Where something is left open**, each parameter costs more than any plan, so that the fewest are. What no tool offers to
a tool is open on every way over it, and counts among what is ahead of those before it: where the wanted tool itself lacks
two values, nothing before it is gone through that could not supply one of them.

**How much is looked at.** From what is wanted, backwards, the nearest first: a tool can only be part of a plan that
costs at least as much as the chain from it to the goal. So once a plan is found that costs less than the chain to
everything not yet looked at, it is the cheapest of all. At most a hundred tools are looked at, so that the answer
comes soon: where that is not enough to be sure, it is the cheapest over those that are nearest to the goal.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING

from halflap.graph.cover import Choice
from halflap.graph.knuth import GOAL, Found, Knuth
from halflap.graph.supply import repeats
from halflap.graph.terms import TOOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halflap.graph.supply import Offer
    from halflap.graph.terms import Terms

__all__ = ["GIVEN_UP", "MISSING", "SLACK", "Search"]

MISSING = 1_000.0
"""What it costs to leave a parameter to the reader: more than any plan that does without."""
GIVEN_UP = 5.0
"""What it costs more to leave open what some tool has: what nobody has is the reader's to give."""
_NOTHING = 1_000_000.0
"""What it costs not to get what is wanted at all: only where nobody has it."""
SLACK = 2.0
"""How much more than the best another suggestion may cost."""
_FIRST_BOUND = 3.0
_GROWTH = 1.6
_MOST_LOOKED_AT = 100
_MOST_FOR_OTHERS = 30
_MOST_FOR_PARTIAL = 40
"""How many tools are looked at: for the best, for others beside it, for those that lack something."""
_MOST_TRIED = 60
_MOST_TRIED_PARTIAL = 12
"""So many ways are worked out to find others than the best; of such as lack something, fewer will do."""


_Without = tuple[frozenset[str], frozenset[tuple[str, int]]]
"""Tools that are not to be used, and units of tools that are not to be left open."""


class Search:
    """Looks for the cheapest ways to one goal, over the part of the graph that it needs to see."""

    def __init__(
        self,
        terms: Terms,
        goal: Mapping[str, Sequence[tuple[int, Offer]]],
        size: int,
        *,
        partial: bool = False,
    ) -> None:
        """`partial`: parameters may be left open, at a price."""
        self.terms = terms
        self._size = size
        self._partial = partial
        self.offers: dict[str, Mapping[str, Sequence[tuple[int, Offer]]]] = {GOAL: goal}
        """Of each tool that was looked at, what each other tool offers it."""
        self._distance: dict[str, float] = {GOAL: 0.0}
        self._frontier: list[tuple[float, str]] = []
        self._feeds: dict[str, list[str]] = {}
        self._from: dict[tuple[str, str], list[tuple[int, float]]] = {}
        self._prices: dict[str, list[float]] = {}
        self._starts: list[tuple[float, str, Choice]] | None = None
        self._ahead: Mapping[str, float] = self._distance
        self._meet(GOAL, goal)

    def best(self, limit: int) -> list[Found]:
        """Give the cheapest ways, the best first; each lacks some tool of each before it."""
        first = self._first()
        if first is None:
            return []
        if self._partial:
            return self._sorted(first.total + GIVEN_UP + SLACK, limit)
        self._look(first.total + SLACK, min(_MOST_LOOKED_AT, len(self.offers) + _MOST_FOR_OTHERS))
        return self._sorted(first.total + SLACK, limit)

    def _sorted(self, most: float, limit: int) -> list[Found]:
        # Where a tool needs very much, what is found without some other may turn out cheaper.
        return sorted(self._several(most, limit), key=lambda one: one.total)

    def _first(self) -> Found | None:
        if self._partial:
            # Of plans that lack something, the best is known only when all are seen: those nearby are.
            self._look(math.inf, _MOST_FOR_PARTIAL)
            self._ahead = self._lacking_ahead()
            return self._way((frozenset(), frozenset()))
        bound = _FIRST_BOUND
        while True:
            done = self._look(bound)
            found = self._way((frozenset(), frozenset()))
            if done or (found is not None and found.total <= bound):
                return found
            bound *= _GROWTH

    def _several(self, most: float, limit: int) -> Iterator[Found]:
        """Go through the ways by what they do without: whatever lacks a tool of one is among those without that tool.

        Of a way that leaves something open, those that fill it are others, too.
        """
        tries = _MOST_TRIED_PARTIAL if self._partial else _MOST_TRIED
        seen: set[_Without] = set()
        given: list[frozenset[str]] = []
        queue: list[tuple[float, list[str], int, _Without, Found]] = []

        def push(without: _Without) -> None:
            if without not in seen and len(seen) < tries:
                seen.add(without)
                found = self._way(without, most)
                if found is not None:
                    heapq.heappush(queue, (found.total, sorted(found.tools), len(seen), without, found))

        push((frozenset(), frozenset()))
        while queue and len(given) < limit:
            *_, (banned, filled), found = heapq.heappop(queue)
            if not any(one == found.tools or (one < found.tools and not self._partial) for one in given):
                given.append(found.tools)
                yield found
            if len(given) < limit:
                for tool in sorted(found.tools - self.terms.wanted):
                    push((banned | {tool}, filled))
                for tool, units in found.missing.items():
                    for at in units:
                        push((banned, filled | {(tool, at)}))

    def in_loops(self) -> set[str]:
        """Give the tools that the cheapest way calls for each of many, and that no way calls once with all that they need."""
        looped: set[str] = set()
        for tool, suppliers in Knuth(self, frozenset()).ways():
            found = self.offers.get(tool, {})
            if any(
                repeats(offer, is_looped=source in looped)
                for source, units in suppliers.items()
                for at, offer in found[source]
                if at in units
            ):
                looped.add(tool)
        return looped - self._called_once()

    def _called_once(self) -> set[str]:
        """Give the tools that can be called with all that they need, and once."""
        once: set[str] = set()
        # Of each tool, which units it still needs from one that is called once.
        left = {tool: set(range(self.open(tool))) for tool in self._feeds}
        todo = [tool for tool, units in left.items() if not units]
        while todo:
            source = todo.pop()
            once.add(source)
            for target in self._feeds[source]:
                units = left.get(target)
                if not units:
                    continue
                units -= {
                    at for at, offer in self.offers[target][source] if not repeats(offer, is_looped=False)
                }
                if not units:
                    todo.append(target)
        return once

    # What is looked at.

    def _look(self, bound: float, most: int = _MOST_LOOKED_AT) -> bool:
        """Look at all tools that a plan of at most this cost can have; say whether no more can be looked at."""
        while self._frontier and len(self.offers) <= most:
            key, tool = self._frontier[0]
            if key > bound:
                return False
            if not self.terms.may_look_at(tool):
                return True
            heapq.heappop(self._frontier)
            if tool not in self.offers:
                self._look_at(tool)
        return True

    def _look_at(self, tool: str) -> None:
        need, found = self.terms.need(tool), self.terms.offers(tool)
        supplied = {at for made in found.values() for at, _ in made}
        if not self._partial and need is not None and len(supplied) < len(need.open):
            # Nobody has what it needs: nothing before it matters.
            found = {}
        self.offers[tool] = found
        self._starts = None
        self._meet(tool, found)

    def _meet(self, tool: str, found: Mapping[str, Sequence[tuple[int, Offer]]]) -> None:
        so_far = self._distance[tool] + self.own(tool)
        for source, made in found.items():
            need = self.terms.need(source)
            if need is None:
                continue
            self._feeds.setdefault(source, []).append(tool)
            self._from[source, tool] = [(at, offer.cost) for at, offer in made]
            distance = so_far + min(offer.cost for _, offer in made)
            if distance < self._distance.get(source, math.inf):
                self._distance[source] = distance
                if need.open:
                    # It cannot begin a plan: at least one more tool comes before it.
                    heapq.heappush(self._frontier, (distance + self.own(source) + TOOL, source))

    def own(self, tool: str) -> float:
        """Say what a call costs itself."""
        return 0.0 if tool == GOAL else self.terms.cost(tool)

    def _way(self, without: _Without, most: float = math.inf) -> Found | None:
        """Give the cheapest way that does without some tools, and does not leave some units open."""
        return Knuth(self, *without).way(most)

    def _lacking_ahead(self) -> dict[str, float]:
        """Work out what is ahead of each tool, with what those behind it lack: what nobody offers stays open in any case."""
        ahead: dict[str, float] = {}
        queue = [(0.0, GOAL)]
        while queue:
            least, tool = heapq.heappop(queue)
            if tool in ahead:
                continue
            ahead[tool] = least
            found = self.offers.get(tool)
            if not found:
                continue
            offered = {at for made in found.values() for at, _ in made}
            prices = self.prices(tool) or ()
            least += self.own(tool) + sum(price for at, price in enumerate(prices) if at not in offered)
            for source in found:
                if source not in ahead and (source, tool) in self._from:
                    link = min(cost for _, cost in self._from[source, tool])
                    heapq.heappush(queue, (least + link, source))
        return ahead

    @property
    def starts(self) -> Sequence[tuple[float, str, Choice]]:
        """What can be called with nothing of any other tool, if need be with all that it takes left open."""
        if self._starts is None:
            made = (self._start(tool) for tool in [*self._feeds, GOAL])
            self._starts = sorted(
                ((one.cost + self.ahead(tool), tool, one) for tool, one in made if one is not None),
                key=lambda one: one[:2],
            )
        return self._starts

    def _start(self, tool: str) -> tuple[str, Choice | None]:
        size = self.open(tool)
        prices = self.prices(tool) if size else ()
        if prices is None:
            return tool, None
        return tool, Choice(self.own(tool) + sum(prices), None, (1 << size) - 1)

    def ahead(self, tool: str) -> float:
        """Say what it costs at least to get from having called a tool to the goal."""
        return self._ahead[tool]

    def fed_by(self, tool: str) -> Sequence[str]:
        """Give the tools that were seen to take something from one."""
        return self._feeds.get(tool, ())

    def prices_from(self, source: str, target: str) -> Sequence[tuple[int, float]]:
        """Give what it costs to take each unit of a tool from another, as far as that has it."""
        return self._from[source, target]

    def open(self, tool: str) -> int:
        """Say how many units a tool needs from others."""
        need = self.terms.need(tool) if tool != GOAL else None
        return self._size if need is None else len(need.open)

    def prices(self, tool: str) -> Sequence[float] | None:
        """Say what it costs to leave each of them open, if that is possible."""
        if not self._partial:
            return None
        if tool not in self._prices:
            offered = {at for made in self.offers.get(tool, {}).values() for at, _ in made}
            if tool != GOAL and tool in self.offers:
                # Which of many it is to be is the reader's to say, too.
                offered -= self.terms.to_choose(tool)
            price = _NOTHING if tool == GOAL else MISSING
            self._prices[tool] = [
                price + (GIVEN_UP if at in offered else 0.0) for at in range(self.open(tool))
            ]
        return self._prices[tool]
