"""An available value is used, or reported with the reason; nothing replaces it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from graph.made import graph_of, ports, shown
from halflap.graph.plan import plan, target_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.edges import Graph

ALL = ports("list_orders", "", "orders[].order_id")
GET = ports("get_order", "order_id", "total")
CANCEL = ports("cancel_order", "order_id", "done")
GRAPH = graph_of(ALL, GET, CANCEL)


def asked(graph: Graph, want: str, have: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return shown(plan(graph, want=[target_of(graph, want)], have=have, **more))


def names(suggestion: dict[str, Any]) -> list[str]:
    return [one.rpartition("__")[2] for one in suggestion["tools"]]


@pytest.mark.parametrize("want", ["get_order", "cancel_order"])
def test_an_integer_is_accepted_as_text(want: str) -> None:
    found = asked(GRAPH, want, {"order_id": 12345})
    assert names(found["suggestions"][0]) == [want]
    assert found["suggestions"][0]["steps"][0]["arguments"]["order_id"]["value"] == "12345"
    assert found["suggestions"][0]["unused"] == []


@pytest.mark.parametrize("want", ["get_order", "cancel_order"])
@pytest.mark.parametrize("value", [[["a"]], {"id": 1}, True, 1.5])
def test_a_value_that_does_not_fit_is_reported_and_never_replaced(want: str, value: Any) -> None:
    found = asked(GRAPH, want, {"order_id": value})
    assert [names(one) for one in found["suggestions"]] == [[want]]
    assert found["suggestions"][0]["missing"]
    assert [one["name"] for one in found["suggestions"][0]["unused"]] == ["order_id"]
    assert "string" in found["suggestions"][0]["unused"][0]["why"]
    assert "order_id" in found["missing"][0]["note"]


def test_unused_values_are_reported() -> None:
    found = asked(GRAPH, "get_order", {"order_id": "o1", "colour": "red"})
    assert [one["name"] for one in found["suggestions"][0]["unused"]] == ["colour"]


@pytest.mark.parametrize("have", ["member_id", "wallet_id"])
def test_of_alternatives_the_available_one_is_used(have: str) -> None:
    either = replace(
        ports("get_either", "member_id wallet_id?", "total"),
        choices=(frozenset({"member_id"}), frozenset({"wallet_id"})),
    )
    (suggestion,) = asked(graph_of(either), "get_either", {have: "x"})["suggestions"]
    assert suggestion["missing"] == []
    assert list(suggestion["steps"][0]["arguments"]) == [have]
