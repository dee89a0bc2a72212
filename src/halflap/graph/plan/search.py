"""The cheapest plan: Knuth's generalisation of Dijkstra's search to steps that need several others.

**What is minimised.** Each tool has a cost, each link has one from its confidence. Getting to the point of having called a
tool costs the tool itself and the cheapest choice of other tools that together supply what it needs: each of them once,
with the links used. A parameter left to the reader costs more than any plan, so as few as possible are. All costs are
positive, so no tool helps to reach itself.

**Once or repeatedly.** Every tool is looked at in two ways: called once, or possibly for each of many values. What changes
something exists only as called once, and takes values only from tools called once, so no loop reaches it from anywhere
up the chain.

**How much is looked at.** Backwards from what is wanted, the best tools for each parameter, up to sixty tools.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.edges import LEAST
from halflap.graph.effects import may_change
from halflap.graph.naming import words_of
from halflap.graph.paths import key, keys_of, many
from halflap.graph.plan.need import IGNORES_HAVE, MISSING, Need, need_of
from halflap.graph.plan.offers import FAN_OUT, Offer, link_cost, offers
from halflap.graph.workflow import Given, Target

if TYPE_CHECKING:
    from halflap.graph.edges import Graph
    from halflap.graph.edges.fields import Returned
    from halflap.graph.plan.need import Have
    from halflap.graph.ports import Slot

_UNREACHABLE = 1e6
_TOOL = 1.0
_SECOND, _SLOWEST = 0.2, 1.0
"""The cost of a second of latency, and the most that latency adds."""
_FOREIGN = 8.0
"""The cost of using another server where the tool's own server would do. If it were lower, a server could lure plans to its tools."""
_CHANGE = 3.0
"""The cost of a change on the way to something else, where that is allowed."""
_WIDTH = 12
"""Tools looked at for each parameter. Doubling it finds more alternatives, at twice the time."""
_LOOKED_AT, _FIELDS = 36, 200
_MAX_NODES = 60
"""Tools looked at for one plan. Raising it to 100 found no cheaper plan for 600 questions to an API of 1,223 tools."""
_MAX_UNITS = 10
"""Open parameters of one tool for which the cheapest choice is computed; all further ones are left to the reader."""
_MAX_REQUIRED = 30
"""Parameters of a tool on the way to something else; one with more is never the cheapest."""
_MAX_TRIES = 12
_SLACK = 2.0
"""How much more than the best an alternative may cost."""

_SAME, _BARE, _TAIL, _OPTIONAL = 1.0, 0.9, 0.6, 0.8
"""How well a wanted field fits: the whole name, one word that many things may have, only the last word of its name. The
last is a factor for fields that may be missing."""


class Node(NamedTuple):
    """A tool, called once or possibly repeatedly."""

    tool: str
    once: bool


GOAL = Node("", once=False)
"""A pseudo-tool that takes everything wanted."""

_Offers = dict[Node, list[tuple[int, Offer]]]
"""For each source the units that it supplies."""


@dataclass(frozen=True, slots=True)
class Found:
    """A plan: for each tool who supplies which units, and which are missing."""

    cost: float
    choices: Mapping[Node, Mapping[Node, tuple[int, ...]]]
    missing: Mapping[Node, tuple[int, ...]]

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(node.tool for node in self.choices if node != GOAL)


class _Choice(NamedTuple):
    """The cheapest suppliers so far for some units."""

    cost: float
    chosen: tuple[tuple[Node, int], ...] = ()


@dataclass(slots=True)
class _Cover:
    """For each set of units (as bits) the cheapest choice of tools that supplies it."""

    own: float
    prices: Sequence[float]
    """The cost of leaving each unit open."""
    states: dict[int, _Choice] = field(default_factory=lambda: {0: _Choice(0.0)})
    best: tuple[float, int] = field(init=False)
    """The lowest cost, with what is left open, and the units supplied then."""

    def __post_init__(self) -> None:
        self.best = self.own + sum(self.prices), 0

    def add(self, node: Node, cost: float, units: Sequence[tuple[int, Offer]]) -> None:
        """Add a tool: its own cost once, and the cost of each unit taken from it."""
        with_it = {mask: (known.cost + cost, 0, known) for mask, known in self.states.items()}
        for at, offer in units:
            bit = 1 << at
            for mask, (total, taken, known) in list(with_it.items()):
                if not mask & bit and total + offer.cost < with_it.get(mask | bit, (math.inf,))[0]:
                    with_it[mask | bit] = (total + offer.cost, taken | bit, known)
        for mask, (total, taken, known) in with_it.items():
            if taken and (mask not in self.states or total < self.states[mask].cost):
                self.states[mask] = _Choice(total, (*known.chosen, (node, taken)))
                left = sum(price for at, price in enumerate(self.prices) if not mask >> at & 1)
                self.best = min(self.best, (self.own + total + left, mask))


