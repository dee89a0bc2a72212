"""What agents write without having read the documentation, in both sandboxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.choose import choose
from sandboxing import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halflap.sandbox.sandbox import Ending
    from sandbox.desk import Desk

    Play = Callable[[str], tuple[Ending, Stage]]

PNG = r"b'\x89PNG\r\n\x1a\n'"


@pytest.fixture(scope="module", params=["jail", "monty"])
def play(request: pytest.FixtureRequest) -> Iterator[Play]:
    import asyncio  # noqa: PLC0415 -- the loop is the fixture's own

    if request.param == "monty":
        pytest.importorskip("pydantic_monty", reason="monty is not installed: pip install 'halflap[monty]'")
    with asyncio.Runner() as runner:
        sandbox = choose(ExecutionConfig(sandbox=request.param))

        def player(code: str) -> tuple[Any, Stage]:
            stage = Stage()
            return runner.run(stage.play(sandbox, code)), stage

        yield player
        runner.run(sandbox.close())


@pytest.mark.parametrize(
    "call",
    [
        'call_tool("mcp__shop__sales", {"region": "north"})',
        'call_tool("mcp__shop__sales", region="north")',
        'call_tool("mcp__shop__sales", {"region": "south"}, region="north")',
        'call_tool("mcp__shop__sales", arguments={"region": "north"})',
        'call_tool(name="mcp__shop__sales", arguments={"region": "north"})',
        'mcp__shop__sales("north")',
        'mcp__shop__sales(region="north")',
    ],
)
def test_arguments_can_be_passed_in_every_usual_way(play: Play, call: str) -> None:
    ending, stage = play(f'print((await {call})["region"])')
    assert ending.outcome == "ok", ending.error
    assert stage.text == "north\n"


@pytest.mark.parametrize(
    "call",
    [
        "call_tool(None)",
        "call_tool()",
        'call_tool("mcp__shop__sales", 1)',
        'mcp__shop__sales("a", "b")',
        'mcp__shop__sales("a", region="b")',
        "mcp__shop__rows(1)",
    ],
)
def test_a_wrong_call_is_an_ordinary_error(play: Play, call: str) -> None:
    ending, stage = play(f"try:\n    await {call}\nexcept TypeError:\n    print('caught')")
    assert (ending.outcome, stage.text, stage.called) == ("ok", "caught\n", [])


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("1 + 1", "2\n"),
        ("'a\\nb'", "a\nb\n"),
        ("await mcp__shop__rows()", "[{'id': 1, 'price': 2}, {'id': 3}]\n"),
        ("'x' * 100_000", f"{'x' * 4_000}… (100,000 characters; print() shows all of them)\n"),
        ("None", ""),
        ("x = 1", ""),
        ("print('a')\n1 + 1", "a\n"),
        ("if True:\n    1 + 1", ""),
    ],
)
def test_the_value_of_the_last_line_is_shown_if_nothing_was_printed(play: Play, code: str, text: str) -> None:
    ending, stage = play(code)
    assert ending.outcome == "ok", ending.error
    assert stage.text == text
    assert len(stage.called) == code.count("mcp__")


def test_the_bytes_of_a_picture_are_shown(play: Play) -> None:
    _, stage = play(rf"show({PNG})")
    assert stage.text == ""
    assert [block["mimeType"] for block in stage.shown] == ["image/png"]


def test_a_picture_is_output(desk: Desk) -> None:
    for last in ("await mcp__echo__image()", "(await mcp__echo__image())[0]"):
        execution = desk.run(last)
        assert (len(execution.shown), "(no output)" in execution.text) == (1, False)


def test_the_fence_of_a_markdown_block_is_removed(desk: Desk) -> None:
    assert desk.output("```python\nprint(1)\n```\n") == "1\n"
    assert "line 2, in <module>" in desk.run("```py\n1 / 0\n```").text


def test_help_shows_what_a_tool_takes(desk: Desk) -> None:
    assert "mcp__echo__echo(text: string)" in desk.output("help(mcp__echo__echo)")
