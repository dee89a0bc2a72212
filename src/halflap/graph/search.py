"""The cheapest way to what is wanted: Knuth's generalisation of Dijkstra's search to ways with several beginnings.

**What is minimised.** Each tool has a cost of its own; each link has one, from how sure it is. What it costs to get to
the point of having called a tool is its own cost, and, of all choices of other tools that supply together what it
needs, the cheapest: for each tool chosen what it costs to get to *it*, once, and for each link used the link's cost.
So a tool that supplies three arguments of the same call is paid once. One that is needed at two different calls is
paid at both: the cost is that of the tree, not of the graph without repetition (the least of which is hard to find
at all), though in the plan it is one step. All costs are positive, so a tool never helps to get to itself, and
cycles can't be part of what is found.

**How much is looked at.** From what is wanted, backwards, the nearest first: a tool can only be part of a plan that
costs at least as much as the chain from it to the goal. So once a plan is found that costs less than the chain to
everything not yet looked at, it is the cheapest of all.
"""

from __future__ import annotations

import heapq
import math
from typing import TYPE_CHECKING, Protocol

from halflap.graph.effects import seems_to_change, seems_to_destroy
from halflap.graph.knuth import GOAL, Found, Knuth
from halflap.graph.supply import need_of, offers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from halflap.graph.edge import Edge, Ports
    from halflap.graph.have import Have
    from halflap.graph.supply import Need, Offer

__all__ = ["Flows", "Search"]

TOOL = 1.0
_SECOND = 0.2
"""What a second of waiting costs; no more than a tool does, however slow one is."""
AIMLESS = 0.5
"""What it costs to begin with a call that uses nothing of what is at hand, where something is."""
CHANGING = 2.0
"""What it costs to change something on the way: two more calls that only read are preferred."""
MISSING = 1_000.0
"""What it costs to leave a parameter to the reader: more than any plan that does without."""
_NOTHING = 1_000_000.0
"""What it costs not to get what is wanted at all: only where nobody has it."""
SLACK = 2.0
"""How much more than the best another suggestion may cost."""
_FIRST_BOUND = 3.0
_GROWTH = 1.6
_MOST_LOOKED_AT = 500
_MOST_TRIED = 60


class Flows(Protocol):
    """What is asked of a graph."""

    @property
    def tools(self) -> Mapping[str, Ports]:
        """All tools, by name."""
        ...

    def into(self, tool: str) -> Sequence[Edge]:
        """Give the edges to a tool."""
        ...


