"""How a sandbox enters a script by its `main`, with the real jail."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.choose import Sandbox
from halflap.sandbox.jail.jail import Jail
from halflap.sandbox.sandbox import Ending, Host, Program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Enter = Callable[..., tuple[Ending, str]]


class Paper(Host):
    """Keeps what is printed."""

    def __init__(self) -> None:
        self.printed = b""

    def output(self, data: bytes) -> bool:
        self.printed += data
        return True


@pytest.fixture(scope="module")
def entered() -> Iterator[Enter]:
    """Enter scripts in one jail."""
    with asyncio.Runner() as runner:
        jail = Sandbox(Jail(ExecutionConfig()))

        def enter(code: str, **arguments: Any) -> tuple[Ending, str]:
            paper = Paper()
            return runner.run(jail.run(Program(code, arguments=arguments), paper)), paper.printed.decode()

        yield enter
        runner.run(jail.close())


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_main_gets_its_arguments_and_its_value_comes_back(entered: Enter, kind: str) -> None:
    ending, printed = entered(f"{kind} main(a, b=2):\n    print('in')\n    return {{'sum': a + b}}", a=1)
    assert (ending.outcome, ending.value, printed) == ("ok", {"sum": 3}, "in\n")


def test_a_guarded_block_is_left_out_of_a_script(entered: Enter) -> None:
    code = "from dataclasses import dataclass\n@dataclass\nclass A:\n    a: 'int' = 1\ndef main():\n    return [__name__, A().a]\nif __name__ == '__main__':\n    raise SystemExit('no')"
    ending, _ = entered(code)
    assert ending.value == ["script", 1]


@pytest.mark.parametrize("value", ["{1, 2}", "float('nan')", "{(1, 2): 3}", "itself"])
def test_a_value_that_json_cannot_hold_is_a_type_error_at_the_end(entered: Enter, value: str) -> None:
    code = f"def main():\n    print('done')\n    itself = []\n    itself.append(itself)\n    return {value}"
    ending, printed = entered(code)
    assert (ending.outcome, "TypeError: " in ending.error, printed) == ("failed", True, "done\n")


def test_a_failed_program_has_a_traceback_and_no_value(entered: Enter) -> None:
    ending, _ = entered("def main():\n    raise ValueError")
    assert 'File "program.py", line 2, in main' in ending.error
    assert (ending.outcome, ending.value) == ("failed", None)
