"""The check in a run: nothing is called where a mistake is certain, and doubts come with a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sandbox.desk import Desk
from servers.memory import echo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ECHO = "r = await mcp__echo__add(a=1, b=2)\nprint(r)\n"


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Desk]]:
    """Open a gateway for each setting of the check; the same one when it is asked for again."""
    opened: dict[str, Desk] = {}

    def desk(check: str) -> Desk:
        if check not in opened:
            config = {
                "tools": {"destructive": ["mcp__echo__*"]},
                # So that it can be asked what would be confirmed; nothing is run in this gateway.
                "execution": {"check": "on", "confirm_destructive": True}
                if check == "confirming"
                else {"check": check},
            }
            opened[check] = Desk(config, tmp_path_factory.mktemp(check), {"echo": echo()}).__enter__()
            opened[check].do(opened[check].gateway.refresh())
        return opened[check]

    yield desk
    for one in opened.values():
        one.__exit__(None, None, None)


def test_a_certain_mistake_stops_the_run_before_any_call(desks: Callable[..., Desk]) -> None:
    desk = desks("on")
    execution = desk.run(f"{ECHO}await mcp__echo__add(a=1, c=2)")
    assert (execution.outcome, execution.ok) == ("mistaken", False)
    record, calls = desk.do(desk.gateway.run(execution.run))
    assert (record.outcome, list(calls), record.output) == ("mistaken", [], "")
    assert record.error == execution.error
    assert "# type: ignore" in execution.text


def test_with_hints_a_mistake_stops_nothing_and_is_told_if_the_run_fails(desks: Callable[..., Desk]) -> None:
    execution = desks("hints").run(f"{ECHO}await mcp__echo__add(a=1, b='x')")
    assert execution.output == "3\n"
    assert execution.calls[0].outcome == "ok"
    assert "The check" in execution.text
    assert "b: expected integer" in execution.text


def test_doubts_are_told_of_the_lines_where_it_failed(desks: Callable[..., Desk]) -> None:
    code = (
        "x = str(3)\ny = len(x) + 'a' if len(x) > 3 else 0\ndef f(v):\n    return v['a']\nprint(f({'b': x}))"
    )
    text = desks("on").run(code).text
    assert "KeyError" in text
    assert "line 2, column" not in text


@pytest.mark.parametrize("code", ["print(1)\nx = = 2", "-" * 100_000 + "1"], ids=["a typo", "too deep"])
def test_what_is_no_python_says_so_itself(desks: Callable[..., Desk], code: str) -> None:
    execution = desks("on").run(code)
    assert execution.outcome == "failed"
    assert "SyntaxError: " in execution.text
    assert desks("on").run("print('next')").output == "next\n"


def test_what_could_not_be_checked_is_run_and_that_is_told(desks: Callable[..., Desk]) -> None:
    execution = desks("on").run("# call_tool\n" + "x = 1\n" * 60_000 + "print('ran')")
    assert execution.output == "ran\n"
    assert execution.check_skipped == "the program is larger than 256 KB"


def test_a_result_that_breaks_its_declaration_makes_it_doubtful_for_good(tmp_path: Path) -> None:
    code = "r = await mcp__echo__breach()\nprint(r['cont'])"

    def mistakes(desk: Desk) -> list[str]:
        return [one.rule for one in desk.do(desk.gateway.check(code)).mistakes]

    with Desk({}, tmp_path, {"echo": echo()}) as desk:
        desk.do(desk.gateway.refresh())
        assert mistakes(desk) == ["unknown-key"]
        desk.run("await mcp__echo__breach()")
        assert mistakes(desk) == []
    with Desk({}, tmp_path, {"echo": echo()}) as desk:
        desk.do(desk.gateway.refresh())
        assert mistakes(desk) == []


def test_nobody_is_asked_about_a_program_that_will_not_run(desks: Callable[..., Desk]) -> None:
    desk = desks("confirming")
    assert desk.do(desk.gateway.needing_confirmation("await mcp__echo__add(a=1, b=2)"))
    assert not desk.do(desk.gateway.needing_confirmation("await mcp__echo__add(a=1, z=2)"))
