"""What a program may call, and what it may not grant itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servers.memory import Memory, bundled, echo

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.desk import Desk

DESTRUCTIVE = {"tools": {"destructive": ["mcp__echo__pid", "*delete*"]}}


@pytest.fixture(scope="module")
def confirming(desk_with: Callable[..., Desk]) -> Desk:
    """A gateway that has destructive calls confirmed by the person."""
    wipe = {"name": "wipe", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}}
    servers = {"echo": echo(), "disk": Memory(wipe), **bundled("sales")}
    return desk_with(confirm_destructive=True, config=DESTRUCTIVE, servers=servers)


def test_read_only_lets_through_only_what_is_known_to_be_read_only(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(
        read_only=True, config={"tools": {"read_only": ["mcp__echo__echo"], "block": ["mcp__echo__env"]}}
    )
    assert desk.output("print(await mcp__echo__echo(text='a'))") == "a\n"
    execution = desk.run("await mcp__echo__pid()")
    assert [(call.name, call.outcome) for call in execution.calls] == [("mcp__echo__pid", "tool-refused")]
    assert "`execution.read_only`" in execution.text
    blocked = desk.run("await mcp__echo__env(name='a')")
    assert "'mcp__echo__env' is not available" in blocked.text


def test_an_unconfirmed_destructive_call_is_refused_at_the_call(confirming: Desk) -> None:
    execution = confirming.run(
        "print(await mcp__echo__echo(text='a'))\nawait mcp__echo__pid()", unconfirmed="the client cannot ask"
    )
    assert execution.output == "a\n"
    assert [(call.name, call.outcome) for call in execution.calls] == [
        ("mcp__echo__echo", "ok"),
        ("mcp__echo__pid", "tool-refused"),
    ]
    assert "the client cannot ask" in execution.text


def test_a_tool_whose_server_says_that_it_destroys_is_confirmed_too(confirming: Desk) -> None:
    assert [call.outcome for call in confirming.run("await mcp__disk__wipe()").calls] == ["tool-refused"]


def test_a_confirmed_one_is_called(confirming: Desk) -> None:
    assert confirming.run("await mcp__echo__pid()", confirmations=frozenset({"mcp__echo__pid"})).ok


def test_a_name_that_the_program_makes_up_as_it_runs_is_not_confirmed(confirming: Desk) -> None:
    code = "await call_tool('mcp__echo__' + 'p' + 'id')"
    assert confirming.do(confirming.gateway.needing_confirmation(code)) == ()
    assert [call.outcome for call in confirming.run(code).calls] == ["tool-refused"]


def test_the_tools_to_be_confirmed_are_those_that_the_program_names(confirming: Desk) -> None:
    code = (
        "await mcp__sales__order_history(customer_id='x')\n"
        "print(await mcp__sales__delete_customer(customer_id='c-1'))"
    )
    asked = confirming.do(confirming.gateway.needing_confirmation(code))
    assert [tool.name for tool in asked] == ["mcp__sales__delete_customer"]
