"""Which tools a goal may mean."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from graph.made import ports
from halflap.gateway.goals import asked_for
from halflap.graph.asking import asked
from halflap.graph.clauses import read_goal

if TYPE_CHECKING:
    from halflap.graph.edge import Ports

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
    return meant(goal, TOOLS) - {"list_orders"}


def meant(goal: str, tools: list[Ports]) -> set[str]:
    """The tools that the words mean."""
    said = read_goal(goal)
    return {one.original_name for one in tools if asked(said, one).is_meant}


@pytest.mark.parametrize(
    ("goal", "names"),
    [
        ("cancel my order", {"cancel_order"}),
        ("cancel order O-1", {"cancel_order"}),
        ("cancel the last order", {"cancel_order"}),
        ("delete the old archive file", {"delete_file"}),
        ("list all orders and cancel the last order", {"cancel_order"}),
        ("clear the cart", {"clear_cart"}),
        ("purge the archive", {"purge_archive"}),
        ("cancel all orders", {"cancel_order", "cancel_orders", "cancel_all_orders"}),
        ("delete the mailbox", set()),
        ("show all orders that customers cancel", set()),
    ],
)
def test_what_is_done_to_all_is_meant_only_where_all_are_said(goal: str, names: set[str]) -> None:
    assert changes(goal) == names


def test_who_names_what_only_one_that_does_all_is_about_is_led_to_nothing_else() -> None:
    tools = [
        ports("delete_customer", "customer_id"),
        replace(ports("purge_archive"), description="Delete everything."),
    ]
    assert "delete_customer" not in meant("delete the old archive file", tools)
    assert meant("delete a customer", tools) == {"delete_customer"}


def test_whoever_wants_everything_wiped_says_so() -> None:
    assert "wipe_everything" in changes("wipe everything")
    assert "delete_everything" in changes("delete everything")
    assert not changes("delete the mailbox") & {"wipe_everything", "delete_everything", "purge_archive"}


@pytest.mark.parametrize(
    ("goal", "every"),
    [
        ("cancel all orders", True),
        ("cancel each of the orders", True),
        ("please cancel all orders, and refund them", True),
        ("find all orders and cancel them", True),
        ("find the customer and cancel every order", True),
        ("show my orders and cancel all of them", True),
        # Nothing that is known says which of them are late.
        ("find the orders of last week and cancel them all", False),
        ("cancel all orders that are late", False),
        ("list all orders and cancel the last", False),
        ("show every order, then cancel order O-1", False),
        ("cancel my order", False),
        ("cancel the order of all customers", False),
    ],
)
def test_all_that_are_looked_at_are_not_all_that_are_changed(goal: str, every: bool) -> None:
    found = asked(read_goal(goal), ports("cancel_order", "order_id"))
    assert found.is_meant
    assert found.every is every


def test_what_destroys_is_never_led_to_by_words_and_is_told_apart_from_what_is_not_meant() -> None:
    found = asked_for(read_goal("cancel all orders and archive the file"), TOOLS)
    assert [one for one in found if found[one].is_meant] == ["mcp__shop__list_orders"]
    told = {name.rpartition("__")[2] for name, one in found.items() if one.danger and not one.doubt}
    assert told == {"cancel_order", "cancel_orders", "cancel_all_orders", "archive_file"}


def test_where_a_goal_has_the_name_of_a_tool_no_other_that_changes_something_is_meant() -> None:
    tools = [ports("get_customer", "customer_id"), ports("call_customer", "customer_id")]
    said = read_goal("call customer c1 or get_customer", {"customer_id": "c1"})
    plain = read_goal("call customer c1", {"customer_id": "c1"})
    assert asked_for(plain, tools)[tools[1].tool].is_meant
    assert not asked_for(plain, tools, {tools[0].tool})[tools[1].tool].is_meant
    assert asked_for(said, tools, {tools[0].tool})[tools[0].tool].is_meant
