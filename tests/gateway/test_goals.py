"""Which tools a goal may mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.made import ports
from halflap.gateway.goals import asked_for, means_all

TOOLS = [
    ports("list_orders"),
    ports("cancel_order", "order_id"),
    replace(ports("cancel_all_orders"), description="Cancel all orders."),
    replace(ports("cancel_orders"), description="Cancels every order."),
    replace(ports("purge_archive"), description="Delete everything in the archive."),
    replace(ports("wipe_everything"), description="Delete every mailbox with every message."),
    replace(ports("delete_everything", "reason"), description="Delete what there is."),
    replace(ports("clear_cart"), description="Removes all items from the cart."),
    replace(ports("archive_file", "file_id"), description="Archive a file."),
    replace(ports("delete_file", "file_id"), description="Delete a file."),
]


def changes(goal: str) -> set[str]:
    return {one.rpartition("__")[2] for one in asked_for(goal, TOOLS)} - {"list_orders"}


@pytest.mark.parametrize(
    ("goal", "meant"),
    [
        ("cancel my order", {"cancel_order"}),
        ("cancel order O-1", {"cancel_order"}),
        ("cancel the last order", {"cancel_order"}),
        ("delete the old archive file", {"delete_file"}),
        ("list all orders and cancel the last order", {"cancel_order"}),
        ("clear the cart", {"clear_cart"}),
        ("purge the archive", {"purge_archive"}),
        ("cancel all orders", {"cancel_order", "cancel_orders", "cancel_all_orders"}),
        ("show all orders that customers cancel", set()),
    ],
)
def test_what_is_done_to_all_is_meant_only_where_all_are_said(goal: str, meant: set[str]) -> None:
    assert changes(goal) == meant


def test_who_names_what_only_one_that_does_all_is_about_is_led_to_nothing_else() -> None:
    tools = [
        ports("delete_customer", "customer_id"),
        replace(ports("purge_archive"), description="Delete everything."),
    ]
    assert not asked_for("delete the old archive file", tools)
    assert asked_for("delete a customer", tools) == {"mcp__shop__delete_customer"}


def test_whoever_wants_everything_wiped_says_so() -> None:
    assert "wipe_everything" in changes("wipe everything")
    assert "delete_everything" in changes("delete everything")
    assert not changes("delete the mailbox") & {"wipe_everything", "delete_everything", "purge_archive"}


@pytest.mark.parametrize(
    ("goal", "every"),
    [
        ("show all orders", True),
        ("cancel all orders", True),
        ("please cancel all orders, and refund them", True),
        ("find all late orders and cancel them", True),
        ("find the customer and cancel every order", True),
        ("list all orders and cancel the last", False),
        ("show every order, then cancel order O-1", False),
        ("cancel my order", False),
    ],
)
def test_all_that_are_looked_at_are_not_all_that_are_changed(goal: str, every: bool) -> None:
    assert means_all(goal) is every
