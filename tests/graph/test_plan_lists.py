"""An available list for a parameter that takes one value makes one call for each item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import graph_of, ports, shown
from graph.playing import play
from halflap.graph.plan import plan, target_of
from halflap.schema import Type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graph.playing import Play
    from halflap.graph.edges import Graph

GET = ports("get_order", "order_id", "customer_id total")
CUSTOMER = ports("get_customer", "customer_id", "email?")
CANCEL = ports("cancel_order", "order_id", "done")
ALL = ports("list_orders", "", "orders[].order_id")
GRAPH = graph_of(GET, CUSTOMER, CANCEL, ALL)


def asked(want: str, have: Mapping[str, Any], graph: Graph = GRAPH) -> dict[str, Any]:
    return shown(plan(graph, want=[target_of(graph, want)], have=have))


def played(want: str, have: Mapping[str, Any], graph: Graph = GRAPH, **answers: Any) -> Play:
    (first, *_) = asked(want, have, graph)["suggestions"]
    return play(first["program"], graph.tools.values(), answers)


def test_a_list_for_a_scalar_parameter_makes_a_call_for_each_item() -> None:
    want, name = "get_order", "order_id"
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
    made = played(want, {name: ["a", "b"]}, get_order=lambda order_id: order_id)
    assert made.value == ["a", "b"]


def test_but_not_to_a_change() -> None:
    found = asked("cancel_order", {"order_id": ["a", "b"]})
    assert found["suggestions"][0]["steps"][0]["fan_out"] is None
    assert found["missing"][0]["parameter"] == "order_id"


def test_a_change_is_not_applied_to_results_found_for_each_item() -> None:
    graph = graph_of(GET, ports("delete_customer", "customer_id", "done"))
    found = asked("delete_customer", {"order_id": ["a", "b"]}, graph)
    assert found["suggestions"][0]["missing"]


def test_a_list_is_passed_whole_or_item_by_item_as_the_type_asks() -> None:
    graph = graph_of(
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


@pytest.mark.parametrize("value", [[], [["a"]]])
def test_a_list_of_other_types_is_refused(value: list[Any]) -> None:
    found = asked("get_order", {"order_id": value})
    assert found["suggestions"][0]["missing"]
    assert "order_id" in found["missing"][0]["note"]
