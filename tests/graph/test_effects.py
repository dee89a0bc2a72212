"""Whether a tool changes or destroys something, by what is known of it and by its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.made import ports
from halflap.graph.effects import may_change as seems_to_change, seems_to_destroy


@pytest.mark.parametrize(
    "name",
    [
        "delete_list",
        "github_delete_repo",
        "orders_delete",
        "deleteAccount",
        "purge_queue",
        "wipe_disk",
        "rm_file",
    ],
)
def test_a_destructive_verb_destroys(name: str) -> None:
    assert seems_to_destroy(ports(name))
    assert seems_to_change(ports(name))


@pytest.mark.parametrize(
    "name", ["create_order", "order_update", "slack_send_message", "get_or_create_user", "set_status"]
)
def test_a_changing_verb_changes_without_destroying(name: str) -> None:
    assert seems_to_change(ports(name))
    assert not seems_to_destroy(ports(name))


@pytest.mark.parametrize(
    "name",
    ["get_order", "list_deleted_items", "customer_search", "search_archive", "check_stock", "read_file"],
)
def test_a_reading_verb_changes_nothing(name: str) -> None:
    assert not seems_to_change(ports(name))
    assert not seems_to_destroy(ports(name))


@pytest.mark.parametrize("name", ["provision_server", "frobnicate_widget", "transmogrify"])
def test_an_unknown_verb_may_change_something(name: str) -> None:
    assert seems_to_change(ports(name))


def test_settings_and_annotations_outweigh_the_name() -> None:
    assert not seems_to_change(replace(ports("frobnicate"), changes=False))
    assert not seems_to_destroy(replace(ports("reset_view"), changes=False))
    assert seems_to_change(replace(ports("get_order"), changes=True))
    assert seems_to_change(ports("get_order", destructive=True))
