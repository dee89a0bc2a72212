"""A change writes a new value: what is there is not written back."""

from __future__ import annotations

from typing import Any

import pytest

from graph.made import Made, ports
from halflap.graph.plan import plan
from halflap.graph.want import target_of

Asked = tuple[list[list[str]], list[str]]


def asked(want: str, have: dict[str, Any], *tools: Any) -> Asked:
    graph = Made.of(*tools)
    planned = plan(graph, want=[target_of(graph, want)], have=have)
    found = [[task.ports.original_name for task in one.tasks] for one in planned.suggestions]
    return found, [one.name for one in planned.missing]


@pytest.mark.parametrize(
    ("change", "takes", "reads"),
    [
        ("update_customer_segment", "customer_id segment", ("customer_details", "customer_id", "name segment")),
        ("set_brightness", "light_id brightness", ("get_light", "light_id", "brightness power")),
        ("switch_power", "device_id power", ("device_status", "device_id", "power")),
        ("rename_user", "user_id name", ("get_user", "user_id", "user.user_id user.name")),
        ("edit_note", "id text", ("read_note", "id", "text title")),
        ("update_order_status", "order_id status", ("order_history", "customer_id?", "orders[].order_id orders[].status")),
        ("frobnicate_user", "user_id level", ("get_user", "user_id", "level")),
    ],
)  # fmt: skip
def test_the_new_value_is_not_read_from_what_is_changed(
    change: str, takes: str, reads: tuple[str, str, str]
) -> None:
    identity, value = takes.split()
    found = asked(change, {identity: "x"}, ports(change, takes, "done"), ports(*reads))
    assert found == ([[change]], [value])


def test_of_what_there_is_one_of_nothing_says_which() -> None:
    found = asked("set_volume", {}, ports("get_volume", "", "volume"), ports("set_volume", "volume"))
    assert found == ([["set_volume"]], ["volume"])


def test_that_it_is_the_new_value_is_said() -> None:
    graph = Made.of(ports("get_volume", "", "volume"), ports("set_volume", "volume"))
    (lack,) = plan(graph, want=[target_of(graph, "set_volume")], have={}).missing
    assert lack.note.startswith("It is the new value")
    assert not lack.near


def test_what_says_which_one_may_be_read() -> None:
    found = asked(
        "set_phone",
        {"email": "a@b", "phone": "1"},
        ports("find_user", "email", "user_id phone"),
        ports("set_phone", "user_id phone", "done"),
    )
    assert found == ([["find_user", "set_phone"]], [])


def test_what_comes_from_elsewhere_is_taken_and_so_is_what_stays_as_it_was() -> None:
    """As with a reservation: the flights are new, the cabin stays."""
    found = asked(
        "update_reservation_flights",
        {"reservation_id": "r", "origin": "ZRH"},
        ports("get_reservation", "reservation_id", "cabin flights[].flight_number user_id"),
        ports("search_flights", "origin", "[].flight_number"),
        ports("get_user", "user_id", "payment_id"),
        ports(
            "update_reservation_flights", "reservation_id cabin payment_id flights[].flight_number", "done"
        ),
    )
    assert found == (
        [["get_reservation", "search_flights", "get_user", "update_reservation_flights"]],
        [],
    )


def test_what_is_made_is_made_of_what_is_there() -> None:
    found = asked(
        "send_letter",
        {"user_id": "u"},
        ports("get_user", "user_id", "address"),
        ports("send_letter", "user_id address", "done"),
    )
    assert found == ([["get_user", "send_letter"]], [])