class Search:
    """Looks for the cheapest ways to one goal, over the part of the graph that it needs to see."""

    def __init__(
        self,
        graph: Flows,
        have: Have,
        goal: Mapping[str, Sequence[tuple[int, Offer]]],
        size: int,
        *,
        allowed: frozenset[str] = frozenset(),
        partial: bool = False,
    ) -> None:
        self.graph = graph
        self._have = have
        self._size = size
        self._allowed = allowed
        self._partial = partial
        self._needs: dict[str, Need | None] = {}
        self._owns: dict[str, float] = {}
        self.offers: dict[str, Mapping[str, Sequence[tuple[int, Offer]]]] = {GOAL: goal}
        """Of each tool that was looked at, what each other tool offers it."""
        self._distance: dict[str, float] = {GOAL: 0.0}
        self._frontier: list[tuple[float, str]] = []
        self._feeds: dict[str, list[str]] = {}
        self._meet(GOAL, goal)

    def need(self, tool: str) -> Need | None:
        """Say what a tool needs; None of one that may not be called."""
        if tool not in self._needs:
            ports = self.graph.tools.get(tool)
            refused = ports is None or (tool not in self._allowed and seems_to_destroy(ports))
            self._needs[tool] = None if ports is None or refused else need_of(ports, self._have)
        return self._needs[tool]

    def best(self, limit: int) -> list[Found]:
        """Give the cheapest ways, the best first; each lacks some tool of each before it."""
        first = self._first()
        if first is None:
            return []
        self._look(first.total + SLACK)
        return list(self._several(first.total + SLACK, limit))

    def _first(self) -> Found | None:
        # Of plans that lack something, the best is known only when all are seen.
        bound = math.inf if self._partial else _FIRST_BOUND
        while True:
            done = self._look(bound)
            found = self._way(frozenset())
            if done or (found is not None and found.total <= bound):
                return found
            bound *= _GROWTH

    def _several(self, most: float, limit: int) -> Iterator[Found]:
        """Go through the ways by what they do without: whatever lacks a tool of one is among those without that tool."""
        seen: set[frozenset[str]] = set()
        given: list[frozenset[str]] = []
        queue: list[tuple[float, list[str], frozenset[str], Found]] = []

        def push(banned: frozenset[str]) -> None:
            if banned not in seen:
                seen.add(banned)
                found = self._way(banned)
                if found is not None and found.total <= most:
                    heapq.heappush(queue, (found.total, sorted(found.tools), banned, found))

        push(frozenset())
        while queue and len(given) < limit and len(seen) <= _MOST_TRIED:
            _, _, banned, found = heapq.heappop(queue)
            if not any(one <= found.tools for one in given):
                given.append(found.tools)
                yield found
            if len(given) < limit:
                for tool in sorted(found.tools - self._allowed):
                    push(banned | {tool})

    # What is looked at.

    def _look(self, bound: float) -> bool:
        """Look at all tools that a plan of at most this cost can have; say whether nothing is left to look at."""
        while self._frontier and len(self.offers) <= _MOST_LOOKED_AT:
            key, tool = self._frontier[0]
            if key > bound:
                return False
            heapq.heappop(self._frontier)
            if tool not in self.offers:
                self._look_at(tool)
        return True

    def _look_at(self, tool: str) -> None:
        need = self.need(tool)
        assert need is not None, "only tools that may be called are met"
        found: dict[str, list[tuple[int, Offer]]] = {}
        for edge in self.graph.into(tool):
            if edge.source == tool or self.need(edge.source) is None:
                continue
            made = list(offers(need, edge, self.graph.tools[edge.source], self._have))
            if made:
                found[edge.source] = made
        supplied = {at for made in found.values() for at, _ in made}
        if not self._partial and len(supplied) < len(need.open):
            # Nobody has what it needs: nothing before it matters.
            found = {}
        self.offers[tool] = found
        self._meet(tool, found)

    def _meet(self, tool: str, found: Mapping[str, Sequence[tuple[int, Offer]]]) -> None:
        so_far = self._distance[tool] + self.own(tool)
        for source, made in found.items():
            need = self.need(source)
            if need is None:
                continue
            self._feeds.setdefault(source, []).append(tool)
            distance = so_far + min(offer.cost for _, offer in made)
            if distance < self._distance.get(source, math.inf):
                self._distance[source] = distance
                if need.open:
                    # It cannot begin a plan: at least one more tool comes before it.
                    heapq.heappush(self._frontier, (distance + self.own(source) + TOOL, source))

    def own(self, tool: str) -> float:
        """Give what a call costs itself."""
        if tool not in self._owns:
            self._owns[tool] = self._own(tool)
        return self._owns[tool]

    def _own(self, tool: str) -> float:
        need = self.need(tool) if tool != GOAL else None
        if need is None:
            return 0.0
        waits = min(1.0, _SECOND * (need.ports.latency_ms or 0.0) / 1_000)
        aimless = AIMLESS if self._have and not need.open and not need.uses_have else 0.0
        changes = CHANGING if tool not in self._allowed and seems_to_change(need.ports) else 0.0
        return TOOL + waits + aimless + changes

    def _way(self, banned: frozenset[str]) -> Found | None:
        """Give the cheapest way that does without some tools."""
        return Knuth(self, banned).way()

    @property
    def met(self) -> Iterable[str]:
        """All tools that were seen to supply something."""
        return self._feeds

    def fed_by(self, tool: str) -> Sequence[str]:
        """Give the tools that were seen to take something from one."""
        return self._feeds.get(tool, ())

    def open(self, tool: str) -> int:
        """Say how many units a tool needs from others."""
        need = self.need(tool) if tool != GOAL else None
        return self._size if need is None else len(need.open)

    def price(self, tool: str) -> float | None:
        """Say what it costs to leave one of them open, if that is possible."""
        if not self._partial:
            return None
        return _NOTHING if tool == GOAL else MISSING
