from __future__ import annotations

import pytest

from graph.catalogues import ALL, MUST, NEVER, pairs
from graph.making import between, mappings
from halflap.graph.graph import Graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph(ALL)


@pytest.mark.parametrize(("source", "target"), pairs(MUST))
def test_what_feeds_what_is_an_edge(graph: Graph, source: str, target: str) -> None:
    assert between(graph, source, target) is not None


@pytest.mark.parametrize(("source", "target"), pairs(NEVER))
def test_where_there_is_nothing_to_carry_is_none(graph: Graph, source: str, target: str) -> None:
    edge = between(graph, source, target)
    assert edge is None, mappings(edge)
