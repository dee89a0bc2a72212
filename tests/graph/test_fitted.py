"""Observed flows are mapped to the fields that tools are known to have."""

from __future__ import annotations

import pytest

from halflap.graph.lineage import Count, Flow, Lineage, fitted
from halflap.graph.paths import VALUE, Path, key
from halflap.graph.ports import Place, Ports, Slot
from halflap.schema import Type

TEXT = Type("string")


def ports(tool: str, places: list[Path], slots: list[Path]) -> Ports:
    return Ports(
        tool,
        "shop",
        tuple(Place(path, TEXT) for path in places),
        tuple(Slot(path, TEXT, required=True) for path in slots),
    )


TOOLS = {
    "a": ports("a", [(key("by"), VALUE, key("id")), (key("one"), key("id")), (key("one"), VALUE)], []),
    "b": ports("b", [], [(key("id"),), (key("for"), VALUE)]),
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
