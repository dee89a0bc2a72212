"""From a workflow to a program: what it calls, in which order, and what it prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import graph_of, ports
from graph.playing import play
from halflap.graph.emit import program
from halflap.graph.plan import plan, target_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graph.playing import Play
    from halflap.graph.edges import Graph

FIND = ports("find_customers", "email", "customers[].customer_id")
ORDERS = ports("list_orders", "customer_id cursor?", "orders[].order_id next_cursor?")
ORDER = ports("get_order", "order_id customer_id", "sku note?")


def written(graph: Graph, want: str, have: Mapping[str, Any] | None = None) -> str:
    found = plan(graph, want=[target_of(graph, one) for one in want.split()], have=have or {})
    return program(found.suggestions[0])


def played(graph: Graph, want: str, have: Mapping[str, Any] | None = None, **answers: Any) -> Play:
    return play(written(graph, want, have), graph.tools.values(), answers)


class TestLoops:
    def test_each_call_gets_values_of_the_same_item(self) -> None:
        made = played(
            graph_of(FIND, ORDERS, ORDER),
            "get_order",
            {"email": "a@b"},
            find_customers=lambda email: {"customers": [{"customer_id": f"{email}{at}"} for at in range(2)]},
            list_orders=lambda customer_id: {
                "orders": [{"order_id": f"{customer_id}-{at}"} for at in range(2)]
            },
            get_order=lambda order_id, customer_id: f"{customer_id}:{order_id}",
        )
        assert made.value == ["a@b0:a@b0-0", "a@b0:a@b0-1", "a@b1:a@b1-0", "a@b1:a@b1-1"]

    def test_unrelated_lists_are_combined(self) -> None:
        graph = graph_of(
            ports("cities", "", "cities[].town"),
            ports("days", "", "days[].day"),
            ports("weather", "town day"),
        )
        made = played(
            graph,
            "weather",
            cities=lambda: {"cities": [{"town": "A"}, {"town": "B"}]},
            days=lambda: {"days": [{"day": 1}, {"day": 2}]},
            weather=lambda town, day: f"{town}{day}",
        )
        assert made.value == ["A1", "A2", "B1", "B2"]

    def test_results_for_the_same_item_stay_together(self) -> None:
        users = ports("users", "", "[].user_id")
        graph = graph_of(
            users,
            ports("inbox_view", "user_id", "email"),
            ports("phone_view", "user_id", "phone"),
            ports("card", "email phone"),
        )
        made = played(
            graph,
            "card",
            users=lambda: [{"user_id": "a"}, {"user_id": "b"}, {"user_id": "a"}],
            inbox_view=lambda user_id: {"email": f"{user_id}@"},
            phone_view=lambda user_id: {"phone": f"{user_id}1"},
            card=lambda email, phone: f"{email} {phone}",
        )
        assert set(made.value) == {"a@ a1", "b@ b1"}

    def test_items_are_built_from_items_and_shared_values(self) -> None:
        graph = graph_of(
            ports("offers", "", "[].flight_no [].day"),
            ports("trip", "flights[].flight_no flights[].day flights[].seat_class"),
        )
        made = played(
            graph,
            "trip",
            {"seat_class": "x"},
            offers=lambda: [{"flight_no": 1, "day": 2}, {"flight_no": 3, "day": 4}],
            trip=lambda flights: flights,
        )
        assert made.value == [
            {"flight_no": 1, "day": 2, "seat_class": "x"},
            {"flight_no": 3, "day": 4, "seat_class": "x"},
        ]

    def test_independent_steps_run_in_parallel(self) -> None:
        graph = graph_of(
            ports("one_list", "", "alpha"), ports("two_list", "", "beta"), ports("both_list", "alpha beta")
        )
        assert played(graph, "both_list").together == 2

    def test_the_calls_of_a_loop_run_in_parallel(self) -> None:
        graph = graph_of(ports("rows", "", "rows[].row_id"), ports("row_view", "row_id"))
        many = {"rows": [{"row_id": at} for at in range(9)]}
        assert played(graph, "row_view", rows=lambda: many, row_view=lambda row_id: row_id).together == 9

    def test_too_many_calls_are_refused_before_the_first(self) -> None:
        graph = graph_of(ports("rows", "", "rows[].row_id"), ports("row_view", "row_id"))
        with pytest.raises(
            ValueError, match="mcp__shop__row_view would be called more often than max_calls allows: 201"
        ):
            played(graph, "row_view", rows=lambda: {"rows": [{"row_id": at} for at in range(201)]})


class TestAbsentValues:
    def test_items_without_the_value_are_skipped(self) -> None:
        graph = graph_of(ports("rows", "", "rows[].row_id?"), ports("row_view", "row_id"))
        made = played(
            graph,
            "row_view",
            rows=lambda: {"rows": [{"row_id": 1}, {}, {"row_id": None}]},
            row_view=lambda row_id: row_id,
        )
        assert made.value == [1]

    def test_a_missing_single_value_is_named_in_the_error(self) -> None:
        graph = graph_of(ports("last", "", "order.order_id?"), ports("get_order", "order_id"))
        with pytest.raises(ValueError, match=r"mcp__shop__last returned no order\.order_id"):
            played(graph, "get_order", last=lambda: {"order": None})


class TestAvailableValues:
    def test_placeholders_have_to_be_filled_in_before_any_call(self) -> None:
        graph = graph_of(FIND, ORDERS)
        text = written(graph, "list_orders", {"email": None})
        assert "Fill in before you run it:\n    email: email of mcp__shop__find_customers" in text
        with pytest.raises(ValueError, match="Fill in email"):
            play(text, graph.tools.values())
        filled = text.replace("email = None", "email = 'a@b'", 1)
        assert play(filled, graph.tools.values()).of("find_customers") == [{"email": "a@b"}]

    def test_required_defaults_are_passed_and_nothing_is_made_up(
        self,
    ) -> None:
        assert played(graph_of(ports("tool_x", "size= page?")), "tool_x").calls == [
            ("mcp__shop__tool_x", {"size": "usual"})
        ]


class TestOutput:
    def test_a_field_of_one_result(self) -> None:
        assert (
            played(
                graph_of(ports("me", "", "profile.email")), "email", me=lambda: {"profile": {"email": "ä"}}
            ).printed
            == '"ä"\n'
        )

    def test_a_field_of_all_items_of_all_results(self) -> None:
        graph = graph_of(ports("teams", "", "teams[].team_id"), ports("people", "team_id", "people[].email"))
        made = played(
            graph,
            "email",
            teams=lambda: {"teams": [{"team_id": 1}, {"team_id": 2}]},
            people=lambda team_id: {"people": [{"email": f"{team_id}@"}]},
        )
        assert made.printed == '["1@","2@"]\n'

    def test_several_targets_by_name(self) -> None:
        graph = graph_of(ports("one_list", "", "alpha"), ports("two_list", "", "beta"))
        made = played(graph, "alpha two_list", one_list=lambda: {"alpha": 1}, two_list=lambda: {"beta": 2})
        assert made.value == {"alpha": 1, "mcp__shop__two_list": {"beta": 2}}
