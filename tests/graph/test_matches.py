"""What is at hand goes with the items that have it, and with no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.emit import program
from halflap.graph.plan import plan
from halflap.graph.want import target_of

if TYPE_CHECKING:
    from graph.playing import Play

FLOORS = tool("m", "list_floors", "", {"floors": [{"floor_no": int, "rooms": [{"room_ref": str}]}]})
EXHIBITS = tool("m", "list_exhibits", "floor_no:integer! room_ref!", {"exhibit_refs": [str]})
HOUSE = {
    "floors": [
        {"floor_no": 1, "rooms": [{"room_ref": "R1"}, {"room_ref": "R2"}]},
        {"floor_no": 2, "rooms": []},
        {"floor_no": 3, "rooms": [{"room_ref": "R3"}]},
    ]
}


def played(**have: Any) -> Play:
    graph = graph_of(FLOORS, EXHIBITS)
    planned = plan(graph, want=[target_of(graph, "list_exhibits")], have=have)
    answers: dict[str, Any] = {
        "list_floors": lambda: HOUSE,
        "list_exhibits": lambda floor_no, room_ref: {"exhibit_refs": [f"{floor_no}{room_ref}"]},
    }
    return play(program(planned.suggestions[0]), graph.tools.values(), answers)


def test_only_the_items_inside_of_which_it_is_are_gone_through() -> None:
    assert played(room_ref="R2").of("list_exhibits") == [{"floor_no": 1, "room_ref": "R2"}]


def test_only_what_is_inside_of_the_item_that_has_it_is_gone_through() -> None:
    assert played(floor_no=1).of("list_exhibits") == [
        {"floor_no": 1, "room_ref": "R1"},
        {"floor_no": 1, "room_ref": "R2"},
    ]


@pytest.mark.parametrize("have", [{"room_ref": "R9"}, {"floor_no": 9}])
def test_where_none_has_it_that_is_said(have: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"mcp__m__list_floors returned nothing whose floors.* at hand"):
        played(**have)


def test_where_one_has_it_and_nothing_is_in_that_there_is_nothing() -> None:
    assert played(floor_no=2).value == []


def test_without_anything_at_hand_all_are_gone_through() -> None:
    assert len(played().of("list_exhibits")) == 3
