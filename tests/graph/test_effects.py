"""What a tool's name says that it does, and whether a goal asks for that."""

from __future__ import annotations

import pytest

from graph.made import ports
from halflap.graph.effects import is_asked_for, seems_to_change, seems_to_destroy


@pytest.mark.parametrize(
    "name",
    [
        "delete_list", "drop_view", "delete_search", "cancel_export", "github_delete_repo", "bulk_delete_orders",
        "deleteuser", "userdelete", "deleteAccountPreviewless", "deleted_items_empty", "orders_delete", "clear_cart",
        "void_invoice", "deactivate_user", "disable_key", "empty_trash", "flush_cache", "unlink_card",
        "expire_session", "purge_queue", "revoke_token", "terminate_instance", "wipe_disk", "erase_disk",
        "truncate_table", "reset_password", "ban_member", "archive_channel", "detach_volume", "uninstall_app",
        "reject_request", "find_and_delete_users", "list_delete", "order_cancel", "order_items_delete",
        "user_delete_by_id", "shop_remove_item", "password_reset", "project_archive", "rm_file", "kubectl_delete",
    ],
)  # fmt: skip
def test_a_destroying_verb_where_a_verb_stands_destroys_whatever_else_is_in_the_name(name: str) -> None:
    assert seems_to_destroy(ports(name))
    assert seems_to_change(ports(name))


@pytest.mark.parametrize(
    "name",
    [
        "list_deleted_items", "get_cancel_policy", "search_archive", "get_order", "list_refunds", "order_history",
        "dropbox_list_files", "cancellation_policy", "jira_get_issue", "sendgrid_list_contacts", "check_stock",
        "customer_search", "order_details", "github_list_commits", "view_post", "cancelled_orders",
        "sales_top_customers", "store_search", "book_details", "calculate", "customer_order", "get_update_status",
        "get_last_update", "get_data_set",
    ],
)  # fmt: skip
def test_what_reads_is_not_taken_for_what_changes(name: str) -> None:
    assert not seems_to_destroy(ports(name))
    assert not seems_to_change(ports(name))


@pytest.mark.parametrize(
    "name",
    ["slack_send_message", "create_order", "order_update", "order_pizza", "book_flight", "createuser",
     "get_or_create_user", "post_message", "run_query", "update_list", "check_out_book",
     "github_update_issue", "slack_post_message", "set_status", "jira_close_issue"],
)  # fmt: skip
def test_what_changes_is_seen_and_does_not_destroy(name: str) -> None:
    assert seems_to_change(ports(name))
    assert not seems_to_destroy(ports(name))


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("show all orders", "cancel_order"),
        ("show all orders", "order_pizza"),
        ("refund an order", "create_order"),
        ("list cancelled orders", "cancel_order"),
        ("show the post of a user", "post_message"),
        ("the schedule of the week", "schedule_meeting"),
        ("which books are in the store", "book_flight"),
        ("do not cancel the order", "cancel_order"),
        ("find users", "find_and_delete_users"),
        ("show the cancel policy", "cancel_order"),
        ("the runs of today", "run_pipeline"),
    ],
)
def test_a_noun_in_a_goal_asks_for_no_change(goal: str, tool: str) -> None:
    assert not is_asked_for(goal, ports(tool))


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("cancel an order", "cancel_order"),
        ("Please cancel order 7", "orders_cancel"),
        ("find users and delete them", "find_and_delete_users"),
        ("remove a user", "github_delete_user"),
        ("order a pizza", "order_pizza"),
        ("I want to book a flight", "book_flight"),
        ("deleting a file", "delete_file"),
        ("place an order for a customer", "create_order"),
        ("show all orders", "list_orders"),
        ("take the order away", "list_order"),
    ],
)
def test_a_verb_in_a_goal_asks_for_the_tool_that_does_it(goal: str, tool: str) -> None:
    assert is_asked_for(goal, ports(tool))


def test_of_a_destructive_tool_without_a_known_verb_the_first_word_has_to_be_said() -> None:
    tool = ports("annihilate_order", destructive=True)
    assert is_asked_for("annihilate an order", tool)
    assert not is_asked_for("show an order", tool)
    assert not is_asked_for("an order", ports("get_order", destructive=True))
