from __future__ import annotations

import pytest

from graph import catalogues
from graph.making import between, mappings
from halflap.graph.edges import Graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph(catalogues.ALL)


@pytest.mark.parametrize(("source", "target"), catalogues.pairs(catalogues.MUST))
def test_an_edge_where_a_value_can_be_carried(graph: Graph, source: str, target: str) -> None:
    assert between(graph, source, target) is not None


@pytest.mark.parametrize(("source", "target"), catalogues.pairs(catalogues.NEVER))
def test_no_edge_where_there_is_nothing_to_carry(graph: Graph, source: str, target: str) -> None:
    edge = between(graph, source, target)
    assert edge is None, mappings(edge)
