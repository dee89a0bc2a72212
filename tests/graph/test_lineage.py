"""Counts of observed flows: merging and renaming."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.made import ports
from halflap.graph.lineage import NO_LINEAGE, Count, Flow, Lineage, fitted

_tools = st.sampled_from(["a", "b", ("one", "t", "h"), ("two", "t", "")])
_paths = st.sampled_from(["id", "users[].id", "$", "by.{key}", "['a b']"])
_counts = st.integers(0, 50).flatmap(lambda runs: st.builds(Count, st.integers(runs or 1, 90), st.just(runs)))
lineages = st.dictionaries(st.builds(Flow, _tools, _paths, _tools, _paths), _counts, max_size=8).map(Lineage)


@given(lineages, lineages, lineages)
def test_merging_commutes_associates_and_has_a_unit(one: Lineage, two: Lineage, three: Lineage) -> None:
    assert one.merge(two) == two.merge(one)
    assert one.merge(two).merge(three) == one.merge(two.merge(three))
    assert one.merge(NO_LINEAGE) == one == NO_LINEAGE.merge(one)


@given(lineages, lineages)
def test_renaming_adds_up_flows_that_become_one(one: Lineage, two: Lineage) -> None:
    def name(tool: Any) -> str | None:
        return {"a": "x", "b": "x", ("one", "t", "h"): "y"}.get(tool)

    assert one.named(name).merge(two.named(name)) == one.merge(two).named(name)
    assert all(flow.source in {"x", "y"} for flow in one.named(name).counts)


def test_flows_between_two_tools_come_most_frequent_first() -> None:
    one = Lineage(
        {
            Flow("a", "id", "b", "x"): Count(2, 1),
            Flow("a", "ids[]", "b", "x"): Count(7, 3),
            Flow("b", "id", "a", "x"): Count(9, 9),
        }
    )
    assert one.between("a", "b") == (("ids[]", "x", 7), ("id", "x", 2))
    assert one.between("a", "c") == ()


TOOLS = {
    "a": ports("a", "", "by.{}.id one.id one.{}"),
    "b": ports("b", "id for.{}"),
}


@pytest.mark.parametrize(
    ("seen", "placed"),
    [
        ("by.alice.id", "by.{}.id"),
        ("by.{}.id", "by.{}.id"),
        ("one.id", "one.id"),
        ("one.other", "one.{}"),
        ("by.alice.name", "by.alice.name"),
        ("not a path", "not a path"),
    ],
)
def test_a_key_of_a_map_stands_for_all_its_keys(seen: str, placed: str) -> None:
    found = fitted(Lineage({Flow("a", seen, "b", "id"): Count(2, 1)}), TOOLS)
    assert found.counts == {Flow("a", placed, "b", "id"): Count(2, 1)}


def test_flows_that_become_one_are_added_up() -> None:
    flows = [Flow("a", f"by.{name}.id", "b", f"for.{name}") for name in ("alice", "bob")]
    found = fitted(Lineage(dict.fromkeys(flows, Count(2, 1))), TOOLS)
    assert found.counts == {Flow("a", "by.{}.id", "b", "for.{}"): Count(4, 2)}
