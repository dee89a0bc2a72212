"""Scripts in monty: `main` is called behind the lines of the file, and its value comes out."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.sandbox import Ending, Entry, Program, ToolHelp
from sandboxing import Stage

pytestmark = pytest.mark.skipif(
    find_spec("pydantic_monty") is None, reason="needs `pip install 'halflap[monty]'`"
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def enter(code: str, arguments: Mapping[str, Any] | None = None, **limits: Any) -> Ending:
    async def run() -> Ending:
        from halflap.sandbox.monty.monty import Monty  # noqa: PLC0415 -- only where it is installed

        sandbox = Monty(ExecutionConfig(**limits))
        try:
            program = Program(code, {"mcp__shop__sales": ToolHelp()}, Entry("script__x", arguments or {}))
            return await sandbox.run(program, Stage())
        finally:
            await sandbox.close()

    return asyncio.run(run())


def test_main_is_called_with_its_arguments_and_its_value_comes_out() -> None:
    ending = enter("def main(a, b=2):\n    return {'sum': a + b, 'text': \"it's\"}", {"a": 1})
    assert (ending.outcome, ending.value) == ("ok", {"sum": 3, "text": "it's"})


def test_an_async_main_is_awaited_and_may_call_tools() -> None:
    code = "async def main(region):\n    return (await mcp__shop__sales(region=region))['region']"
    assert enter(code, {"region": "north"}).value == "north"


def test_a_failure_in_main_shows_no_line_of_ours() -> None:
    ending = enter("def main():\n    return 1 / 0")
    assert ending.outcome == "failed"
    assert ending.failure is not None
    assert "line 2, in main" in ending.failure.traceback
    assert "_halflap" not in ending.failure.traceback


def test_a_value_that_is_not_json_is_a_failure_of_the_program() -> None:
    ending = enter("def main():\n    return {1, 2}")
    assert ending.failure is not None
    assert "main() may return only what JSON can hold" in ending.failure.traceback


def test_a_value_that_is_too_large_names_the_limit() -> None:
    ending = enter("def main():\n    return 'x' * 5000", max_value_bytes=1000)
    assert ending.failure is not None
    assert "execution.max_value_bytes" in ending.failure.traceback


def test_a_script_that_looks_at_its_name_is_refused_plainly() -> None:
    ending = enter("def main():\n    return 1\nif __name__ == '__main__':\n    print(main())")
    assert ending.failure is not None
    assert "`__name__`" in ending.failure.traceback
