from __future__ import annotations

import pytest

from graph import catalogues, catalogues_more
from graph.making import between, mappings
from halflap.graph.graph import Graph


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph(catalogues.ALL)


@pytest.fixture(scope="module")
def more() -> Graph:
    return Graph(catalogues_more.MORE)


@pytest.mark.parametrize(("source", "target"), catalogues.pairs(catalogues.MUST))
def test_what_feeds_what_is_an_edge(graph: Graph, source: str, target: str) -> None:
    assert between(graph, source, target) is not None


@pytest.mark.parametrize(("source", "target"), catalogues.pairs(catalogues.NEVER))
def test_where_there_is_nothing_to_carry_is_none(graph: Graph, source: str, target: str) -> None:
    edge = between(graph, source, target)
    assert edge is None, mappings(edge)


def test_of_further_servers_nearly_all_that_feeds_is_found(more: Graph) -> None:
    must = catalogues.pairs(catalogues_more.MUST)
    missed = [pair for pair in must if between(more, *pair) is None]
    assert len(missed) <= 0.05 * len(must), missed


def test_and_nothing_that_does_not(more: Graph) -> None:
    made = [pair for pair in catalogues.pairs(catalogues_more.NEVER) if between(more, *pair) is not None]
    assert not made


def test_servers_beside_each_other_do_not_confuse() -> None:
    both = Graph([*catalogues.ALL, *catalogues_more.MORE])
    must = catalogues.pairs(catalogues.MUST) + catalogues.pairs(catalogues_more.MUST)
    never = catalogues.pairs(catalogues.NEVER) + catalogues.pairs(catalogues_more.NEVER)
    assert sum(between(both, *pair) is None for pair in must) <= 0.05 * len(must)
    assert not [pair for pair in never if between(both, *pair) is not None]
