"""Plans: which tools are called, with what, and what is reported when there is no way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import graph_of, ports, shown
from halflap.graph.plan import plan, target_of
from halflap.schema import Type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.edges import Graph
    from halflap.graph.plan import Planned

FIND = ports("find_customers", "email", "customers[].customer_id customers[].name")
ORDERS = ports("list_orders", "customer_id cursor? limit?", "orders[].order_id next_cursor?")
ORDER = ports("get_order", "order_id", "order.sku order.customer_id")
STOCK = ports("check_stock", "sku", "available", server="store")
SHOP = graph_of(FIND, ORDERS, ORDER, STOCK)


def asked(graph: Graph, want: str, have: Mapping[str, Any] | None = None, **more: Any) -> Planned:
    return plan(graph, want=[target_of(graph, one) for one in want.split()], have=have or {}, **more)


def tools(planned: Planned) -> list[list[str]]:
    return [[task.ports.original_name for task in one.tasks] for one in planned.suggestions]


def first(planned: Planned) -> dict[str, Any]:
    told: dict[str, Any] = shown(planned)["suggestions"][0]
    return told


class TestSteps:
    def test_a_tool_whose_parameters_are_available_is_called_alone(self) -> None:
        assert tools(asked(SHOP, "get_order", {"order_id": "o1"})) == [["get_order"]]

    def test_missing_parameters_come_from_other_tools_recursively(self) -> None:
        assert tools(asked(SHOP, "get_order", {"email": "a@b"})) == [
            ["find_customers", "list_orders", "get_order"]
        ]

    def test_a_field_comes_from_whichever_tool_returns_it(self) -> None:
        assert tools(asked(SHOP, "available", {"order_id": "o1"})) == [["get_order", "check_stock"]]

    def test_several_targets_share_steps(self) -> None:
        planned = asked(SHOP, "available get_order", {"order_id": "o1"})
        assert tools(planned) == [["get_order", "check_stock"]]
        assert [one.target.name for one in planned.suggestions[0].wanted] == [
            "available",
            "mcp__shop__get_order",
        ]

    def test_a_tool_is_found_by_its_original_name(self) -> None:
        assert target_of(SHOP, "get_order").name == "mcp__shop__get_order"
        assert target_of(SHOP, "mcp__shop__get_order").kind == "tool"
        assert target_of(SHOP, "order").kind == "field"

    def test_no_target_gives_no_plan(self) -> None:
        assert shown(plan(SHOP, want=[], have={})) == {"suggestions": [], "missing": []}


class TestAvailableValues:
    @pytest.mark.parametrize("name", ["customerId", "Customer-ID"])
    def test_a_name_may_be_written_in_any_style(self, name: str) -> None:
        assert tools(asked(SHOP, "list_orders", {name: "c"})) == [["list_orders"]]

    def test_null_stands_for_a_value_to_be_filled_in(self) -> None:
        argument = first(asked(SHOP, "get_order", {"order_id": None}))["steps"][0]["arguments"]["order_id"]
        assert argument == {"from": "have", "name": "order_id", "value": None}

    @pytest.mark.parametrize(
        ("kind", "good", "bad"),
        [
            (Type("integer"), 3, 3.5),
            (Type("integer"), 3.0, True),
            (Type("number"), 3, "3"),
            (Type("boolean"), False, 0),
            (Type("values", values=("a", 1)), 1, True),
            (Type("union", members=(Type("null"), Type("string"))), "x", True),
            (Type("object"), {"a": 1}, []),
            (Type("never"), None, 1),
        ],
    )
    def test_the_type_decides_which_values_fit(self, kind: Type, good: Any, bad: Any) -> None:
        graph = graph_of(ports("tool_x", "thing", types={"thing": kind}))
        assert not asked(graph, "tool_x", {"thing": good}).missing
        assert asked(graph, "tool_x", {"thing": bad}).missing

    def test_optional_parameters_get_available_values_too(self) -> None:
        steps = first(asked(SHOP, "list_orders", {"customer_id": "c", "limit": "5"}))["steps"]
        assert steps[0]["arguments"]["limit"]["value"] == "5"

    def test_a_tool_that_uses_an_available_value_is_preferred(self) -> None:
        everything = ports("all_orders", "", "orders[].order_id")
        mine = ports("my_orders", "customer_id", "orders[].order_id")
        planned = asked(graph_of(everything, mine, ORDER), "get_order", {"customer_id": "c"})
        assert tools(planned) == [["my_orders", "get_order"], ["all_orders", "get_order"]]


class TestObjectsAndArrays:
    def test_an_object_can_be_assembled_from_several_tools(self) -> None:
        graph = graph_of(
            ports("city", "", "town"), ports("code", "", "zip"), ports("move", "address.town address.zip")
        )
        arguments = first(asked(graph, "move"))["steps"][-1]["arguments"]
        assert {name: one["from"] for name, one in arguments.items()} == {
            "address.town": "step",
            "address.zip": "step",
        }

    def test_fields_of_array_items_come_from_the_same_items(self) -> None:
        both = ports("both_list", "", "rows[].flight_no rows[].day")
        apart = ports("apart_list", "", "ones[].flight_no others[].day")
        book = ports("booking", "flights[].flight_no flights[].day")
        assert tools(asked(graph_of(both, apart, book), "booking")) == [["both_list", "booking"]]
        assert asked(graph_of(apart, book), "booking").missing[0].parameter == "flights"

    def test_values_shared_by_all_items_may_come_from_outside_the_array(self) -> None:
        outer = ports("outer_list", "", "trips[].day trips[].legs[].flight_no")
        book = ports("booking", "flights[].flight_no flights[].day flights[].seat_class")
        planned = asked(graph_of(outer, book), "booking", {"seat_class": "a"})
        arguments = first(planned)["steps"][-1]["arguments"]
        assert {name: (one["from"], one.get("path")) for name, one in arguments.items()} == {
            "flights[].flight_no": ("step", "trips[].legs[].flight_no"),
            "flights[].day": ("step", "trips[].day"),
            "flights[].seat_class": ("have", None),
        }


class TestLoopsAndPages:
    def test_many_values_for_one_parameter_make_a_call_for_each(self) -> None:
        steps = first(asked(SHOP, "get_order", {"customer_id": "c"}))["steps"]
        assert [one["fan_out"] for one in steps] == [None, [{"step": "s1", "path": "orders[]"}]]

    def test_a_paged_tool_is_read_page_by_page(self) -> None:
        steps = first(asked(SHOP, "get_order", {"customer_id": "c"}))["steps"]
        assert steps[0]["paginates"] == {"from": "next_cursor", "to": "cursor"}

    def test_pages_are_not_read_for_a_single_value(self) -> None:
        paged = ports("list_things", "cursor?", "total things[].name next_cursor")
        graph = graph_of(paged)
        assert first(asked(graph, "total"))["steps"][0]["paginates"] is None
        assert first(asked(graph, "list_things"))["steps"][0]["paginates"] is not None

    def test_cycles_do_not_loop(self) -> None:
        a, b = ports("a_of_b", "beta", "alpha"), ports("b_of_a", "alpha", "beta")
        planned = asked(graph_of(a, b, ports("goal_x", "alpha")), "goal_x")
        assert planned.suggestions[0].missing
        assert tools(asked(graph_of(a, b, ports("goal_x", "alpha")), "goal_x", {"beta": "b"})) == [
            ["a_of_b", "goal_x"]
        ]


class TestTrust:
    def test_no_destructive_tool_is_an_intermediate_step(self) -> None:
        danger = ports("take_order", "", "order_id", destructive=True)
        planned = asked(graph_of(danger, ORDER), "get_order")
        assert tools(planned) == [["get_order"]]
        assert planned.missing[0].could_provide[0]["may_change_something"]

    def test_nor_one_whose_name_sounds_destructive(self) -> None:
        assert tools(asked(graph_of(ports("delete_last_order", "", "order_id"), ORDER), "get_order")) == [
            ["get_order"]
        ]

    def test_a_requested_destructive_tool_is_called(self) -> None:
        danger = ports("delete_order", "order_id", "done", destructive=True)
        planned = asked(graph_of(danger, ports("my_order", "", "order_id")), "delete_order")
        assert tools(planned) == [["my_order", "delete_order"]]

    def test_a_field_is_not_fetched_by_a_destructive_tool(self) -> None:
        planned = asked(graph_of(ports("delete_order", "", "receipt", destructive=True)), "receipt")
        assert not planned.suggestions
        assert [one["tool"] for one in planned.missing[0].could_provide] == ["mcp__shop__delete_order"]

    def test_a_changing_step_needs_permission(self) -> None:
        makes = ports("create_order", "", "order_id")
        graph = graph_of(makes, ports("account", "", "customer_id"), ORDERS, ORDER)
        assert tools(asked(graph, "get_order")) == [["account", "list_orders", "get_order"]]
        planned = asked(graph, "get_order", may_change=True)
        assert ["create_order", "get_order"] in tools(planned)
        steps = shown(planned)["suggestions"][-1]["steps"]
        assert [one["may_change_something"] for one in steps] == [True, False]

    def test_steps_that_carry_data_between_servers_are_marked(self) -> None:
        steps = first(asked(SHOP, "available", {"order_id": "o"}))["steps"]
        assert steps[0]["crosses_servers"] == []
        assert steps[1]["crosses_servers"] == [{"from": "shop", "to": "store", "argument": "sku"}]

    def test_data_stays_on_its_server_where_possible(self) -> None:
        here, there = (
            ports("here_list", "", "sku", server="store"),
            ports("there_list", "", "sku", server="other"),
        )
        assert tools(asked(graph_of(here, there, STOCK), "check_stock"))[0] == ["here_list", "check_stock"]


class TestMissing:
    def test_a_missing_parameter_is_named_and_the_rest_is_planned(self) -> None:
        send = ports("compare_order", "order_id text", "")
        planned = asked(graph_of(ORDERS, send), "compare_order", {"customer_id": "c"})
        assert tools(planned)[0] == ["list_orders", "compare_order"]
        assert first(planned)["missing"] == [
            {"step": "s2", "tool": "mcp__shop__compare_order", "parameter": "text"}
        ]
        assert [(one.tool, one.parameter, one.type) for one in planned.missing] == [
            ("mcp__shop__compare_order", "text", "string")
        ]

    def test_tools_that_could_provide_it_are_listed_with_their_own_needs(self) -> None:
        """To get to what would provide it takes more than to be asked for it."""
        far = [ports(f"get_far{at}", f"step{at}", f"step{at + 1}", latency=60_000) for at in range(4)]
        planned = asked(graph_of(*far, ports("goal_x", "step4")), "goal_x")
        assert tools(planned)[0] == ["goal_x"]
        assert planned.missing[0].could_provide == (
            {"tool": "mcp__shop__get_far3", "path": "step4", "needs": ["step3"]},
        )

    def test_an_unknown_field_is_reported_with_similar_ones(self) -> None:
        planned = asked(SHOP, "custmer_id")
        assert planned.suggestions == ()
        assert planned.missing[0].near == ("customer_id",)


class TestSuggestions:
    def test_alternatives_use_other_tools(self) -> None:
        graph = graph_of(*(ports(f"source{at}", "", "order_id") for at in range(5)), ORDER)
        planned = asked(graph, "get_order", limit=4)
        assert len({one.tools for one in planned.suggestions}) == 4
        assert [one.cost for one in planned.suggestions] == sorted(one.cost for one in planned.suggestions)

    def test_a_tool_that_supplies_several_arguments_counts_once(self) -> None:
        one = ports("one_list", "", "alpha beta")
        graph = graph_of(
            one,
            ports("two_list", "", "alpha"),
            ports("three_list", "", "beta"),
            ports("goal_x", "alpha beta"),
        )
        assert tools(asked(graph, "goal_x"))[0] == ["one_list", "goal_x"]

    def test_a_faster_tool_is_preferred(self) -> None:
        slow = ports("slow_list", "", "order_id", latency=2_000)
        graph = graph_of(slow, ports("swift_list", "", "order_id", latency=20), ORDER)
        assert tools(asked(graph, "get_order"))[0] == ["swift_list", "get_order"]

    def test_a_suggestion_as_json(self) -> None:
        told = first(asked(SHOP, "available", {"order_id": "o1"}))
        assert told.keys() == {
            "tools",
            "confidence",
            "cost",
            "steps",
            "missing",
            "unused",
            "mermaid",
            "program",
        }
        assert told["steps"][1]["arguments"]["sku"] == {
            "from": "step",
            "step": "s1",
            "path": "order.sku",
            "confidence": told["steps"][1]["arguments"]["sku"]["confidence"],
            "evidence": told["steps"][1]["arguments"]["sku"]["evidence"],
        }
        assert told["mermaid"].startswith("flowchart")
        compile(told["program"], "program.py", "exec", flags=0x2000)
