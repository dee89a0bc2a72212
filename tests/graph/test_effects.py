"""Whether a tool changes or destroys something, by what is known of it and by its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.making import tool
from halflap.graph.effects import destroys, may_change


@pytest.mark.parametrize(
    "name",
    [
        "delete_list",
        "github_delete_repo",
        "orders_delete",
        "deleteAccount",
        "purge_queue",
    ],
)
def test_a_destructive_verb_destroys(name: str) -> None:
    assert destroys(tool("s", name))
    assert may_change(tool("s", name))


@pytest.mark.parametrize(
    "name", ["create_order", "order_update", "slack_send_message", "get_or_create_user", "set_status"]
)
def test_a_changing_verb_changes_without_destroying(name: str) -> None:
    assert may_change(tool("s", name))
    assert not destroys(tool("s", name))


@pytest.mark.parametrize(
    "name",
    ["get_order", "list_deleted_items", "customer_search", "check_stock", "read_file"],
)
def test_a_reading_verb_changes_nothing(name: str) -> None:
    assert not may_change(tool("s", name))
    assert not destroys(tool("s", name))


@pytest.mark.parametrize("name", ["provision_server", "frobnicate_widget", "transmogrify"])
def test_an_unknown_verb_may_change_something(name: str) -> None:
    assert may_change(tool("s", name))


@pytest.mark.parametrize(
    ("name", "description", "changes"),
    [
        ("issues_list", "", False),
        ("toggle_view", "", True),
        ("weather", "Returns the forecast.", False),
        ("weather", "The forecast.", True),
        ("get_order", "Deletes an order, and returns it.", True),
        ("get_cart", "Permanently removes the cart.", True),
        ("find_and_replace", "Find text.", True),
    ],
)
def test_name_and_description_have_to_agree_that_it_only_reads(
    name: str, description: str, changes: bool
) -> None:
    assert may_change(tool("s", name, description=description)) == changes


def test_settings_and_annotations_outweigh_the_name() -> None:
    assert not may_change(replace(tool("s", "frobnicate"), changes=False))
    assert not destroys(replace(tool("s", "purge_view"), changes=False))
    assert may_change(replace(tool("s", "get_order"), changes=True))
    assert may_change(replace(tool("s", "get_order"), is_destructive=True))
