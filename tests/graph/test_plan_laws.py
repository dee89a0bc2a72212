"""The planner against an exhaustive search on small random graphs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.made import graph_of, ports
from halflap.graph.plan import Target, plan
from halflap.graph.plan.need import MISSING
from halflap.graph.plan.offers import MENTIONED, link_cost

if TYPE_CHECKING:
    from halflap.graph.edges import Graph

_ids = st.sets(st.sampled_from(["alpha_id", "beta_id", "gamma_id", "delta_id"]), max_size=3)
_graphs = st.lists(st.tuples(_ids, _ids), min_size=2, max_size=6).map(
    lambda tools: graph_of(
        *(ports(f"get_t{at}", " ".join(takes), " ".join(gives)) for at, (takes, gives) in enumerate(tools))
    )
)


def cheapest(graph: Graph) -> dict[str, float]:
    """Try every choice of suppliers for every tool, with ever better costs of the suppliers, until nothing improves."""
    costs = {name: 1 + MISSING * len(one.required) for name, one in graph.tools.items()}
    links = {
        (source, target): {
            # None of these tools lists things.
            link.target[0].key: link_cost(link.confidence) + MENTIONED * (not one.required)
            for link in graph.links(one, other)
        }
        for source, one in graph.tools.items()
        for target, other in graph.tools.items()
        if one is not other
    }
    while True:
        before = dict(costs)
        for name, tool in graph.tools.items():
            suppliers = [
                [None, *(one for one in graph.tools if slot in links.get((one, name), ()))]
                for slot in tool.required
            ]
            for choice in product(*suppliers):
                used = {one for one in choice if one is not None}
                cost = 1 + sum(costs[one] for one in used)
                for slot, one in zip(tool.required, choice, strict=True):
                    cost += MISSING if one is None else links[one, name][slot]
                costs[name] = min(costs[name], cost)
        if costs == before:
            return costs


@given(_graphs)
def test_no_plan_is_cheaper_than_the_one_that_is_suggested(graph: Graph) -> None:
    for name, cost in cheapest(graph).items():
        best = plan(graph, want=[Target("tool", name)], have={}, limit=1).suggestions[0]
        assert best.cost == pytest.approx(cost)


@given(_graphs)
def test_steps_come_after_what_they_need_and_missing_values_are_told(graph: Graph) -> None:
    for name in graph.tools:
        found = plan(graph, want=[Target("tool", name)], have={}, limit=3)
        for one in found.suggestions:
            done: set[str] = set()
            for task in one.tasks:
                assert done.issuperset(task.sources)
                assert {given.slot[0].key for given in task.arguments} >= task.ports.required
                done.add(task.id)
        assert len(found.missing) == len(found.suggestions[0].missing)
