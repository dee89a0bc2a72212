"""What a program may call, and what it may not grant itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.demo import demo_config

if TYPE_CHECKING:
    from collections.abc import Callable

    from execution.desk import Desk

DELETE = "print(await mcp__sales__delete_customer(customer_id='c-1'))"
SERVERS = [one for one in demo_config()["servers"] if one["name"] == "sales"]


def test_read_only_lets_through_only_what_is_known_to_be(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(read_only=True, tools={"read_only": ["mcp__echo__echo"]})
    assert desk.output("print(await mcp__echo__echo(text='a'))") == "a\n"
    execution = desk.run("await mcp__echo__pid()")
    assert (
        "ToolError: 'mcp__echo__pid' is not known to be read-only, and `execution.read_only`"
        in execution.text
    )
    assert "tools.read_only" in execution.text


def test_a_destructive_call_needs_no_word_unless_that_is_set(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(tools={"destructive": ["mcp__echo__pid"]})
    assert desk.run("await mcp__echo__pid()").ok


def test_an_unconfirmed_destructive_call_is_refused_at_the_call(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(confirm_destructive=True, tools={"destructive": ["mcp__echo__pid"]})
    execution = desk.run("print(await mcp__echo__echo(text='a'))\nawait mcp__echo__pid()")
    assert execution.output == "a\n"
    assert "'mcp__echo__pid' destroys something and was not confirmed by the person" in execution.text
    assert "2. mcp__echo__pid — tool-refused" in execution.text


def test_the_reason_is_given_when_nobody_could_be_asked(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(confirm_destructive=True, tools={"destructive": ["mcp__echo__pid"]})
    execution = desk.run("await mcp__echo__pid()", unconfirmed="the client cannot ask")
    assert "was not confirmed by the person: the client cannot ask. It was not called." in execution.text


def test_a_confirmed_one_is_called(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(confirm_destructive=True, tools={"destructive": ["mcp__echo__pid"]})
    assert desk.run("await mcp__echo__pid()", confirmations=frozenset({"mcp__echo__pid"})).ok


def test_a_name_that_the_program_makes_up_as_it_runs_is_not_confirmed(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(confirm_destructive=True, tools={"destructive": ["mcp__echo__pid"]})
    code = "await call_tool('mcp__echo__' + 'p' + 'id')"
    assert desk.do(desk.gateway.needing_confirmation(code)) == ()
    assert "because the program does not name it" in desk.run(code).text


def test_the_tools_to_be_asked_about_are_those_that_are_named(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(servers=SERVERS, confirm_destructive=True, tools={"destructive": ["*delete*"]})
    asked = desk.do(
        desk.gateway.needing_confirmation(f"await mcp__sales__order_history(customer_id='x')\n{DELETE}")
    )
    assert [tool.name for tool in asked] == ["mcp__sales__delete_customer"]
