"""An available value is used, or reported with the reason; nothing replaces it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from graph.made import Made, ports
from halflap.graph.plan import plan
from halflap.graph.plan import target_of

if TYPE_CHECKING:
    from collections.abc import Mapping

ALL = ports("list_orders", "", "orders[].order_id")
GET = ports("get_order", "order_id", "total")
CANCEL = ports("cancel_order", "order_id", "done")
GRAPH = Made.of(ALL, GET, CANCEL)


def asked(graph: Made, want: str, have: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return plan(graph, want=[target_of(graph, want)], have=have, **more).to_json()


def names(suggestion: dict[str, Any]) -> list[str]:
    return [one.rpartition("__")[2] for one in suggestion["tools"]]


@pytest.mark.parametrize("want", ["get_order", "cancel_order"])
@pytest.mark.parametrize("every", [False, True])
def test_an_integer_is_accepted_as_text(want: str, every: bool) -> None:
    found = asked(GRAPH, want, {"order_id": 12345}, every=every)
    assert names(found["suggestions"][0]) == [want]
    assert found["suggestions"][0]["steps"][0]["arguments"]["order_id"]["value"] == "12345"
    assert found["suggestions"][0]["unused"] == []


@pytest.mark.parametrize("want", ["get_order", "cancel_order"])
@pytest.mark.parametrize("value", [[["a"]], {"id": 1}, True, 1.5])
def test_a_value_that_does_not_fit_is_reported_and_never_replaced(want: str, value: Any) -> None:
    for every in (False, True):
        found = asked(GRAPH, want, {"order_id": value}, every=every)
        assert [names(one) for one in found["suggestions"]] == [[want]]
        assert found["suggestions"][0]["missing"]
        assert [one["name"] for one in found["suggestions"][0]["unused"]] == ["order_id"]
        assert "string" in found["suggestions"][0]["unused"][0]["why"]
        assert "order_id" in found["missing"][0]["note"]


def test_unused_values_are_reported() -> None:
    found = asked(GRAPH, "get_order", {"order_id": "o1", "colour": "red"})
    assert found["suggestions"][0]["unused"] == [
        {"name": "colour", "why": "No step takes anything of this name."}
    ]


@pytest.mark.parametrize("have", ["member_id", "wallet_id"])
def test_of_alternatives_the_available_one_is_used(have: str) -> None:
    either = replace(
        ports("get_either", "member_id wallet_id?", "total"),
        choices=(frozenset({"member_id"}), frozenset({"wallet_id"})),
    )
    (suggestion,) = asked(Made.of(either), "get_either", {have: "x"})["suggestions"]
    assert suggestion["missing"] == []
    assert list(suggestion["steps"][0]["arguments"]) == [have]
