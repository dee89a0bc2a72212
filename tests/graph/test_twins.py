"""Of two parameters that take two of a kind, none gets what the other has; and nothing gets again what it has already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.edge import key
from halflap.graph.emit import program
from halflap.graph.plan import plan
from halflap.graph.twins import are_twins
from halflap.graph.want import target_of

if TYPE_CHECKING:
    from halflap.graph.edge import Ports
    from halflap.graph.plan import Planned

HIVES = tool("x", "list_hives", "", {"hives": [{"hive_id": str}]})
WEAK = tool("x", "search_hives", "", {"found": [{"hive_id": str}]})
NEWEST = tool("x", "get_newest_hive", "", {"hive_id": str})
ANSWERS: Any = {
    "list_hives": lambda: {"hives": [{"hive_id": one} for one in ("h1", "h2", "h3")]},
    "search_hives": lambda: {"found": [{"hive_id": one} for one in ("h2", "h4")]},
    "get_newest_hive": lambda: {"hive_id": "h1"},
    "compare_hives": lambda **given: sorted(given.values()),
}


def planned(want: str, have: dict[str, Any], *tools: Ports, every: bool = False) -> Planned:
    graph = graph_of(*tools)
    return plan(graph, want=[target_of(graph, want)], have=have, every=every)


def compares(takes: str = "hive_a! hive_b!") -> Ports:
    """Make a tool that takes two of a kind, and says where each comes from."""
    names = takes.replace("!", "").split()
    said = {
        f"{name}!": {"type": "string", "description": f"From {source} or get_newest_hive."}
        for name, source in zip(names, ("list_hives", "search_hives"), strict=True)
    }
    return tool("x", "compare_hives", said, {"better": str})


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("hive_a", "hive_b", True),
        ("hive_id_1", "hive_id_2", True),
        ("first_hive_id", "second_hive_id", True),
        ("hive_id", "other_hive_id", True),
        ("from_hive_id", "to_hive_id", True),
        ("hive_id", "queen_id", False),
        ("from_day", "to_day", False),
        ("a", "b", False),
    ],
)
def test_two_of_a_kind_are_told_by_their_names(one: str, other: str, expected: bool) -> None:
    assert are_twins(compares(), (key(one),), (key(other),)) is expected


@pytest.mark.parametrize("takes", ["hive_a! hive_b!", "first_hive_id! second_hive_id!"])
class TestTwoOfAKind:
    def test_from_one_list_one_is_chosen_and_the_other_is_missing(self, takes: str) -> None:
        found = planned("compare_hives", {}, compares(takes), HIVES)
        assert len(found.missing) == 1
        assert found.missing[0].name in takes

    def test_what_is_at_hand_is_not_compared_with_itself(self, takes: str) -> None:
        name = takes.partition("!")[0]
        second = takes.rpartition(" ")[2].rstrip("!")
        given = {f"{name}!": str, f"{second}!": {"type": "string", "description": "From list_hives."}}
        tools = (tool("x", "compare_hives", given, {"better": str}), HIVES)
        (first, *_) = planned("compare_hives", {name: "h1"}, *tools).suggestions
        made = play(program(first), tools, ANSWERS)
        assert made.value == [["h1", "h2"], ["h1", "h3"]]

    def test_of_two_lists_nothing_is_paired_with_itself(self, takes: str) -> None:
        tools = (compares(takes), HIVES, WEAK)
        (first, *_) = planned("compare_hives", {}, *tools).suggestions
        assert not first.missing
        pairs = play(program(first), tools, ANSWERS).value
        assert sorted(pairs) == [["h1", "h2"], ["h1", "h4"], ["h2", "h3"], ["h2", "h4"], ["h3", "h4"]]

    def test_a_single_one_that_is_the_same_is_an_error(self, takes: str) -> None:
        name = takes.partition("!")[0]
        tools = (compares(takes), NEWEST)
        (first, *_) = planned("compare_hives", {name: "h1"}, *tools).suggestions
        assert not first.missing
        with pytest.raises(ValueError, match=r"compare_hives would get the same twice, as \w+ and \w+"):
            play(program(first), tools, ANSWERS)
        (first, *_) = planned("compare_hives", {name: "h7"}, *tools).suggestions
        assert play(program(first), tools, ANSWERS).value == ["h1", "h7"]


def test_two_objects_of_a_kind_get_different_ones() -> None:
    inner = {"type": "object", "properties": {"hive_id": {"type": "string"}}, "required": ["hive_id"]}
    pair = tool("x", "compare_hives", {"left!": inner, "right!": inner}, {"better": str})
    assert [one.name for one in planned("compare_hives", {}, pair, HIVES).missing] in (
        ["left.hive_id"],
        ["right.hive_id"],
    )


class TestWhatSomethingGetsAnotherOf:
    DETAIL = tool("x", "get_hive", "hive_id!", {"hive_id": str, "queen": {"id": str}})
    LIST = tool("x", "list_hives", "", {"hives": [{"id": str, "queen": {"id": str}}]})
    QUEENS = tool("x", "get_chosen_queen", "", {"queen_id": str})

    @pytest.mark.parametrize(
        "change", ["requeen_hive", "change_hive_queen", "replace_queen", "swap_queen", "assign_queen"]
    )
    def test_is_not_what_it_has(self, change: str) -> None:
        changes = tool("x", change, "hive_id! queen_id!", {"ok": bool})
        found = planned(change, {"hive_id": "h1"}, changes, self.DETAIL, self.LIST)
        (lack,) = found.missing
        assert lack.name == "queen_id"
        assert lack.note.startswith("It is the new value")
        assert {one["why"] for one in lack.could} == {"it is what is there now, which is to be replaced"}

    def test_comes_from_elsewhere(self) -> None:
        changes = tool("x", "requeen_hive", "hive_id! queen_id!", {"ok": bool})
        found = planned("requeen_hive", {"hive_id": "h1"}, changes, self.DETAIL, self.QUEENS)
        tools = [one.ports.original_name for one in found.suggestions[0].tasks]
        assert tools == ["get_chosen_queen", "requeen_hive"]

    def test_does_not_choose_those_that_have_it(self) -> None:
        changes = tool("x", "requeen_hive", "hive_id! queen_id!", {"ok": bool})
        (first, *_) = planned("requeen_hive", {"queen_id": "q1"}, changes, self.LIST, every=True).suggestions
        assert not first.tasks[-1].matches

    def test_what_only_says_where_may_be_read_from_it(self) -> None:
        """The address that an order goes to is the order's own."""
        ships = tool("x", "ship_order", "order_id! address_id!", {"ok": bool})
        order = tool("x", "get_order", "order_id!", {"order_id": str, "address_id": str})
        found = planned("ship_order", {"order_id": "o1"}, ships, order)
        assert not found.missing
