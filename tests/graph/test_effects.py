"""What a tool's name says that it does, and whether a goal asks for that."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from graph.made import ports
from halflap.graph.asking import asked
from halflap.graph.clauses import read_goal
from halflap.graph.effects import seems_to_change, seems_to_destroy
from halflap.graph.ports import ports_of
from halflap.schema import parse_schema
from halflap.values import Tool
from support import shared_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.edge import Ports


def is_asked_for(goal: str, tool: Ports) -> bool:
    return asked(read_goal(goal), tool).is_meant


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
    "name",
    [
        "provision_server", "scale_server", "power_off_server", "toggle_server", "trade_holding", "swap_holding",
        "ship_order", "dispatch_package", "return_package", "process_package", "fire_employee", "hire_employee",
        "promote_employee", "burn_token", "mint_token", "accept_offer", "authorize_payment", "finalize_order",
        "mute_user", "flag_message", "pop_job", "dequeue_job", "drain_queue", "take_job", "consume_message",
        "cluster_teardown", "frobnicate_widget", "hibernate_servers", "light_on", "switch_power", "ship_items",
        "transmogrify", "generate_invoice", "reposition_shelf",
    ],
)  # fmt: skip
def test_a_verb_that_is_not_known_to_read_changes_something(name: str) -> None:
    assert seems_to_change(ports(name))


@pytest.mark.parametrize(
    "name",
    [
        "weather_forecast", "customer_details", "top_customers", "recent_activity", "airports", "exchange_rate",
        "stock_price", "document_reader", "directory_tree", "reverse_geocode", "geocode_address", "convert_currency",
        "generate_bar_chart", "translate_text", "return_policy", "process_list", "power_usage", "html_to_text",
        "resolve_library_id", "random_int", "cancellation_policy", "payments", "get_news", "inventory",
        "recommendMeals", "predict_demand", "ship_details", "license", "a1",
    ],
)  # fmt: skip
def test_a_name_without_a_verb_or_with_one_that_reads_changes_nothing(name: str) -> None:
    assert not seems_to_change(ports(name))


@pytest.mark.parametrize(
    ("name", "takes", "changes"),
    [
        ("transfer", "amount to_account_id", True),
        ("charge", "card_id", True),
        ("email", "to body", True),
        ("order", "item_id quantity", True),
        ("purchase", "item_id", True),
        ("commit", "repo_path message", True),
        ("stripe_charge", "amount", True),
        ("checkout", "", True),
        ("log", "message", True),
        ("order", "order_id", False),
        ("jira_issue", "issue_key", False),
        ("schedule", "", False),
        ("stock", "sku", False),
        ("git_log", "repo_path", False),
        ("customer_order", "customer_id", False),
        ("ticket_owner", "ticket_id", False),
        ("ship_item", "item_id", True),
    ],
)
def test_of_a_word_that_is_a_thing_as_well_what_is_taken_tells(name: str, takes: str, changes: bool) -> None:
    assert seems_to_change(ports(name, takes)) is changes


@pytest.mark.parametrize("server", ["git", "code"])
@pytest.mark.parametrize(
    ("name", "takes", "changes"),
    [("git_commit", "repo_path message", True), ("git_checkout", "repo_path branch_name", True),
     ("git_status", "repo_path", False), ("git_branch", "repo_path branch_type", False)],
)  # fmt: skip
def test_the_verb_may_come_behind_the_name_of_a_product(
    server: str, name: str, takes: str, changes: bool
) -> None:
    assert seems_to_change(ports(name, takes, server=server)) is changes


@pytest.mark.parametrize(
    ("name", "description", "changes"),
    [
        ("quokka_grid", "Retrieves the grid.", False),
        ("quokka_grid", "This tool provides the grid.", False),
        ("quokka_grid", "Puts a quokka into the grid.", True),
        ("server_hibernate", "Hibernates a server.", True),
        ("return_parcel", "Return a parcel.", True),
        ("sell_holding", "Get rid of a holding.", True),
    ],
)
def test_where_the_name_has_no_known_verb_the_description_tells(
    name: str, description: str, changes: bool
) -> None:
    assert seems_to_change(replace(ports(name), description=description)) is changes


def test_whoever_is_believed_is_believed_before_the_name() -> None:
    assert not seems_to_change(replace(ports("frobnicate"), changes=False))
    assert not seems_to_destroy(replace(ports("reset_view"), changes=False))
    assert seems_to_change(replace(ports("get_order"), changes=True))
    assert seems_to_change(ports("get_order", destructive=True))
    assert not is_asked_for("an order", replace(ports("get_order"), changes=True))


def _live() -> Iterator[Ports]:
    told = json.loads(shared_data("live_tools.json").read_text())
    for server, one in told.items():
        for tool in one["tools"]:
            made = Tool(
                f"mcp__{server}__{tool['name']}",
                server,
                tool["name"],
                tool.get("description") or "",
                tool["inputSchema"],
            )
            yield ports_of(made, parse_schema(made))


def test_of_real_servers_what_is_described_as_reading_is_taken_for_reading() -> None:
    """Judged by how the descriptions begin, of those that begin like that."""
    begins = (
        "get ",
        "gets ",
        "list ",
        "lists ",
        "search ",
        "searches ",
        "retrieve",
        "show",
        "fetch ",
        "read ",
    )
    reading = [one for one in _live() if one.description.lower().lstrip().startswith(begins)]
    assert len(reading) > 150
    assert [one.original_name for one in reading if seems_to_change(one)] == ["search_and_replace"]


def test_of_real_servers_what_is_described_as_changing_is_taken_for_changing() -> None:
    begins = ("create", "delete", "update ", "add ", "adds ", "insert", "set ", "write ", "switch", "move ", "edit ",
              "make ", "initialize", "records ", "click ", "fill ", "mark ", "start ", "open a ", "unstage")  # fmt: skip
    # Whatever it says first: pictures of charts are made of data, and nothing is kept.
    changing = [
        one
        for one in _live()
        if one.description.lower().lstrip().startswith(begins) and "chart" not in one.original_name
    ]
    assert len(changing) > 60
    missed = [one.original_name for one in changing if not seems_to_change(one)]
    assert len(missed) <= 0.05 * len(changing), missed


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("every server", "provision_server"),
        ("show my holdings", "liquidate_holding"),
        ("show my cards", "charge"),
        ("show the newest commit", "commit"),
        ("list branches", "checkout"),
        ("checkout of which branch", "checkout"),
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
        # It may be what is asked about.
        ("deleting a file", "delete_file"),
    ],
)
def test_a_noun_in_a_goal_asks_for_no_change(goal: str, tool: str) -> None:
    assert not is_asked_for(goal, ports(tool, "id"))


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("cancel an order", "cancel_order"),
        ("Please cancel order 7", "orders_cancel"),
        ("find users and delete them", "find_and_delete_users"),
        ("remove a user", "github_delete_user"),
        ("order a pizza", "order_pizza"),
        ("I want to book a flight", "book_flight"),
        ("place an order for a customer", "create_order"),
        ("show all orders", "list_orders"),
        ("take the order away", "list_order"),
    ],
)
def test_a_verb_in_a_goal_asks_for_the_tool_that_does_it(goal: str, tool: str) -> None:
    assert is_asked_for(goal, ports(tool, "id"))


def test_of_a_destructive_tool_without_a_known_verb_the_first_word_has_to_be_said() -> None:
    tool = ports("annihilate_order", destructive=True)
    assert is_asked_for("annihilate an order", tool)
    assert not is_asked_for("show an order", tool)
    assert not is_asked_for("an order", ports("get_order", destructive=True))
