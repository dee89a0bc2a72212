"""What a program may call, and what it may not grant itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servers.memory import Memory, bundled, echo

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.desk import Desk


def outcomes(desk: Desk, code: str, *confirmed: str) -> list[tuple[str, str]]:
    execution = desk.run(code, confirmations=frozenset(confirmed), unconfirmed="the client cannot ask")
    assert not any(call.outcome == "tool-refused" for call in execution.calls) or not execution.ok
    return [(call.name, call.outcome) for call in execution.calls]


def test_read_only_lets_through_only_what_is_known_to_be_read_only(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(
        read_only=True, config={"tools": {"read_only": ["mcp__echo__echo"], "block": ["mcp__echo__env"]}}
    )
    assert desk.output("print(await mcp__echo__echo(text='a'))") == "a\n"
    assert outcomes(desk, "await mcp__echo__pid()") == [("mcp__echo__pid", "tool-refused")]
    assert "`execution.read_only`" in desk.run("await mcp__echo__pid()").text
    blocked = desk.run("await mcp__echo__env(name='a')").error or ""
    assert "'mcp__echo__env' is not available" in blocked
    assert "`tools.block: mcp__echo__env` blocks it" in blocked


@pytest.fixture(scope="module")
def confirming(desk_with: Callable[..., Desk]) -> Desk:
    """A gateway that has destructive calls confirmed by the person."""
    wipe = {"name": "wipe", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}}
    servers = {"echo": echo(), "disk": Memory(wipe), **bundled("sales")}
    config = {"tools": {"destructive": ["mcp__echo__pid", "*delete*"]}}
    return desk_with(confirm_destructive=True, config=config, servers=servers)


def test_a_destructive_call_needs_a_confirmation(confirming: Desk) -> None:
    code = "await mcp__echo__echo(text='a')\nawait mcp__echo__pid()"
    echoed, pid = ("mcp__echo__echo", "ok"), "mcp__echo__pid"
    assert outcomes(confirming, code) == [echoed, (pid, "tool-refused")]
    assert outcomes(confirming, code, "mcp__echo__echo") == [echoed, (pid, "tool-refused")]
    assert outcomes(confirming, code, pid) == [echoed, (pid, "ok")]
    assert "the client cannot ask" in confirming.run(code, unconfirmed="the client cannot ask").text
    # A server is believed that says so of its own tool.
    assert outcomes(confirming, "await mcp__disk__wipe()") == [("mcp__disk__wipe", "tool-refused")]


def test_only_tools_that_the_program_names_can_be_confirmed(confirming: Desk) -> None:
    def asked(code: str) -> list[str]:
        return [tool.name for tool in confirming.do(confirming.gateway.needing_confirmation(code))]

    code = "await mcp__sales__order_history(customer_id='x')\nawait mcp__sales__delete_customer(customer_id='c-1')"
    assert asked(code) == ["mcp__sales__delete_customer"]
    made_up = "await call_tool('mcp__echo__' + 'p' + 'id')"
    assert asked(made_up) == []
    assert outcomes(confirming, made_up) == [("mcp__echo__pid", "tool-refused")]