class Search:
    """Finds the cheapest plans."""

    def __init__(
        self,
        graph: Graph,
        want: Sequence[Target],
        have: Have,
        *,
        may_use: Callable[[str], bool],
        may_change: bool = False,
    ) -> None:
        self.graph = graph
        self.have = have
        self.want = want
        self.wanted = frozenset(one.name for one in want if one.kind == "tool")
        self._may_use = may_use
        self._allows_changes = may_change
        self._needs: dict[Node, Need] = {}
        self._allowed: dict[str, bool] = {}
        self.offers: dict[Node, _Offers] = {GOAL: self._goal()}
        """What each tool that was looked at can take from others."""
        todo = list(self.offers[GOAL])
        for node in todo:
            if node not in self.offers:
                is_last = len(self.offers) > _MAX_NODES
                self.offers[node] = {} if is_last else self._offers_for(node)
                todo += [one for one in self.offers[node] if one not in self.offers]

    # Offers between tools

    def _goal(self) -> _Offers:
        goal: _Offers = {}
        for at, target in enumerate(self.want):
            if target.kind == "tool":
                if target.name in self.graph.tools and self._may_use(target.name):
                    goal.setdefault(self._node(target.name), []).append((at, Offer(0.0, ())))
                continue
            for given, fit in self._fields(target.name):
                path = given.place.path
                own = Given((key(target.name),), "step", step=given.tool, source=path, confidence=fit)
                cost = link_cost(fit) + (FAN_OUT if many(path) else 0.0)
                goal.setdefault(self._node(given.tool), []).append((at, Offer(cost, (own,))))
        return goal

    def _fields(self, name: str) -> list[tuple[Returned, float]]:
        """Return the best places of a wanted field: of those that fit equally, the ones that `have` leads to."""
        places = [one for one in field_places(self.graph, name) if self._is_allowed(one[0].tool)]
        places = heapq.nsmallest(_FIELDS, places, key=lambda one: (-one[1], one[0].tool))

        def rank(one: tuple[Returned, float]) -> tuple[bool, int, float, str]:
            need = self.need(self._node(one[0].tool))
            return (not need.uses_have, len(need.open), -one[1], one[0].tool)

        return sorted(places, key=rank)[:_LOOKED_AT]

    def _offers_for(self, node: Node) -> _Offers:
        need = self.need(node)
        found: _Offers = {}
        slots = [slot for unit in need.open if not unit.is_refused for slot in unit.slots]
        for source in dict.fromkeys(one for slot in slots for one in self._sources(need, slot)):
            links = self.graph.links(self.graph.tools[source], need.ports)
            made = offers(need, self.graph.tools[source], links, self.have, once=node.once)
            if made:
                found[self._node(source, once=node.once)] = made

        def is_home(source: Node) -> bool:
            return self.graph.tools[source.tool].server == need.ports.server

        # What a tool's own server offers costs more from others: any server can return a value of any name.
        own = {at for source, made in found.items() if is_home(source) for at, _ in made}
        return {
            source: made
            if is_home(source)
            else [(at, one._replace(cost=one.cost + _FOREIGN * (at in own))) for at, one in made]
            for source, made in found.items()
        }

    def _sources(self, need: Need, slot: Slot) -> list[str]:
        """Return the best tools for a slot: the most certain ones, of these the ones that `have` gives most."""
        home: dict[str, float] = {}
        others: dict[str, float] = {}
        for source, best in self.graph.sources(need.ports, slot):
            # Apart, so that no server can crowd out the tool's own. Servers number their things themselves: what only
            # might fit is taken from no other server.
            is_home = self.graph.tools[source].server == need.ports.server
            own = home if is_home else others
            is_likely = is_home or best.confidence >= LEAST
            if is_likely and len(own) < _LOOKED_AT and self._is_allowed(source):
                own[source] = best.confidence

        def rank(one: tuple[str, float]) -> float:
            # A first estimate of the cost: a tool more for each open parameter.
            own = self.need(self._node(one[0]))
            return link_cost(one[1]) + _TOOL * len(own.open) + IGNORES_HAVE * (not own.uses_have)

        return [source for found in (home, others) for source, _ in sorted(found.items(), key=rank)[:_WIDTH]]

    def _node(self, tool: str, *, once: bool = False) -> Node:
        return Node(tool, once or may_change(self.graph.tools[tool]))

    def _is_allowed(self, tool: str) -> bool:
        """Return whether a tool may be in a plan: one that may change something only if it is wanted or allowed."""
        if tool not in self._allowed:
            ports = self.graph.tools[tool]
            is_read = tool in self.wanted or self._allows_changes or not may_change(ports)
            self._allowed[tool] = is_read and len(ports.required) <= _MAX_REQUIRED and self._may_use(tool)
        return self._allowed[tool]

    def offered(self, node: Node, source: str) -> dict[int, Offer]:
        """Return what one tool offers another, by unit."""
        return {
            at: offer for one, made in self.offers[node].items() if one.tool == source for at, offer in made
        }

    def need(self, node: Node) -> Need:
        if node not in self._needs:
            ports = self.graph.tools[node.tool]
            self._needs[node] = need_of(
                ports, self.have, is_wanted=node.tool in self.wanted, may_repeat=not node.once
            )
        return self._needs[node]

    # The cheapest plans

    def best(self, limit: int) -> list[Found]:
        """Return the cheapest plans; each does without some tool of each one before it."""
        first = self._cheapest(frozenset())
        if first is None:
            return []
        found: list[Found] = []
        seen = {frozenset[str]()}
        queue = [(first.cost, 0, frozenset[str](), first)]
        while queue and len(found) < limit:
            _, _, banned, plan = heapq.heappop(queue)
            if not any(one.tools <= plan.tools for one in found):
                found.append(plan)
            for tool in sorted(plan.tools - self.wanted) if len(found) < limit else ():
                without = banned | {tool}
                if without not in seen and len(seen) <= _MAX_TRIES:
                    seen.add(without)
                    other = self._cheapest(without)
                    if other is not None and other.cost <= first.cost + _SLACK:
                        heapq.heappush(queue, (other.cost, len(seen), without, other))
        return found

    def _cheapest(self, banned: frozenset[str]) -> Found | None:
        feeds: dict[Node, list[Node]] = {}
        covers: dict[Node, _Cover] = {}
        queue: list[tuple[float, Node]] = []
        for node, found in self.offers.items():
            if node.tool in banned:
                continue
            covers[node] = self._cover(node)
            heapq.heappush(queue, (covers[node].best[0], node))
            for source in found:
                feeds.setdefault(source, []).append(node)
        settled: dict[Node, tuple[float, int]] = {}
        while queue:
            cost, node = heapq.heappop(queue)
            if node in settled:
                continue
            settled[node] = covers[node].best
            if node == GOAL:
                return None if cost >= _UNREACHABLE else self._found(covers, settled)
            for target in feeds.get(node, ()):
                if target not in settled:
                    before = covers[target].best[0]
                    units = [one for one in self.offers[target][node] if one[0] < _MAX_UNITS]
                    covers[target].add(node, cost, units)
                    if covers[target].best[0] < before:
                        heapq.heappush(queue, (covers[target].best[0], target))
        return None

    def _cover(self, node: Node) -> _Cover:
        if node == GOAL:
            return _Cover(0.0, [_UNREACHABLE] * len(self.want))
        need = self.need(node)
        cost = _TOOL + min(_SLOWEST, _SECOND * (need.ports.latency_ms or 0.0) / 1000)
        if node.tool not in self.wanted and may_change(need.ports):
            cost += _CHANGE
        return _Cover(cost, [one.price for one in need.open])

    def _found(self, covers: Mapping[Node, _Cover], settled: Mapping[Node, tuple[float, int]]) -> Found:
        choices: dict[Node, dict[Node, tuple[int, ...]]] = {}
        missing: dict[Node, tuple[int, ...]] = {}
        todo = [GOAL]
        for node in todo:
            if node in choices:
                continue
            mask = settled[node][1]
            size = len(covers[node].prices)
            chosen = covers[node].states[mask].chosen
            choices[node] = {one: tuple(at for at in range(size) if bits >> at & 1) for one, bits in chosen}
            missing[node] = tuple(
                at for at, price in enumerate(covers[node].prices) if not mask >> at & 1 and price >= MISSING
            )
            todo += [one for one, _ in chosen]
        return Found(
            settled[GOAL][0], _merged(choices), {node: units for node, units in missing.items() if units}
        )


