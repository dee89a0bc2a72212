"""The check in a run: nothing is called that a mistake would have been made of, and doubts come with a failure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from execution.desk import Desk
from halflap.demo import demo_config
from support import ROOT, python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAGE = (ROOT / "docs" / "checking.md").read_text()
ECHO = "r = await mcp__echo__add(a=1, b=2)\nprint(r)\n"


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Desk]]:
    """Open a gateway for each setting of the check; the same one when it is asked for again."""
    opened: dict[str, Desk] = {}

    def desk(check: str) -> Desk:
        if check not in opened:
            servers: list[Any] = [python_server("echo", "swift.py", protocol="legacy")]
            if check == "on":
                # The page's program is one for the demo's servers.
                servers += demo_config()["servers"]
            config = {"servers": servers, "execution": {"check": check}}
            opened[check] = Desk(config, tmp_path_factory.mktemp(check)).__enter__()
            opened[check].do(opened[check].gateway.refresh())
        return opened[check]

    yield desk
    for one in opened.values():
        one.__exit__(None, None, None)


def test_a_certain_mistake_stops_the_run_before_any_call(desks: Callable[..., Desk]) -> None:
    desk = desks("on")
    execution = desk.run(f"{ECHO}await mcp__echo__add(a=1, c=2)")
    assert execution.outcome == "mistaken"
    assert not execution.ok
    assert execution.text.startswith("[Script execution failed]\nThe program was not run: the check found")
    assert execution.text.endswith("\nNo tool was called.")
    record, calls = desk.do(desk.gateway.run(execution.run))
    assert (record.outcome, list(calls), record.output) == ("mistaken", [], "")
    assert record.error == execution.error


def test_the_page_shows_what_is_told(desks: Callable[..., Desk]) -> None:
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    shown = re.search(r"\n(    \[Script execution failed\]\n(?:    .*\n)+)", PAGE)
    assert code is not None
    assert shown is not None
    expected = "\n".join(line.removeprefix("    ") for line in shown.group(1).splitlines())
    assert desks("on").run(code.group(1)).text == expected


def test_with_hints_a_mistake_stops_nothing_and_is_told_if_the_run_fails(desks: Callable[..., Desk]) -> None:
    execution = desks("hints").run(f"{ECHO}await mcp__echo__add(a=1, b='x')")
    assert execution.output == "3\n"
    assert execution.calls[0].outcome == "ok"
    assert "The check before the run had doubts" in execution.text
    assert "b: expected integer" in execution.text


def test_switched_off_nothing_is_checked(desks: Callable[..., Desk]) -> None:
    execution = desks("off").run(f"{ECHO}await mcp__echo__add(a=1, b='x')")
    assert execution.output == "3\n"
    assert "The check" not in execution.text


def test_doubts_are_not_told_of_a_run_that_succeeds(desks: Callable[..., Desk]) -> None:
    code = "d = {'a': 1}\nif len(d) > 3:\n    print(undefined)\nprint('fine')"
    assert desks("on").run(code).text == "[Script executed successfully]\nfine"


def test_doubts_are_told_of_the_lines_where_it_failed(desks: Callable[..., Desk]) -> None:
    code = "x = str(3)\ny = len(x) + 'a' if len(x) > 3 else 0\ndef f(v):\n    return v + 1\nprint(f(x))"
    text = desks("on").run(code).text
    assert "TypeError" in text
    assert "line 2, column" not in text


def test_what_is_no_python_says_so_itself(desks: Callable[..., Desk]) -> None:
    execution = desks("on").run("print(1)\nx = = 2")
    assert execution.outcome == "failed"
    assert "SyntaxError: invalid syntax" in execution.text


def test_what_could_not_be_checked_is_run_and_said_in_the_result(desks: Callable[..., Desk]) -> None:
    execution = desks("on").run("x = 1\n" * 60_000 + "print('ran')")
    assert execution.output == "ran\n"
    assert execution.check_skipped == "the program is larger than 256 KB"


def test_a_program_that_ends_the_parser_is_answered(desks: Callable[..., Desk]) -> None:
    execution = desks("on").run("-" * 100_000 + "1")
    assert execution.outcome == "failed"
    assert "SyntaxError: the program is nested too deeply for Python" in execution.text
    assert desks("on").run("print('next')").output == "next\n"


def test_a_result_that_breaks_its_declaration_makes_it_doubtful_for_good(tmp_path: Path) -> None:
    config = {"servers": [python_server("echo", "swift.py", protocol="legacy")]}
    code = "r = await mcp__echo__breach()\nprint(r['cont'])"

    def mistakes(desk: Desk) -> list[str]:
        return [one.rule for one in desk.do(desk.gateway.check(code)).mistakes]

    with Desk(config, tmp_path) as desk:
        desk.do(desk.gateway.refresh())
        assert mistakes(desk) == ["unknown-key"]
        desk.run("await mcp__echo__breach()")
        assert mistakes(desk) == []
    with Desk(config, tmp_path) as desk:
        desk.do(desk.gateway.refresh())
        assert mistakes(desk) == []


def test_gateway_check_runs_nothing(desks: Callable[..., Desk]) -> None:
    desk = desks("on")
    before = desk.do(desk.gateway.recent_calls(1))
    checked = desk.do(desk.gateway.check("r = await mcp__echo__add(a=1)"))
    assert [one.rule for one in checked.mistakes] == ["missing-argument"]
    assert desk.do(desk.gateway.recent_calls(1)) == before


def test_nobody_is_asked_about_a_program_that_will_not_run(tmp_path: Path) -> None:
    config = {
        "servers": [python_server("echo", "swift.py", protocol="legacy")],
        "tools": {"destructive": ["mcp__echo__*"]},
        "execution": {"confirm_destructive": True},
    }
    with Desk(config, tmp_path) as desk:
        desk.do(desk.gateway.refresh())
        assert desk.do(desk.gateway.needing_confirmation("await mcp__echo__add(a=1, b=2)"))
        assert not desk.do(desk.gateway.needing_confirmation("await mcp__echo__add(a=1, z=2)"))
