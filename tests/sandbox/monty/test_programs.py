"""A program in monty finds what it finds in the jail, and learns what monty lacks.

What both sandboxes have in common is in `test_expectations`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from halflap.sandbox.monty import MODULES
from sandboxing import Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.sandbox.sandbox import Ending

    Play = Callable[..., tuple[Ending, Stage]]


def failure_of(played: tuple[Ending, Stage]) -> Ending:
    assert played[0].outcome == "failed"
    return played[0]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("sales(region={1, 2})", "TypeError"),
        ("sales(region=float('nan'))", "TypeError"),
        ("sales(region=b'x')", "TypeError"),
        ("sales('north', 1)", "(region: str)"),
        ("sales(region='x' * 2_000)", "execution.max_value_bytes"),
    ],
)
def test_wrong_arguments_are_refused(play: Play, call: str, error: str) -> None:
    played = play(f"await mcp__shop__{call}", max_value_bytes=1_000)
    assert error in failure_of(played).error
    assert played[1].called == []


def test_a_tool_error_is_none_of_pythons_own_errors(play: Play) -> None:
    code = "try:\n    await mcp__shop__broken()\nexcept (ValueError, RuntimeError, OSError, LookupError):\n    pass"
    assert failure_of(play(code)).error.endswith("\nToolError: the shop is closed\n")


def test_gathered_calls_and_sleeps_run_at_the_same_time(play: Play) -> None:
    ending, stage = play(
        "import asyncio, time\nstart = time.time()\ntime.sleep(0.1)\n"
        "await asyncio.gather(*(asyncio.sleep(0.3) for _ in range(100)))\n"
        "print(0.4 <= time.time() - start < 30)\n"
        "print(await asyncio.gather(*(mcp__shop__together() for _ in range(5))))"
    )
    assert (ending.outcome, stage.text) == ("ok", f"True\n{['done'] * 5}\n")
    assert stage.most_waiting == 5


def test_media_are_shown_in_order_and_everything_else_is_printed(play: Play) -> None:
    code = "m = await mcp__shop__picture()\nprint('before')\nshow(m)\nshow(await mcp__shop__mixed())\nshow({'a': 1})"
    _, stage = play(code)
    assert stage.shown == [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}] * 2
    assert stage.order == ["print", "show", "print", "show", "print"]
    assert stage.text == "before\nsome text\n{'a': 1}\n"


def test_a_result_that_is_nested_too_deeply_is_a_tool_error(play: Play) -> None:
    class Deep(Stage):
        async def call(self, name: str, arguments: Mapping[str, Any], line: int | None = None) -> Any:
            value: list[Any] = [name, arguments, line]
            for _ in range(5_000):
                value = [value]
            return value

    failure = failure_of(play("print(len(await mcp__shop__rows()))", stage=Deep()))
    assert "ToolError" in failure.error.rpartition("\n  ")[2]


def test_a_program_finds_nothing_of_another_one(play: Play) -> None:
    play("secret = 'of the first'")
    assert "NameError" in failure_of(play("print(secret)")).error


def test_a_traceback_has_the_programs_own_lines(play: Play) -> None:
    code = "def inner(d):\n    return d['ü'] + d['b']\n\ndef outer():\n    return inner({'ü': 1})\n\nouter()"
    assert [line for line in failure_of(play(code)).error.splitlines() if "~" not in line] == [
        "Traceback (most recent call last):",
        '  File "program.py", line 7, in <module>',
        "    outer()",
        '  File "program.py", line 5, in outer',
        "    return inner({'ü': 1})",
        '  File "program.py", line 2, in inner',
        "    return d['ü'] + d['b']",
        "KeyError: 'b'",
    ]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("x = 1\nx = = 1", '  File "program.py", line 2\n    x = = 1\n'),
        ("async def main():\n    1 / 0\nawait main()", '  File "program.py", line 2, in main\n    1 / 0\n'),
        ("input('Who? ')", "input() is not available"),
    ],
)
def test_an_error_has_its_line(play: Play, code: str, error: str) -> None:
    assert error in failure_of(play(code)).error


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("class Mine(Exception):\n    pass", "ValueError"),
        ("def f():\n    yield 1", "list"),
        ("x = {'a': 1}\ndel x['a']", ".pop(key)"),
        ("import asyncio\nasync with asyncio.TaskGroup() as group:\n    pass", "asyncio.gather"),
        ("import asyncio\nawait asyncio.gather(mcp__shop__rows(), return_exceptions=True)", "ToolError"),
        ("import numpy", "packages"),
        ("x = dir()", "builtin"),
    ],
)
def test_what_monty_cannot_run_is_explained_with_what_to_do(play: Play, code: str, advice: str) -> None:
    failure = failure_of(play(code))
    assert "monty" in (failure.hint or "")
    assert advice in (failure.hint or "")


def test_the_modules_that_are_named_are_there(play: Play) -> None:
    ending, _ = play(f"import {MODULES}")
    assert ending.outcome == "ok", ending.error


def test_main_is_called_with_its_arguments_and_its_value_comes_out(play: Play) -> None:
    code = "async def main(region, b=2):\n    return {'got': (await mcp__shop__sales(region=region))['region'], 'b': b}"
    ending, _ = play(code, arguments={"region": "it's"})
    assert (ending.outcome, ending.value) == ("ok", {"got": "it's", "b": 2})


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return 1 / 0", "line 2, in main"),
        ("return {1, 2}", "The value of main()"),
        ("return 'x' * 5000", "execution.max_value_bytes"),
    ],
)
def test_a_script_that_fails_shows_no_line_of_ours(play: Play, body: str, error: str) -> None:
    failure = failure_of(play(f"def main():\n    {body}", arguments={}, max_value_bytes=1_000))
    assert error in failure.error
    assert "_halflap" not in failure.error
