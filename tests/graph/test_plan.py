"""Plans: which tools are called, with what, and what is reported when there is no way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import graph_of, ports, shown
from halflap.graph.plan import plan, target_of

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


def tools(planned: Planned) -> list[str]:
    return [" ".join(task.ports.original_name for task in one.tasks) for one in planned.suggestions]


def first(planned: Planned) -> dict[str, Any]:
    told: dict[str, Any] = shown(planned)["suggestions"][0]
    return told


@pytest.mark.parametrize(
    ("want", "have", "called"),
    [
        ("get_order", {"order_id": "o1"}, "get_order"),
        ("get_order", {"email": "a@b"}, "find_customers list_orders get_order"),
        ("available", {"order_id": "o1"}, "get_order check_stock"),
        ("available get_order", {"order_id": "o1"}, "get_order check_stock"),
        ("list_orders", {"customerId": "c"}, "list_orders"),
        ("mcp__shop__list_orders", {"Customer-ID": None}, "list_orders"),
    ],
)
def test_the_cheapest_way_leads_from_have_to_want(want: str, have: Any, called: str) -> None:
    planned = asked(SHOP, want, have)
    assert tools(planned)[0] == called
    assert not planned.missing
    assert len(planned.suggestions[0].wanted) == len(want.split())


def test_a_suggestion_says_where_every_argument_comes_from() -> None:
    told = first(asked(SHOP, "get_order", {"customer_id": "c", "limit": "5"}))
    assert told.keys() == {
        "tools", "confidence", "cost", "steps", "missing", "unused", "mermaid", "program"
    }  # fmt: skip
    orders, order = told["steps"]
    assert orders["arguments"]["limit"] == {"from": "have", "name": "limit", "value": "5"}
    assert orders["paginates"] == {"from": "next_cursor", "to": "cursor"}
    assert order["fan_out"] == [{"step": "s1", "path": "orders[]"}]
    argument = order["arguments"]["order_id"]
    assert (argument["from"], argument["step"], argument["path"]) == ("step", "s1", "orders[].order_id")
    assert 0 < argument["confidence"] < 1
    compile(told["program"], "program.py", "exec", flags=0x2000)


class TestHave:
    @pytest.mark.parametrize(
        ("kind", "good", "bad"),
        [
            ({"type": "integer"}, 3, 3.5),
            ({"type": "integer"}, 3.0, True),
            ({"type": "number"}, 3, "3"),
            ({"type": "string"}, 12345, 1.5),
            ({"enum": ["a", 1]}, 1, True),
            ({"type": ["null", "string"]}, "x", True),
            ({"type": "object"}, {"a": 1}, []),
        ],
    )
    def test_the_type_decides_which_values_fit(self, kind: Any, good: Any, bad: Any) -> None:
        graph = graph_of(ports("tool_x", "thing", types={"thing": kind}), ports("list_things", "", "thing"))
        assert not asked(graph, "tool_x", {"thing": good}).missing
        planned = asked(graph, "tool_x", {"thing": bad})
        # It is reported, and nothing takes its place.
        assert tools(planned) == ["tool_x"]
        assert planned.suggestions[0].unused[0][0] == "thing"
        assert "thing" in planned.missing[0]["note"]

    def test_a_tool_that_uses_a_value_is_preferred_and_an_unused_one_is_reported(self) -> None:
        graph = graph_of(ports("all_orders", "", "orders[].order_id"), ORDERS, ORDER)
        planned = asked(graph, "get_order", {"customer_id": "c", "colour": "red"})
        assert tools(planned) == ["list_orders get_order", "all_orders get_order"]
        assert [name for name, _ in planned.suggestions[0].unused] == ["colour"]

    def test_a_list_makes_a_call_for_each_item_but_not_of_a_change(self) -> None:
        graph = graph_of(ORDER, ports("cancel_order", "order_id", "done"))
        (step,) = first(asked(graph, "get_order", {"order_id": ["a", "b"]}))["steps"]
        assert step["fan_out"] == [{"step": "have", "path": "order_id[]"}]
        planned = asked(graph, "cancel_order", {"order_id": ["a", "b"]})
        assert not planned.suggestions[0].tasks[0].axes
        assert planned.missing[0]["parameter"] == "order_id"


class TestObjectsAndArrays:
    def test_an_object_can_be_assembled_from_several_tools(self) -> None:
        graph = graph_of(
            ports("city", "", "town"), ports("code", "", "zip"), ports("move", "address.town address.zip")
        )
        arguments = first(asked(graph, "move"))["steps"][-1]["arguments"]
        assert {one["from"] for one in arguments.values()} == {"step"}

    def test_fields_of_array_items_come_from_the_same_items(self) -> None:
        both = ports("both_list", "", "rows[].train_no rows[].day")
        apart = ports("apart_list", "", "ones[].train_no others[].day")
        book = ports("booking", "rides[].train_no rides[].day")
        assert tools(asked(graph_of(both, apart, book), "booking")) == ["both_list booking"]
        assert asked(graph_of(apart, book), "booking").missing[0]["parameter"] == "rides"

    def test_values_shared_by_all_items_may_come_from_outside_the_array(self) -> None:
        outer = ports("outer_list", "", "trips[].day trips[].legs[].train_no")
        book = ports("booking", "rides[].train_no rides[].day rides[].seat_class")
        planned = asked(graph_of(outer, book), "booking", {"seat_class": "a"})
        arguments = first(planned)["steps"][-1]["arguments"]
        assert {name: one.get("path") for name, one in arguments.items()} == {
            "rides[].train_no": "trips[].legs[].train_no",
            "rides[].day": "trips[].day",
            "rides[].seat_class": None,
        }

    def test_pages_are_not_read_for_a_single_value(self) -> None:
        graph = graph_of(ports("list_things", "cursor?", "total things[].name next_cursor"))
        assert first(asked(graph, "total"))["steps"][0]["paginates"] is None
        assert first(asked(graph, "list_things"))["steps"][0]["paginates"] is not None


class TestMissing:
    def test_a_missing_parameter_is_named_and_the_rest_is_planned(self) -> None:
        graph = graph_of(ORDERS, ports("compare_order", "order_id text", ""))
        planned = asked(graph, "compare_order", {"customer_id": "c"})
        assert tools(planned)[0] == "list_orders compare_order"
        assert [(one["tool"], one["parameter"], one["type"]) for one in planned.missing] == [
            ("mcp__shop__compare_order", "text", "string")
        ]

    def test_of_two_plans_that_lack_as_much_the_shorter_one_asks(self) -> None:
        planned = asked(SHOP, "list_orders")
        assert tools(planned)[0] == "list_orders"
        assert planned.missing[0]["could_provide"][0] == {
            "tool": "mcp__shop__find_customers", "path": "customers[].customer_id", "needs": ["email"]
        }  # fmt: skip

    def test_an_unknown_field_is_reported_with_similar_ones(self) -> None:
        planned = asked(SHOP, "custmer_id")
        assert planned.suggestions == ()
        assert planned.missing[0]["near"] == [{"name": "customer_id"}]
        assert plan(SHOP, want=[], have={}).suggestions == ()

    def test_a_tool_with_hundreds_of_parameters_is_in_no_plan(self) -> None:
        names = [f"part{at}_id" for at in range(400)]
        large = ports("get_mega", " ".join(names), "blob_ref")
        graph = graph_of(
            large, *(ports(f"list_{one}", "", one) for one in names), ports("get_blob", "blob_ref")
        )
        assert len(asked(graph, "get_mega").missing) <= 20
        assert tools(asked(graph, "get_blob")) == ["get_blob"]
        assert not asked(graph, "get_mega", dict.fromkeys(names, "x")).missing


class TestAlternatives:
    def test_each_does_without_a_tool_of_those_before_it(self) -> None:
        graph = graph_of(*(ports(f"source{at}", "", "order_id") for at in range(5)), ORDER)
        found = asked(graph, "get_order", limit=4).suggestions
        assert len({one.tools for one in found}) == 4
        assert [one.cost for one in found] == sorted(one.cost for one in found)

    def test_a_faster_tool_and_one_for_several_arguments_are_preferred(self) -> None:
        slow, swift = (ports(f"{at}_list", "", "order_id", latency=at) for at in (2_000, 20))
        assert tools(asked(graph_of(slow, swift, ORDER), "get_order"))[0] == "20_list get_order"
        parts = [ports("alphas", "", "alpha"), ports("betas", "", "beta"), ports("both", "", "alpha beta")]
        assert tools(asked(graph_of(*parts, ports("goal_x", "alpha beta")), "goal_x"))[0] == "both goal_x"


class TestChanges:
    """What may change something is called only where it is wanted, once, and with values that are meant for it."""

    WALLETS = ports("list_wallets", "", "wallets[].wallet_id")
    MEMBERS = ports("list_members", "", "members[].member_id")
    MEMBER = ports("get_member", "member_id", "wallet_id")

    @pytest.mark.parametrize(
        "danger",
        [ports("take_order", "", "order_id", destructive=True), ports("delete_last_order", "", "order_id")],
    )
    def test_none_is_a_step_on_the_way(self, danger: Any) -> None:
        planned = asked(graph_of(danger, ORDER), "get_order")
        assert tools(planned) == ["get_order"]
        assert planned.missing[0]["could_provide"][0]["may_change_something"]
        assert not asked(graph_of(danger), "order_id").suggestions

    def test_unless_that_is_allowed(self) -> None:
        graph = graph_of(
            ports("create_order", "", "order_id"), ports("account", "", "customer_id"), ORDERS, ORDER
        )
        assert tools(asked(graph, "get_order")) == ["account list_orders get_order"]
        planned = asked(graph, "get_order", may_change=True)
        assert "create_order get_order" in tools(planned)
        steps = shown(planned)["suggestions"][-1]["steps"]
        assert [one["may_change_something"] for one in steps] == [True, False]

    @pytest.mark.parametrize("name", ["delete_wallet", "update_wallet"])
    @pytest.mark.parametrize("sources", [(WALLETS,), (MEMBERS, MEMBER), (WALLETS, MEMBERS, MEMBER)])
    def test_one_is_not_applied_to_every_item_found(self, name: str, sources: tuple[Any, ...]) -> None:
        planned = asked(graph_of(*sources, ports(name, "wallet_id", "done")), name)
        assert all(one.missing and not any(task.axes for task in one.tasks) for one in planned.suggestions)
        assert {one["tool"].rpartition("__")[2] for one in planned.missing[0]["could_provide"]} == {
            one.original_name for one in sources if one is not self.MEMBERS
        }
        read = graph_of(*sources, ports("read_wallet", "wallet_id", "balance"))
        assert not asked(read, "read_wallet").missing

    def test_one_value_leads_to_one_change(self) -> None:
        graph = graph_of(self.MEMBERS, self.MEMBER, ports("delete_wallet", "wallet_id", "done"))
        assert tools(asked(graph, "delete_wallet", {"member_id": "m"})) == ["get_member delete_wallet"]
        graph = graph_of(self.WALLETS, ports("delete_wallets", "wallet_ids[]", "done"))
        assert asked(graph, "delete_wallets").missing[0]["parameter"] == "wallet_ids"

    @pytest.mark.parametrize(
        ("change", "takes", "reads"),
        [
            ("set_brightness", "light_id brightness", ("get_light", "light_id", "brightness power")),
            ("rename_user", "user_id name", ("get_user", "user_id", "user.user_id user.name")),
            ("update_order_state", "order_id state", ("order_log", "", "orders[].order_id orders[].state")),
        ],
    )
    def test_a_new_value_is_not_read_from_the_thing_that_is_changed(
        self, change: str, takes: str, reads: tuple[str, str, str]
    ) -> None:
        identity, value = takes.split()
        planned = asked(graph_of(ports(change, takes, "done"), ports(*reads)), change, {identity: "x"})
        assert tools(planned) == [change]
        assert [one["parameter"] for one in planned.missing] == [value]

    def test_its_key_and_the_values_of_something_new_may_be_read(self) -> None:
        user = ports("find_user", "email", "user_id phone address")
        graph = graph_of(
            user, ports("set_phone", "user_id phone", "done"), ports("send_letter", "address", "done")
        )
        planned = asked(graph, "set_phone", {"email": "a@b", "phone": "1"})
        assert (tools(planned), planned.missing) == (["find_user set_phone"], ())
        assert tools(asked(graph, "send_letter", {"email": "a@b"})) == ["find_user send_letter"]


def test_data_between_servers_are_marked_and_avoided() -> None:
    steps = first(asked(SHOP, "available", {"order_id": "o"}))["steps"]
    assert steps[0]["crosses_servers"] == []
    assert steps[1]["crosses_servers"] == [{"from": "shop", "to": "store", "argument": "sku"}]
    here, there = (ports(f"{one}_list", "", "sku", server=one) for one in ("store", "other"))
    assert tools(asked(graph_of(here, there, STOCK), "check_stock"))[0] == "store_list check_stock"


def test_lineage_alone_is_enough_for_a_plan() -> None:
    source, target = ports("look", "", "blob"), ports("view", "whatever", "x")
    link = (source.tool, source.places[-1].path, target.tool, target.slots[0].path)
    assert tools(asked(graph_of(source, target, links=[link]), "view")) == ["look view"]
