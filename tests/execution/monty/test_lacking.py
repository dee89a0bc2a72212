"""What monty cannot run is said plainly, with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from halflap.execution.monty.lacking import MODULES

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.execution.sandbox import Ending
    from sandboxing import Stage

    Play = Callable[..., tuple[Ending, Stage]]


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("class Mine(Exception):\n    pass", "raise ValueError with a text"),
        ("class A:\n    @property\n    def x(self): return 1", "plain methods"),
        ("def f():\n    yield 1", "Build a list"),
        ("x = {'a': 1}\ndel x['a']", ".pop(key)"),
        ("import asyncio\nasync with asyncio.TaskGroup() as group:\n    pass", "asyncio.gather"),
        ("async for x in y:\n    pass", "with `for`"),
        ("try:\n    pass\nexcept* ValueError:\n    pass", "Write `except`"),
        ("import asyncio\nasyncio.create_task(mcp__shop__rows())", "asyncio.gather"),
        ("from asyncio import TaskGroup", "asyncio.gather"),
        ("import asyncio\nawait asyncio.wait_for(mcp__shop__rows(), 1)", "Await the call itself"),
        (
            "import asyncio\nawait asyncio.gather(mcp__shop__rows(), return_exceptions=True)",
            "Catch ToolError in a function of your own",
        ),
        ("import statistics", "sum(values) / len(values)"),
        ("from enum import Enum", "Use constants"),
        ("import heapq", "sorted()"),
        ("import urllib.request", "Only tools reach the network"),
        ("from collections import OrderedDict", "collections.OrderedDict"),
        ("raise ValueError('a', 1)", "Exceptions take one text"),
        ("raise EOFError('x')", "Use another exception"),
        ("x = dir()", "'dir' is not in it"),
    ],
)
def test_what_monty_cannot_run_is_said_with_what_to_do(play: Play, code: str, advice: str) -> None:
    ending, _ = play(code)
    assert ending.outcome == "failed"
    assert ending.failure is not None
    assert ending.failure.hint is not None
    assert "monty" in ending.failure.hint
    assert advice in ending.failure.hint
    assert "On Linux, `execution.sandbox: jail` runs all of Python." in ending.failure.hint
    assert ending.failure.unknown is None


def test_syntax_that_monty_lacks_stops_the_program_before_anything_is_called(play: Play) -> None:
    ending, stage = play("await mcp__shop__rows()\nclass A(B):\n    pass")
    assert ending.failure is not None
    assert ending.failure.message == "this sandbox (monty) cannot run class inheritance and metaclasses"
    assert ending.failure.traceback.startswith('  File "program.py", line 2\n    class A(B):\n')
    assert stage.called == []


def test_a_package_is_not_to_be_had(play: Play) -> None:
    ending, _ = play("import numpy")
    assert ending.failure is not None
    assert ending.failure.hint is not None
    assert "has no packages" in ending.failure.hint


def test_the_modules_that_are_named_are_there(play: Play) -> None:
    ending, _ = play(f"import {MODULES}")
    assert ending.outcome == "ok", ending.failure
