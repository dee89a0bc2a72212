"""What monty cannot run is said plainly, with what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from halflap.sandbox.monty.failure import MODULES

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.sandbox.sandbox import Ending
    from sandboxing import Stage

    Play = Callable[..., tuple[Ending, Stage]]


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("class Mine(Exception):\n    pass", "ValueError"),
        ("def f():\n    yield 1", "list"),
        ("x = {'a': 1}\ndel x['a']", ".pop(key)"),
        ("import asyncio\nasync with asyncio.TaskGroup() as group:\n    pass", "asyncio.gather"),
        ("import asyncio\nasyncio.create_task(mcp__shop__rows())", "asyncio.gather"),
        ("import asyncio\nawait asyncio.gather(mcp__shop__rows(), return_exceptions=True)", "ToolError"),
        ("from collections import OrderedDict", "standard library"),
        ("import numpy", "packages"),
        ("x = dir()", "builtin"),
    ],
)
def test_what_monty_cannot_run_is_told_with_what_to_do(play: Play, code: str, advice: str) -> None:
    ending, _ = play(code)
    assert ending.outcome == "failed"
    assert ending.failure is not None
    assert "monty" in (ending.failure.hint or "")
    assert advice in (ending.failure.hint or "")
    assert ending.failure.unknown is None


def test_syntax_that_monty_lacks_stops_the_program_before_anything_is_called(play: Play) -> None:
    ending, stage = play("await mcp__shop__rows()\nclass A(B):\n    pass")
    assert ending.failure is not None
    assert 'File "program.py", line 2' in ending.failure.traceback
    assert stage.called == []


def test_the_modules_that_are_named_are_there(play: Play) -> None:
    ending, _ = play(f"import {MODULES}")
    assert ending.outcome == "ok", ending.failure
