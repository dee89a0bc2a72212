"""Laws of the graph, on random catalogues."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.making import graph_of, tool
from halflap.graph.edges import Graph, explain
from halflap.graph.types import conflict, form_of
from support import THOROUGH, examples

if TYPE_CHECKING:
    from halflap.graph.edges import Edge
    from halflap.graph.ports import Ports

NAMES = st.sampled_from(
    [
        "id",
        "name",
        "customer_id",
        "customerId",
        "customers",
        "order",
        "order_ids",
        "url",
        "email",
        "path",
        "start",
        "status",
        "cursor",
        "next_cursor",
    ]
)
SCALARS = st.sampled_from([str, int, float, "email", "uri", "date", {"open", "closed"}])
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        inner.map(lambda one: [one]),
        st.dictionaries(NAMES, inner, min_size=1, max_size=4),
        inner.map(lambda one: {...: one}),
    ),
    max_leaves=6,
)
TOOL_NAMES = st.sampled_from(
    ["list_customers", "get_order", "search", "delete_customer", "create_order", "get_user_id"]
)
TEXTS = st.sampled_from(
    ["", "Use with get_order.", "From list_customers or search.", "Finds customers and users."]
)


@st.composite
def catalogues(draw: st.DrawFn, most: int = 6) -> list[Ports]:
    made = {}
    for _ in range(draw(st.integers(2, most))):
        server, name = draw(st.sampled_from("ab")), draw(TOOL_NAMES)
        takes = {
            f"{one}{draw(st.sampled_from(['', '!']))}": draw(VALUES)
            for one in draw(st.lists(NAMES, max_size=4, unique=True))
        }
        gives = draw(VALUES)
        ports = tool(server, name, takes, gives if draw(st.booleans()) else {"rows": [gives]}, draw(TEXTS))
        made[ports.tool] = ports
    return list(made.values())


def edges(graph: Graph) -> dict[tuple[str, str], Edge]:
    return {(edge.source, edge.target): edge for edge in graph.edges(best=100)}


@settings(max_examples=examples(150), deadline=None)
@given(catalogues(), st.data())
def test_tools_that_come_and_go_in_any_order_leave_the_same_edges(
    ports: list[Ports], data: st.DataObject
) -> None:
    graph = Graph()
    for step in range(data.draw(st.integers(0, 12))):
        one = data.draw(st.sampled_from(ports))
        if data.draw(st.booleans()):
            graph.put(one)
        elif step % 2:
            graph.put(replace(one, places=one.places[1:], description="Another."))
        else:
            graph.remove(one.tool)
        if data.draw(st.booleans()):
            # So that there is something to be forgotten.
            list(graph.edges())
            graph.out_of(one.tool)
    for one in data.draw(st.permutations(ports)):
        graph.put(one)
    fresh = Graph(ports)
    assert edges(graph) == edges(fresh)
    assert graph.tools == fresh.tools


@settings(max_examples=examples(150), deadline=None)
@given(catalogues())
def test_an_edge_is_the_same_from_its_source_its_target_and_the_pair(ports: list[Ports]) -> None:
    graph = Graph(ports)
    into = edges(graph)
    out = {(edge.source, edge.target): edge for one in ports for edge in graph.out_of(one.tool)}
    alone = {
        (one.tool, other.tool): edge
        for one in ports
        for other in ports
        if (edge := graph.edge(one.tool, other.tool)) is not None
    }
    assert into == out == alone


@settings(max_examples=examples(150), deadline=None)
@given(catalogues())
def test_types_fit_and_confidence_and_coverage_follow_from_the_links(ports: list[Ports]) -> None:
    by_name = {one.tool: one for one in ports}
    for edge in Graph(ports).edges():
        target = by_name[edge.target]
        places = {place.path: place.type for place in by_name[edge.source].places}
        slots = {slot.path: slot.type for slot in target.slots}
        for link in edge.links:
            assert not conflict(form_of(places[link.source]), form_of(slots[link.target]))
            assert 0 < link.confidence <= edge.confidence <= 1
        touched = {link.target[0].key for link in edge.links}
        assert (edge.coverage == "optional") == (not target.required & touched)


@settings(max_examples=examples(100), deadline=None)
@given(catalogues())
def test_renaming_all_tools_changes_nothing_but_names(ports: list[Ports]) -> None:
    renamed = [replace(one, tool=f"zz_{one.tool[::-1]}") for one in ports]
    before = {
        (f"zz_{source[::-1]}", f"zz_{target[::-1]}"): edge.links
        for (source, target), edge in edges(Graph(ports)).items()
    }
    assert before == {pair: edge.links for pair, edge in edges(Graph(renamed)).items()}


@settings(max_examples=examples(100), deadline=None)
@given(catalogues())
def test_every_pair_is_explained(ports: list[Ports]) -> None:
    graph = Graph(ports)
    for one in ports:
        for other in ports:
            told = explain(graph, one.tool, other.tool)
            assert told.edge == graph.edge(one.tool, other.tool)
            assert bool(told.near) == (told.edge is None)
            assert told.to_json()["from"] == one.tool


@pytest.mark.slow
def test_huge_catalogues_of_one_server_stay_bounded() -> None:
    # Each could supply each from hundreds of places, and their descriptions say that they do.
    names = [f"tool_{number}" for number in range(12 if THOROUGH else 6)]
    text = f"Use with {', '.join(names)}. " * 40
    many = {f"part_{number}": {"customer_id": str, "id": str, "url": "uri"} for number in range(130)}
    graph = graph_of(
        *(
            tool("evil", name, {f"{part}!": inner for part, inner in many.items()}, many, text)
            for name in names
        )
    )
    # Of the tools that could fill a parameter, the best five are kept.
    assert len(list(graph.edges())) == len(names) * min(5, len(names) - 1)
    assert all(len(edge.links) <= 3 * 600 for edge in graph.edges())
