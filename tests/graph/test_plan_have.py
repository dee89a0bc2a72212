"""What is at hand is used, or it is said why not; nothing is put in its place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

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
def test_a_whole_number_is_taken_as_its_text(want: str, every: bool) -> None:
    found = asked(GRAPH, want, {"order_id": 12345}, every=every)
    assert names(found["suggestions"][0]) == [want]
    assert found["suggestions"][0]["steps"][0]["arguments"]["order_id"]["value"] == "12345"
    assert found["suggestions"][0]["unused"] == []


@pytest.mark.parametrize("want", ["get_order", "cancel_order"])
@pytest.mark.parametrize("value", [[["a"]], {"id": 1}, True, 1.5])
def test_what_does_not_fit_is_reported_and_never_replaced(want: str, value: Any) -> None:
    for every in (False, True):
        found = asked(GRAPH, want, {"order_id": value}, every=every)
        assert [names(one) for one in found["suggestions"]] == [[want]]
        assert found["suggestions"][0]["missing"]
        assert [one["name"] for one in found["suggestions"][0]["unused"]] == ["order_id"]
        assert "string" in found["suggestions"][0]["unused"][0]["why"]
        assert "'order_id' is at hand" in found["missing"][0]["note"]


def test_an_id_is_that_of_what_is_wanted() -> None:
    found = asked(GRAPH, "cancel_order", {"id": "o1"})
    assert names(found["suggestions"][0]) == ["cancel_order"]
    assert found["suggestions"][0]["steps"][0]["arguments"]["order_id"]["name"] == "id"
    assert not found["missing"]


def test_an_id_of_which_it_is_not_clear_whose_is_reported() -> None:
    merge = ports("swap_order_customer", "order_id customer_id", "done")
    found = asked(Made.of(merge), "swap_order_customer", {"id": "o1"})
    assert {one["parameter"] for one in found["missing"]} == {"order_id", "customer_id"}
    assert [one["name"] for one in found["suggestions"][0]["unused"]] == ["id"]


def test_what_no_step_takes_is_reported() -> None:
    found = asked(GRAPH, "get_order", {"order_id": "o1", "colour": "red"})
    assert found["suggestions"][0]["unused"] == [
        {"name": "colour", "why": "No step takes anything of this name."}
    ]


def test_a_number_to_one_step_and_text_to_another_are_two_variables() -> None:
    number = ports("find_box", "shelf", "box_id", types={"shelf": Type("integer")})
    text = ports("open_box", "box_id shelf", "inside")
    program = asked(Made.of(number, text), "open_box", {"shelf": 7})["suggestions"][0]["program"]
    assert "= 7\n" in program
    assert '= "7"' in program or "= '7'" in program


@pytest.mark.parametrize("have", ["member_id", "wallet_id"])
def test_of_parameters_of_which_one_is_enough_the_one_at_hand_is_required(have: str) -> None:
    either = replace(
        ports("get_either", "member_id wallet_id?", "total"),
        choices=(frozenset({"member_id"}), frozenset({"wallet_id"})),
    )
    (suggestion,) = asked(Made.of(either), "get_either", {have: "x"})["suggestions"]
    assert suggestion["missing"] == []
    assert list(suggestion["steps"][0]["arguments"]) == [have]


class TestWhatCouldBeLeftOut:
    """A default, or the only value that there is, is not what somebody else said."""

    MODE = Type("values", values=("fast",))
    SIZE = Type("integer")

    @pytest.mark.parametrize(
        ("takes", "kind", "value"),
        [("mode=", MODE, "slow"), ("size=", SIZE, "7"), ("size?", SIZE, "7"), ("size?=", SIZE, {"of": 7})],
    )
    def test_it_is_missing_with_the_reason_where_it_does_not_fit(
        self, takes: str, kind: Type, value: Any
    ) -> None:
        name = takes.rstrip("?=")
        graph = Made.of(ports("list_rows", takes, "rows", types={name: kind}))
        found = asked(graph, "list_rows", {name: value})
        assert [one["parameter"] for one in found["missing"]] == [name]
        assert f"{name!r} is at hand, but" in found["missing"][0]["note"]
        assert [one["name"] for one in found["suggestions"][0]["unused"]] == [name]

    def test_on_the_way_what_may_be_left_out_is_and_that_is_said(self) -> None:
        rows = ports("list_rows", "size?", "row_id", types={"size": self.SIZE})
        found = asked(Made.of(rows, ports("get_row", "row_id", "total")), "get_row", {"size": "7"})
        assert not found["missing"]
        assert [one["name"] for one in found["suggestions"][0]["unused"]] == ["size"]


class TestInsideOfAParameter:
    INSURE = tool(
        "m",
        "insure",
        {"policy!": {"holder": str, "exhibits": [str], "note?": str, "terms": {"years": int, "unit": str}}},
        {"done": bool},
    )
    REST: ClassVar[dict[str, Any]] = {"terms": {"years": 1, "unit": "a"}}

    def asked(self, **have: Any) -> tuple[list[str], list[str], Any]:
        graph = graph_of(self.INSURE)
        planned = plan(graph, want=[target_of(graph, "insure")], have=have)
        best = planned.suggestions[0]
        calls = [] if planned.missing else play(program(best), graph.tools.values()).calls
        unused = [name for name, _ in best.unused]
        return [one.name for one in planned.missing], unused, calls[0][1]["policy"] if calls else None

    def test_its_own_name_is_enough_where_nothing_else_has_it(self) -> None:
        assert self.asked(holder="me") == (
            ["policy.terms.years", "policy.terms.unit", "policy.exhibits"],
            [],
            None,
        )
        whole = {"holder": "me", "exhibits": ["e"], "terms": {"years": 1, "unit": "a"}}
        assert self.asked(holder="me", exhibits=["e"], years=1, unit="a") == ([], [], whole)

    def test_a_part_of_an_object_supplies_what_it_has(self) -> None:
        missing, unused, _ = self.asked(policy={"holder": "me", "terms": {"years": 1}})
        assert (missing, unused) == (["policy.terms.unit", "policy.exhibits"], [])

    def test_what_else_is_in_it_goes_along(self) -> None:
        policy = {"holder": "me", "note": "n", "terms": {"years": 1, "unit": "a"}}
        assert self.asked(policy=policy, exhibits=["e"]) == ([], [], policy | {"exhibits": ["e"]})

    def test_what_does_not_fit_in_it_is_missing(self) -> None:
        graph = graph_of(self.INSURE)
        have = {"policy": {"holder": [3], "exhibits": ["e"], **self.REST}}
        (lack,) = plan(graph, want=[target_of(graph, "insure")], have=have).missing
        assert (lack.name, lack.note) == (
            "policy.holder",
            "'policy.holder' is at hand, but string is needed.",
        )

    def test_a_whole_number_is_taken_as_its_text_there_too(self) -> None:
        _, _, policy = self.asked(policy={"holder": 3, "exhibits": ["e"], **self.REST})
        assert policy["holder"] == "3"
