"""The planner against brute force, on small graphs with cycles."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from graph.made import Made, edge, link, ports
from halflap.graph.have import Have
from halflap.graph.plan import plan
from halflap.graph.search import GIVEN_UP, MISSING, SLACK, Search
from halflap.graph.supply import CROSSING, OTHERS_VALUE
from halflap.graph.terms import AIMLESS, TOOL, Terms
from halflap.graph.plan import goal_of
from halflap.graph.workflow import Target
from support import examples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.graph.ports import Ports

OPEN = "left open"
NAMES = ("alpha", "beta", "gamma", "delta")


@st.composite
def graphs(draw: st.DrawFn) -> Made:
    """Make a graph of a few tools that take some of four things, and links of any sureness between any of them."""
    count = draw(st.integers(2, 5))
    tools = [
        ports(
            f"tool{at}",
            " ".join(draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))),
            " ".join(f"out_{name}" for name in NAMES),
            server=draw(st.sampled_from(["one", "two"])),
            destructive=draw(st.integers(0, 7)) == 0,
            latency=draw(st.sampled_from([None, 200.0, 3_000.0])),
        )
        for at in range(count)
    ]
    edges = []
    for source, target in itertools.product(tools, tools):
        if source is target:
            continue
        links = [
            link(f"out_{slot.parameter}", slot.parameter, sure)
            for slot in target.slots
            if (sure := draw(st.sampled_from([0.0, 0.0, 0.2, 0.5, 0.95])))
        ]
        if links:
            edges.append(edge(source, target, *links))
    return Made.of(*tools, edges=edges, by_name=False)


class Everything:
    """Tries all ways to supply a tool, and all ways to supply those, never a tool from what needs it."""

    def __init__(
        self, graph: Made, have: Mapping[str, object], wanted: str, *, partial: bool = False
    ) -> None:
        self._graph = graph
        self._have = have
        self._wanted = wanted
        self._partial = partial

    def ways(self, tool: str, after: frozenset[str] = frozenset()) -> dict[frozenset[str], float]:
        """Give the sets of tools that get to having called a tool, each with the least that it costs."""
        one = self._graph.tools[tool]
        if one.is_destructive and tool != self._wanted:
            return {}
        lacking = sorted(one.required - self._have.keys())
        own = TOOL + min(1.0, 0.2 * (one.latency_ms or 0) / 1_000)
        if self._have and not lacking and not one.required & self._have.keys():
            own += AIMLESS
        inner = after | {tool}
        found: dict[frozenset[str], float] = {}
        for sources in itertools.product(*(self._sources(one, name, inner) for name in lacking)):
            links = sum(cost for _, cost in sources)
            several = [
                self.ways(source, inner) for source in sorted({source for source, _ in sources} - {OPEN})
            ]
            for chosen in itertools.product(*(ways.items() for ways in several)):
                tools = frozenset({tool}).union(*(part for part, _ in chosen))
                cost = own + links + sum(part for _, part in chosen)
                found[tools] = min(cost, found.get(tools, math.inf))
        return found

    def _sources(self, target: Ports, name: str, without: frozenset[str]) -> Iterator[tuple[str, float]]:
        is_offered = False
        tools = self._graph.tools
        at_home = any(
            tools[one.source].server == target.server
            and (one.source == self._wanted or not tools[one.source].is_destructive)
            for one in self._graph.into(target.tool)
            for found in one.links
            if found.target[0].key == name
        )
        for one in self._graph.into(target.tool):
            for found in one.links:
                if found.target[0].key == name:
                    is_offered |= (
                        one.source == self._wanted or not self._graph.tools[one.source].is_destructive
                    )
                    if one.source not in without:
                        crosses = self._graph.tools[one.source].server != target.server
                        more = CROSSING + (OTHERS_VALUE if at_home else 0.0)
                        yield one.source, -math.log(found.confidence) + (more if crosses else 0.0)
        if self._partial:
            yield OPEN, MISSING + (GIVEN_UP if is_offered else 0.0)


@settings(max_examples=examples(300), deadline=None)
@given(graphs(), st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
def test_plans_are_optimal_and_in_order(graph: Made, held: list[str]) -> None:
    have = dict.fromkeys(held, "x")
    wanted = next(iter(graph.tools))
    all_ways = Everything(graph, have, wanted).ways(wanted)

    planned = plan(graph, want=[Target("tool", wanted)], have=have)

    whole = [one for one in planned.suggestions if not one.missing]
    assert bool(whole) == bool(all_ways)
    seen: list[frozenset[str]] = []
    least = min(all_ways.values(), default=0.0)
    for one in whole:
        left = {tools: cost for tools, cost in all_ways.items() if not any(old <= tools for old in seen)}
        assert math.isclose(one.cost, min(left.values()), abs_tol=1e-9)
        assert not any(old <= one.tools for old in seen)
        seen.append(one.tools)
    left = {tools: cost for tools, cost in all_ways.items() if not any(old <= tools for old in seen)}
    assert len(whole) == 3 or not any(cost <= least + SLACK - 1e-9 for cost in left.values())


@settings(max_examples=examples(100), deadline=None)
@given(graphs(), st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
def test_the_first_partial_plan_is_the_cheapest(graph: Made, held: list[str]) -> None:
    have = dict.fromkeys(held, "x")
    wanted = next(iter(graph.tools))
    all_ways = Everything(graph, have, wanted, partial=True).ways(wanted)
    target = [Target("tool", wanted)]

    terms = Terms(graph, Have(have), frozenset({wanted}))
    [first, *_] = Search(terms, goal_of(graph, target), 1, partial=True).best(1)

    assert math.isclose(first.total, min(all_ways.values()), abs_tol=1e-6)


@settings(max_examples=examples(150), deadline=None)
@given(graphs(), st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
def test_every_required_parameter_comes_from_an_earlier_step(graph: Made, held: list[str]) -> None:
    wanted = next(iter(graph.tools))
    for one in plan(graph, want=[Target("tool", wanted)], have=dict.fromkeys(held, 1)).suggestions:
        done: set[str] = set()
        for task in one.tasks:
            assert {given.slot[0].key for given in task.arguments} >= task.ports.required
            assert done.issuperset(task.sources)
            done.add(task.id)
        destructive = {task.ports.tool for task in one.tasks if task.ports.is_destructive}
        assert destructive <= {wanted}


@settings(max_examples=examples(100), deadline=None)
@given(graphs(), st.permutations(NAMES))
def test_the_order_of_available_values_does_not_matter(graph: Made, names: list[str]) -> None:
    wanted = next(iter(graph.tools))
    target = [Target("tool", wanted)]
    have = {name: name for name in names[:2]}
    turned = dict(reversed(have.items()))
    assert plan(graph, want=target, have=have).to_json() == plan(graph, want=target, have=turned).to_json()


@settings(max_examples=examples(100), deadline=None)
@given(graphs())
def test_a_partial_plan_leaves_as_little_open_as_possible(graph: Made) -> None:
    """Nothing is left open that some tool, called with what is there, would have supplied."""
    wanted = next(iter(graph.tools))
    planned = plan(graph, want=[Target("tool", wanted)], have={})
    first = planned.suggestions[0]
    lacking = {(first.order[step].ports.tool, slot[0].key) for step, slot in first.missing}
    assert {(one.tool, one.name) for one in planned.missing} == lacking
    callable_ = {
        tool
        for tool, one in graph.tools.items()
        if not one.is_destructive and Everything(graph, {}, wanted).ways(tool)
    }
    for tool, name in lacking:
        suppliers = {one.source for one in graph.into(tool) for two in one.links if two.target[0].key == name}
        assert not suppliers & (callable_ - {wanted})
