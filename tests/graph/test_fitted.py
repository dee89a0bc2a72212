"""Observed flows are mapped to the fields that tools are known to have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.graph.lineage import Count, Flow, Lineage, fitted
from halflap.graph.paths import EACH, NAME, VALUE, Path, key, path_text, read_path
from halflap.graph.ports import Place, Ports, Slot
from halflap.schema import Type

TEXT = Type("string")
STEPS = st.one_of(
    st.sampled_from([EACH, VALUE]),
    st.one_of(
        st.text(min_size=1, max_size=6), st.sampled_from(["a'b", 'a"b', "a\\", "[]", "{key}", "x.y"])
    ).map(key),
)
PATHS = st.builds(
    lambda steps, last: tuple(steps) + last,
    st.lists(STEPS, max_size=5),
    st.sampled_from([(), (NAME,)]),
)


@given(PATHS)
def test_paths_round_trip(path: Path) -> None:
    assert read_path(path_text(path)) == path


@pytest.mark.parametrize("text", ["", ".", "a..b", "['a", "[1]", "a b", "{x}", "['\\x']"])
def test_malformed_paths_are_not_read(text: str) -> None:
    assert not read_path(text)


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
