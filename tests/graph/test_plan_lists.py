"""A list at hand for a parameter that takes one value is gone through, one call for each item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import Made, ports
from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.emit import program
from halflap.graph.plan import plan
from halflap.graph.want import target_of
from halflap.schema import Type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graph.playing import Play

GET = ports("get_order", "order_id", "customer_id total")
CUSTOMER = ports("get_customer", "customer_id", "email?")
CANCEL = ports("cancel_order", "order_id", "done")
ALL = ports("list_orders", "", "orders[].order_id")
GRAPH = Made.of(GET, CUSTOMER, CANCEL, ALL)


def asked(want: str, have: Mapping[str, Any], graph: Made = GRAPH) -> dict[str, Any]:
    return plan(graph, want=[target_of(graph, want)], have=have).to_json()


def played(want: str, have: Mapping[str, Any], graph: Made = GRAPH, **answers: Any) -> Play:
    (first, *_) = asked(want, have, graph)["suggestions"]
    return play(first["program"], graph.tools.values(), answers)


@pytest.mark.parametrize("want", ["get_order", "cancel_order"])
@pytest.mark.parametrize("name", ["order_id", "order_ids"])
def test_it_is_called_for_each_item(want: str, name: str) -> None:
    found = asked(want, {name: ["a", "b"]})
    (step,) = found["suggestions"][0]["steps"]
    assert step["fan_out"] == [{"step": "have", "path": f"{name}[]"}]
    assert step["arguments"]["order_id"] == {
        "from": "have",
        "name": name,
        "value": ["a", "b"],
        "each": True,
    }
    assert found["suggestions"][0]["unused"] == found["missing"] == []
    made = played(
        want, {name: ["a", "b"]}, get_order=lambda order_id: order_id, cancel_order=lambda order_id: order_id
    )
    assert made.value == ["a", "b"]


def test_what_comes_after_is_called_as_often() -> None:
    made = played(
        "get_customer",
        {"order_id": ["a", "b"]},
        get_order=lambda order_id: {"customer_id": f"of {order_id}", "total": "1"},
        get_customer=lambda customer_id: customer_id,
    )
    assert made.value == ["of a", "of b"]


def test_a_change_is_not_done_to_each_of_what_was_found_for_the_items() -> None:
    graph = Made.of(GET, ports("delete_customer", "customer_id", "done"))
    found = asked("delete_customer", {"order_id": ["a", "b"]}, graph)
    assert found["suggestions"][0]["missing"]


def test_items_go_beside_single_values_and_as_the_type_takes_them() -> None:
    graph = Made.of(ports("get_line", "order_id line", "sku", types={"line": Type("integer")}))
    made = played(
        "get_line", {"order_id": [7, "8"], "line": 2}, graph, get_line=lambda order_id, line: [order_id, line]
    )
    assert made.value == [["7", 2], ["8", 2]]


def test_a_list_is_given_whole_to_what_takes_a_list_and_item_by_item_to_what_takes_one() -> None:
    graph = Made.of(
        ports("get_names", "box_ids[]", "label", types={"box_ids[]": Type("integer")}),
        ports("show_box", "box_id label", "inside"),
    )
    made = played(
        "show_box",
        {"box_ids": [1, 2]},
        graph,
        get_names=lambda box_ids: {"label": f"of {sum(box_ids)}"},
        show_box=lambda box_id, label: [box_id, label],
    )
    assert made.value == [["1", "of 3"], ["2", "of 3"]]


@pytest.mark.parametrize("value", [[], [["a"]], ["a", {"id": 1}], [True]])
def test_a_list_of_something_else_is_refused(value: list[Any]) -> None:
    found = asked("get_order", {"order_id": value})
    assert found["suggestions"][0]["missing"]
    assert "'order_id' is at hand" in found["missing"][0]["note"]


class TestAParameterThatTakesSeveral:
    PLAYLISTS = tool("m", "list_playlists", "", {"playlists": [{"playlist_id": str}]})
    TRACKS = tool("m", "list_tracks", "playlist_id!", {"tracks": [{"track_id": str, "title": str}]})
    RECOMMEND = tool("m", "get_recommended", "seed_track_ids:string[]!", {"titles": [str]})
    OF = {"p1": ["t1", "t2"], "p2": ["t3"]}  # noqa: RUF012 -- never changed

    def calls(self, **have: Any) -> list[Any]:
        graph = graph_of(self.PLAYLISTS, self.TRACKS, self.RECOMMEND)
        (first, *_) = plan(graph, want=[target_of(graph, "get_recommended")], have=have).suggestions
        assert not first.missing
        answers: dict[str, Any] = {
            "list_playlists": lambda: {"playlists": [{"playlist_id": one} for one in self.OF]},
            "list_tracks": lambda playlist_id: {
                "tracks": [{"track_id": one, "title": f"title of {one}"} for one in self.OF[playlist_id]]
            },
        }
        made = play(program(first), graph.tools.values(), answers)
        return [one["seed_track_ids"] for one in made.of("get_recommended")]

    @pytest.mark.parametrize(
        ("have", "seeds"),
        [
            ({"track_id": "t1"}, ["t1"]),
            ({"track_ids": ["t1", "t2"]}, ["t1", "t2"]),
            ({"seed_track_id": "t1"}, ["t1"]),
            ({"seed_track_ids": ["t1"]}, ["t1"]),
        ],
    )
    def test_what_is_at_hand_of_such_a_thing_goes_there(self, have: Any, seeds: list[str]) -> None:
        assert self.calls(**have) == [seeds]

    def test_of_the_calls_of_a_loop_only_those_are_made_that_have_it(self) -> None:
        assert self.calls(title="title of t3") == [["t3"]]

    def test_where_none_of_them_has_it_that_is_said(self) -> None:
        with pytest.raises(ValueError, match="returned nothing whose tracks"):
            self.calls(title="none")

    @pytest.mark.parametrize(
        "takes", ["from_track_ids:string[]! to_track_ids:string[]!", "parent_track_ids:string[]!"]
    )
    def test_where_another_may_be_meant_it_does_not(self, takes: str) -> None:
        graph = graph_of(tool("m", "get_recommended", takes, {"titles": [str]}))
        want = [target_of(graph, "get_recommended")]
        (first, *_) = plan(graph, want=want, have={"track_id": "t1"}).suggestions
        assert len(first.missing) == len(takes.split())
        assert [name for name, _ in first.unused] == ["track_id"]
