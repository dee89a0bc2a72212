"""Whether a tool changes or destroys something, by what is known of it and by its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.making import tool
from halflap.graph.effects import destroys, may_change


@pytest.mark.parametrize(
    ("names", "changes", "takes_away"),
    [
        ("delete_list github_delete_repo orders_delete deleteAccount purge_queue", True, True),
        ("create_order order_update slack_send_message get_or_create_user set_status", True, False),
        ("get_order list_deleted_items customer_search check_stock read_file", False, False),
        ("provision_server frobnicate_widget transmogrify", True, False),
    ],
)
def test_the_verb_says_whether_a_tool_changes_or_destroys(
    names: str, changes: bool, takes_away: bool
) -> None:
    for name in names.split():
        assert (may_change(tool("s", name)), destroys(tool("s", name))) == (changes, takes_away), name


@pytest.mark.parametrize(
    ("name", "description", "changes"),
    [
        ("tickets_list", "", False),
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
