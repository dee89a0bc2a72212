"""From a goal to workflows: what is called, with what, and what is said where it does not work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import Made, edge, link, ports
from halflap.graph.plan import plan
from halflap.graph.want import target_of
from halflap.schema import Type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.plan import Planned

FIND = ports("find_customers", "email", "customers[].customer_id customers[].name")
ORDERS = ports("list_orders", "customer_id cursor? limit?", "orders[].order_id next_cursor?")
ORDER = ports("get_order", "order_id", "order.sku order.customer_id")
STOCK = ports("check_stock", "sku", "available", server="store")
NEXT = edge(ORDERS, ORDERS, link("next_cursor", "cursor"), pages=True)
SHOP = Made.of(FIND, ORDERS, ORDER, STOCK, edges=[NEXT])


def asked(graph: Made, want: str, have: Mapping[str, Any] | None = None, **more: Any) -> Planned:
    return plan(graph, want=[target_of(graph, one) for one in want.split()], have=have or {}, **more)


def tools(planned: Planned) -> list[list[str]]:
    return [[task.ports.original_name for task in one.tasks] for one in planned.suggestions]


def first(planned: Planned) -> dict[str, Any]:
    told: dict[str, Any] = planned.to_json()["suggestions"][0]
    return told


class TestWhatIsCalled:
    def test_a_tool_whose_parameters_are_at_hand_is_called_alone(self) -> None:
        assert tools(asked(SHOP, "get_order", {"order_id": "o1"})) == [["get_order"]]

    def test_what_is_not_at_hand_comes_from_another_tool_and_so_on(self) -> None:
        assert tools(asked(SHOP, "get_order", {"email": "a@b"})) == [
            ["find_customers", "list_orders", "get_order"]
        ]

    def test_a_field_is_given_by_whichever_tool_returns_it(self) -> None:
        assert tools(asked(SHOP, "available", {"order_id": "o1"})) == [["get_order", "check_stock"]]

    def test_a_field_can_be_named_with_what_it_belongs_to(self) -> None:
        person = ports("get_person", "person_id", "email phone")
        firm = ports("get_firm", "firm_id", "email contact.phone")
        graph = Made.of(person, firm)
        have = {"person_id": 1, "firm_id": 2}
        assert tools(asked(graph, "firm.email", have)) == [["get_firm"]]
        assert tools(asked(graph, "person.email", have)) == [["get_person"]]
        assert tools(asked(graph, "contact.phone", have)) == [["get_firm"]]

    def test_several_things_can_be_wanted_and_share_steps(self) -> None:
        planned = asked(SHOP, "available get_order", {"order_id": "o1"})
        assert tools(planned) == [["get_order", "check_stock"]]
        assert [one.target.name for one in planned.suggestions[0].wanted] == [
            "available",
            "mcp__shop__get_order",
        ]

    def test_a_tool_is_found_by_the_name_that_its_server_gives_it(self) -> None:
        assert target_of(SHOP, "get_order").name == "mcp__shop__get_order"
        assert target_of(SHOP, "mcp__shop__get_order").kind == "tool"
        assert target_of(SHOP, "order").kind == "field"

    def test_a_name_that_two_servers_give_is_no_tool(self) -> None:
        twice = Made.of(ports("ping", server="one_list"), ports("ping", server="two_list"))
        assert target_of(twice, "ping").kind == "field"

    def test_nothing_wanted_is_nothing_found(self) -> None:
        assert plan(SHOP, want=[], have={}).to_json() == {"suggestions": [], "missing": []}


class TestWhatIsAtHand:
    @pytest.mark.parametrize(
        "name", ["customer_id", "customerId", "Customer-ID", "customer.id", "customer ids"]
    )
    def test_a_name_may_be_written_in_any_way(self, name: str) -> None:
        assert tools(asked(SHOP, "list_orders", {name: "c"})) == [["list_orders"]]

    def test_a_bare_id_is_that_of_what_the_tool_is_about(self) -> None:
        graph = Made.of(ports("get_customer", "id"), ports("get_order", "id"))
        assert not asked(graph, "get_customer", {"customer_id": "c"}).missing
        assert asked(graph, "get_order", {"customer_id": "c"}).missing

    def test_what_is_only_known_to_exist_is_as_good_as_a_value(self) -> None:
        argument = first(asked(SHOP, "get_order", {"order_id": None}))["steps"][0]["arguments"]["order_id"]
        assert argument == {"from": "have", "name": "order_id", "value": None}

    def test_a_value_of_the_wrong_type_is_not_used_and_that_is_said(self) -> None:
        planned = asked(Made.of(ORDER), "get_order", {"order_id": True})
        assert [one.name for one in planned.missing] == ["order_id"]
        assert "'order_id' is at hand, but string is needed" in planned.missing[0].note

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
    def test_types_decide_what_can_be_given(self, kind: Type, good: Any, bad: Any) -> None:
        graph = Made.of(ports("tool_x", "thing", types={"thing": kind}))
        assert not asked(graph, "tool_x", {"thing": good}).missing
        assert asked(graph, "tool_x", {"thing": bad}).missing

    def test_what_is_at_hand_goes_to_optional_parameters_too(self) -> None:
        steps = first(asked(SHOP, "list_orders", {"customer_id": "c", "limit": "5"}))["steps"]
        assert steps[0]["arguments"]["limit"]["value"] == "5"

    def test_a_default_supplies_a_parameter(self) -> None:
        planned = asked(Made.of(ports("tool_x", "size=")), "tool_x")
        assert first(planned)["steps"][0]["arguments"] == {"size": {"from": "default"}}

    def test_a_tool_that_uses_what_is_at_hand_comes_before_one_that_does_not(self) -> None:
        everything = ports("all_orders", "", "orders[].order_id")
        mine = ports("my_orders", "customer_id", "orders[].order_id")
        planned = asked(Made.of(everything, mine, ORDER), "get_order", {"customer_id": "c"})
        assert tools(planned) == [["my_orders", "get_order"], ["all_orders", "get_order"]]


class TestObjectsAndArrays:
    def test_an_object_may_be_put_together_from_several_tools(self) -> None:
        graph = Made.of(
            ports("city", "", "town"), ports("code", "", "zip"), ports("move", "address.town address.zip")
        )
        arguments = first(asked(graph, "move"))["steps"][-1]["arguments"]
        assert {name: one["from"] for name, one in arguments.items()} == {
            "address.town": "step",
            "address.zip": "step",
        }

    def test_what_is_inside_of_an_array_comes_from_the_same_items(self) -> None:
        both = ports("both_list", "", "rows[].number rows[].date")
        apart = ports("apart_list", "", "ones[].number others[].date")
        book = ports("booking", "flights[].number flights[].date")
        assert tools(asked(Made.of(both, apart, book), "booking")) == [["both_list", "booking"]]
        assert asked(Made.of(apart, book), "booking").missing[0].name == "flights"

    def test_what_is_the_same_for_all_items_may_be_at_hand_or_stand_around_them(self) -> None:
        outer = ports("outer_list", "", "trips[].date trips[].legs[].number")
        book = ports("booking", "flights[].number flights[].date flights[].seat_class")
        planned = asked(Made.of(outer, book), "booking", {"seat_class": "a"})
        arguments = first(planned)["steps"][-1]["arguments"]
        assert {name: (one["from"], one.get("path")) for name, one in arguments.items()} == {
            "flights[].number": ("step", "trips[].legs[].number"),
            "flights[].date": ("step", "trips[].date"),
            "flights[].seat_class": ("have", None),
        }

    def test_the_whole_of_an_array_may_be_at_hand(self) -> None:
        book = ports("booking", "flights[].number flights[].date")
        arguments = first(asked(Made.of(book), "booking", {"flights": [{"number": 1, "date": 2}]}))["steps"][
            0
        ]["arguments"]
        assert arguments["flights"]["from"] == "have"

    def test_an_object_of_which_nothing_is_required_is_given_empty(self) -> None:
        planned = asked(Made.of(ports("tool_x", "filter.name?")), "tool_x")
        assert planned.suggestions[0].tasks[0].arguments[0].value == {}

    def test_objects_of_the_same_shape_supply_field_by_field(self) -> None:
        person = ports("person", "", "home.town home.zip home.country")
        move = ports("move", "address.town address.zip")
        graph = Made.of(person, move, edges=[edge(person, move, link("home", "address"))], by_name=False)
        arguments = first(asked(graph, "move"))["steps"][-1]["arguments"]
        assert [one["path"] for one in arguments.values()] == ["home.town", "home.zip"]


class TestLoopsAndPages:
    def test_many_values_for_one_parameter_are_a_call_for_each(self) -> None:
        steps = first(asked(SHOP, "get_order", {"customer_id": "c"}))["steps"]
        assert [one["fan_out"] for one in steps] == [None, [{"step": "s1", "path": "orders[]"}]]

    def test_a_tool_that_gives_pages_is_gone_through(self) -> None:
        steps = first(asked(SHOP, "get_order", {"customer_id": "c"}))["steps"]
        assert steps[0]["paginates"] == {"from": "next_cursor", "to": "cursor"}

    def test_pages_of_which_only_a_single_value_is_taken_are_not_gone_through(self) -> None:
        paged = ports("list_things", "cursor?", "total things[].name next_cursor")
        graph = Made.of(
            paged, edges=[edge(paged, paged, link("next_cursor", "cursor"), pages=True)], by_name=False
        )
        assert first(asked(graph, "total"))["steps"][0]["paginates"] is None
        assert first(asked(graph, "list_things"))["steps"][0]["paginates"] is not None

    def test_one_value_is_preferred_to_many(self) -> None:
        one = ports("current_order", "", "order_id")
        planned = asked(Made.of(one, ports("all_orders", "", "orders[].order_id"), ORDER), "get_order")
        assert tools(planned)[0] == ["current_order", "get_order"]

    def test_cycles_do_not_loop(self) -> None:
        a, b = ports("a_of_b", "beta", "alpha"), ports("b_of_a", "alpha", "beta")
        planned = asked(Made.of(a, b, ports("goal_x", "alpha")), "goal_x")
        assert planned.suggestions[0].missing
        assert tools(asked(Made.of(a, b, ports("goal_x", "alpha")), "goal_x", {"beta": "b"})) == [
            ["a_of_b", "goal_x"]
        ]


class TestTrust:
    def test_nothing_destructive_is_on_the_way(self) -> None:
        danger = ports("take_order", "", "order_id", destructive=True)
        planned = asked(Made.of(danger, ORDER), "get_order")
        assert tools(planned) == [["get_order"]]
        assert planned.missing[0].could[0]["why"].startswith("it seems to change something")

    def test_what_is_called_as_if_it_destroyed_is_not_on_the_way_either(self) -> None:
        assert tools(asked(Made.of(ports("delete_last_order", "", "order_id"), ORDER), "get_order")) == [
            ["get_order"]
        ]

    def test_a_destructive_tool_that_is_wanted_is_called(self) -> None:
        danger = ports("delete_order", "order_id", "done", destructive=True)
        planned = asked(Made.of(danger, ports("my_order", "", "order_id")), "delete_order")
        assert tools(planned) == [["my_order", "delete_order"]]

    def test_a_field_that_only_a_destructive_tool_gives_is_not_got_that_way(self) -> None:
        planned = asked(Made.of(ports("delete_order", "", "receipt", destructive=True)), "receipt")
        assert not planned.suggestions
        assert [one["tool"] for one in planned.missing[0].could] == ["mcp__shop__delete_order"]

    def test_nothing_is_changed_on_the_way_unless_it_is_asked_for(self) -> None:
        makes = ports("create_order", "", "order_id")
        graph = Made.of(makes, ports("account", "", "customer_id"), ORDERS, ORDER)
        assert tools(asked(graph, "get_order")) == [["account", "list_orders", "get_order"]]
        want = [target_of(graph, "get_order")]
        planned = plan(graph, want=want, have={}, asked=frozenset({makes.tool}))
        assert tools(planned) == [["account", "list_orders", "get_order"], ["create_order", "get_order"]]
        steps = planned.to_json()["suggestions"][-1]["steps"]
        assert [one["may_change_something"] for one in steps] == [True, False]

    def test_what_would_be_changed_to_get_something_is_named_with_the_reason(self) -> None:
        planned = asked(
            Made.of(ports("book_visit", "", "visit_id"), ports("get_visit", "visit_id")), "get_visit"
        )
        (could,) = planned.missing[0].could
        assert could["tool"] == "mcp__shop__book_visit"
        assert (
            could["why"]
            == "it seems to change something (say otherwise under `tools.read_only`), and is not what is wanted"
        )

    def test_steps_that_carry_data_between_servers_are_marked(self) -> None:
        steps = first(asked(SHOP, "available", {"order_id": "o"}))["steps"]
        assert steps[0]["crosses_servers"] == []
        assert steps[1]["crosses_servers"] == [{"from": "shop", "to": "store", "argument": "sku"}]

    def test_data_stays_on_its_server_where_it_can(self) -> None:
        here, there = (
            ports("here_list", "", "sku", server="store"),
            ports("there_list", "", "sku", server="other"),
        )
        assert tools(asked(Made.of(here, there, STOCK), "check_stock"))[0] == ["here_list", "check_stock"]


class TestWhatIsMissing:
    def test_a_parameter_that_nobody_supplies_is_named_and_the_rest_is_planned(self) -> None:
        send = ports("compare_order", "order_id text", "")
        planned = asked(Made.of(ORDERS, send), "compare_order", {"customer_id": "c"})
        assert tools(planned)[0] == ["list_orders", "compare_order"]
        assert first(planned)["missing"] == [
            {"step": "s2", "tool": "mcp__shop__compare_order", "parameter": "text"}
        ]
        assert [(one.tool, one.name, one.type) for one in planned.missing] == [
            ("mcp__shop__compare_order", "text", "string")
        ]

    def test_what_nobody_has_is_asked_for_before_what_a_tool_would_find(self) -> None:
        planned = asked(Made.of(ports("search_orders", "query", "order_id"), ORDER), "get_order")
        assert tools(planned) == [["search_orders", "get_order"], ["get_order"]]
        assert [(one.tool, one.name) for one in planned.missing] == [("mcp__shop__search_orders", "query")]

    def test_who_could_provide_it_is_said_with_what_it_needs_itself(self) -> None:
        """To get to what would provide it takes more than to be asked for it."""
        far = [ports(f"get_far{at}", f"step{at}", f"step{at + 1}", latency=60_000) for at in range(4)]
        planned = asked(Made.of(*far, ports("goal_x", "step4")), "goal_x")
        assert tools(planned)[0] == ["goal_x"]
        assert planned.missing[0].could == (
            {"tool": "mcp__shop__get_far3", "path": "step4", "needs": ["step3"]},
        )

    def test_who_comes_near_is_said_and_why_not(self) -> None:
        near = ports("count_orders", "", "order_id", types={"order_id": Type("integer")})
        vague = ports("cart", "", "order_total")
        planned = asked(Made.of(near, vague, ORDER, by_name=False), "get_order")
        assert {one["tool"]: one["why"] for one in planned.missing[0].near} == {
            "mcp__shop__count_orders": "it is integer, and string is needed",
            "mcp__shop__cart": "only a part of the name is the same",
        }

    def test_a_tool_that_does_not_exist_is_said_with_those_called_alike(self) -> None:
        planned = plan(
            SHOP, want=[type(target_of(SHOP, "get_order"))("tool", "mcp__shop__get_orders")], have={}
        )
        assert planned.suggestions == ()
        assert planned.missing[0].near[0]["tool"] == "mcp__shop__get_order"

    def test_a_field_that_nobody_returns_is_said_with_those_that_come_near(self) -> None:
        planned = asked(SHOP, "customer_age")
        assert planned.suggestions == ()
        assert "customers[].customer_id" in {one["path"] for one in planned.missing[0].near}


class TestSuggestions:
    def test_others_do_without_some_tool_of_those_before(self) -> None:
        graph = Made.of(*(ports(f"source{at}", "", "order_id") for at in range(5)), ORDER)
        planned = asked(graph, "get_order", limit=4)
        assert len({one.tools for one in planned.suggestions}) == 4
        assert [one.cost for one in planned.suggestions] == sorted(one.cost for one in planned.suggestions)

    def test_others_may_begin_alike(self) -> None:
        begin = ports("first_list", "", "seed")
        ways = [ports(f"get_way{at}", "seed", "order_id") for at in range(3)]
        assert tools(asked(Made.of(begin, *ways, ORDER), "get_order")) == [
            ["first_list", f"get_way{at}", "get_order"] for at in range(3)
        ]

    def test_a_longer_way_over_sure_links_is_cheaper_than_a_short_one_over_a_doubtful_link(self) -> None:
        doubtful, seed, sure = (
            ports("doubtful_list", "", "x"),
            ports("first_list", "", "seed"),
            ports("sure_list", "seed", "order_id"),
        )
        edges = [edge(doubtful, ORDER, link("x", "order_id", 0.05))]
        planned = asked(Made.of(doubtful, seed, sure, ORDER, edges=edges), "get_order")
        assert tools(planned) == [["first_list", "sure_list", "get_order"], ["doubtful_list", "get_order"]]

    def test_a_tool_that_supplies_several_arguments_is_paid_once(self) -> None:
        one = ports("one_list", "", "alpha beta")
        graph = Made.of(
            one,
            ports("two_list", "", "alpha"),
            ports("three_list", "", "beta"),
            ports("goal_x", "alpha beta"),
        )
        assert tools(asked(graph, "goal_x"))[0] == ["one_list", "goal_x"]

    def test_a_faster_tool_is_preferred(self) -> None:
        slow = ports("slow_list", "", "order_id", latency=2_000)
        graph = Made.of(slow, ports("swift_list", "", "order_id", latency=20), ORDER)
        assert tools(asked(graph, "get_order"))[0] == ["swift_list", "get_order"]

    def test_a_workflow_is_told_whole(self) -> None:
        told = first(asked(SHOP, "available", {"order_id": "o1"}))
        assert told.keys() == {
            "tools",
            "confidence",
            "cost",
            "steps",
            "missing",
            "notes",
            "unused",
            "mermaid",
            "program",
        }
        assert told["steps"][1]["arguments"]["sku"] == {
            "from": "step",
            "step": "s1",
            "path": "order.sku",
            "confidence": 0.9,
            "evidence": [{"kind": "name", "weight": 0.9, "detail": ""}],
        }
        assert told["mermaid"].startswith("flowchart")
        compile(told["program"], "program.py", "exec", flags=0x2000)


@pytest.mark.parametrize("want", ["emial", "custmer_email", "customerEmial", "customer.emial"])
def test_a_misspelt_field_is_told_with_those_that_are_spelt_like_it(want: str) -> None:
    graph = Made.of(
        ports("get_customer", "customer_id", "customer_email name"),
        ports("get_user", "user_id", "email phone"),
        ports("get_order", "order_id", "total"),
    )
    planned = plan(graph, want=[target_of(graph, want)], have={})
    (lack,) = planned.to_json()["missing"]
    best = "email" if want == "emial" else "customer_email"
    assert lack["near"][0]["path"] == best
    assert lack["near"][0]["why"] == "the name is spelt nearly the same"
    assert best in lack["note"]
    assert {one["tool"] for one in lack["near"]} <= {"mcp__shop__get_customer", "mcp__shop__get_user"}
