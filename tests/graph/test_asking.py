"""Which goals ask for a change, and which only ask about one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from graph.made import ports
from halflap.graph.asking import asked
from halflap.graph.clauses import read_goal

if TYPE_CHECKING:
    from halflap.graph.edge import Ports


def is_asked_for(goal: str, tool: Ports) -> bool:
    return asked(read_goal(goal), tool).is_meant


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("show all orders that customers cancel", "cancel_order"),
        ("which orders did customers cancel", "cancel_order"),
        ("how do I cancel an order", "cancel_order"),
        ("can customers cancel an order", "cancel_order"),
        ("show every message that I should delete", "delete_message"),
        ("show all messages I want to delete", "delete_message"),
        ("who can delete customers", "delete_customer"),
        ("which process should I kill", "kill_process"),
        ("how to reset staged changes", "git_reset"),
        ("show me how to delete a file", "delete_file"),
        ("orders that customers cancel", "cancel_order"),
        ("customers who refuse to pay", "pay_invoice"),
        ("email customers who cancel orders", "cancel_order"),
        ("the customers to whom we send mail", "send_mail"),
        ("why did the customer cancel and refund", "refund_order"),
        ("don't cancel the order", "cancel_order"),
        ("please don\u2019t delete the file", "delete_file"),
        ("could you tell me how to delete a file", "delete_file"),
        ("list orders that customers return and cancel", "cancel_order"),
        ("is it possible to delete a file", "delete_file"),
        ("do customers cancel orders", "cancel_order"),
        ("let me know which orders customers cancel", "cancel_order"),
        ("I need to know how to delete a file", "delete_file"),
        ("can we delete the file", "delete_file"),
        ("who shut down the server", "shutdown_server"),
        ("what happens when I delete a file", "delete_file"),
        ("what happens? nothing. who may delete a file", "delete_file"),
    ],
)
def test_a_question_and_a_relative_clause_ask_for_no_change(goal: str, tool: str) -> None:
    assert not is_asked_for(goal, ports(tool, "id"))


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("find old files and delete them", "delete_file"),
        ("find orders that are late and cancel them", "cancel_order"),
        ("get the newest order and cancel it", "cancel_order"),
        ("list the orders, then cancel the last", "cancel_order"),
        ("please cancel order O-1", "cancel_order"),
        ("I want to cancel order O-1", "cancel_order"),
        ("I'd like to cancel order O-1", "cancel_order"),
        ("can you cancel order O-1", "cancel_order"),
        ("could you please delete the file", "delete_file"),
        ("Would you kindly delete the file?", "delete_file"),
        ("what orders are open? cancel the newest one", "cancel_order"),
        ("delete the file that I want to get rid of", "delete_file"),
        ("cancel the order and refund it", "refund_order"),
        ("ping user U-1", "ping_user"),
        ("find the order that is late and cancel the shipment", "cancel_shipment"),
        ("get rid of user U-1", "get_rid_of_user"),
        ("please shut down the server", "shutdown_server"),
        ("check off task T-1", "check_off_task"),
        ("check stock and order a pizza", "order_pizza"),
    ],
)
def test_a_command_asks_for_a_change_however_it_is_put(goal: str, tool: str) -> None:
    assert is_asked_for(goal, ports(tool, "id"))


@pytest.mark.parametrize("goal", ["sweep account AC-1", "move the balance to savings"])
def test_both_what_it_is_called_and_what_it_is_said_to_do_ask_for_a_tool(goal: str) -> None:
    tool = replace(ports("account_sweep", "account_id"), description="Moves the whole balance to savings.")
    assert is_asked_for(goal, tool)
    assert not is_asked_for("show the balance of an account", tool)