def _merged(choices: dict[Node, dict[Node, tuple[int, ...]]]) -> dict[Node, dict[Node, tuple[int, ...]]]:
    """Make one step of a tool that is needed both once and repeatedly: the call made once serves both."""
    once = {node.tool for node in choices if node.once}

    def one(node: Node) -> Node:
        return Node(node.tool, once=True) if node.tool in once else node

    return {
        node: {one(source): units for source, units in sources.items()}
        for node, sources in choices.items()
        if one(node) == node
    }


# Wanted fields ---------------------------------------------------------------------------------------


def field_places(graph: Graph, text: str) -> Iterator[tuple[Returned, float]]:
    """Yield for each tool that returns a field its best place, and how well the name fits."""
    wanted = words_of(text)
    best: dict[str, tuple[float, int, int, Returned]] = {}
    for given in graph.index.every() if wanted else ():
        if not any(own.words[-1:] == wanted[-1:] for own in given.meaning.identities):
            continue
        fit = _fit(wanted, given) * (_OPTIONAL if given.place.is_optional else 1.0)
        path = given.place.path
        rank = (fit, -many(path), -len(path))
        if fit and (given.tool not in best or rank > best[given.tool][:3]):
            best[given.tool] = (*rank, given)
    yield from ((given, fit) for fit, _, _, given in best.values())


def _fit(wanted: tuple[str, ...], given: Returned) -> float:
    keys = words_of(" ".join(keys_of(given.place.path)))
    for own in given.meaning.identities:
        if own.words == wanted:
            return _SAME if len(wanted) > 1 else _BARE
        thing = (*own.thing, *own.words[-1:])
        if len(wanted) > 1 and wanted in (thing[-len(wanted) :], keys[-len(wanted) :]):
            return _SAME
    return _TAIL if len(wanted) == 1 else 0.0
