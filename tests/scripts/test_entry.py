"""How a sandbox enters a script by its `main`, with the real jail."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.jail.jail import Jail
from halflap.sandbox.sandbox import Ending, Entry, Program, ToolHelp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Enter = Callable[..., tuple[Ending, str]]

LARGEST = 100_000
SEND = (
    "import os, struct\ndef send(kind, body):\n    os.write(3, struct.pack('!cI', kind, len(body)) + body)\n"
)


class Paper:
    """A host that keeps what is printed, and echoes calls."""

    def __init__(self) -> None:
        self.printed = b""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        return [name, dict(arguments)]

    def output(self, data: bytes) -> bool:
        self.printed += data
        return True

    def show(self, block: Mapping[str, Any]) -> bool:
        return bool(block)


@pytest.fixture(scope="module")
def entered() -> Iterator[Enter]:
    """Enter programs in one jail."""
    with asyncio.Runner() as runner:
        jail = Jail(ExecutionConfig(max_value_bytes=LARGEST))

        def enter(code: str, *, entry: bool = True, **arguments: Any) -> tuple[Ending, str]:
            paper = Paper()
            program = Program(
                code, {"mcp__a__b": ToolHelp()}, Entry("script__it", arguments) if entry else None
            )
            return runner.run(jail.run(program, paper)), paper.printed.decode()

        yield enter
        runner.run(jail.close())


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_main_gets_its_arguments_and_its_value_comes_back(entered: Enter, kind: str) -> None:
    ending, printed = entered(f"{kind} main(a, b=2):\n    print('in')\n    return {{'sum': a + b}}", a=1)
    assert (ending.outcome, ending.value, printed) == ("ok", {"sum": 3}, "in\n")


def test_a_guarded_block_is_left_out_of_a_script(entered: Enter) -> None:
    code = "from dataclasses import dataclass\n@dataclass\nclass A:\n    a: 'int' = 1\ndef main():\n    return [__name__, A().a]\nif __name__ == '__main__':\n    raise SystemExit('no')"
    ending, _ = entered(code)
    assert ending.value == ["script__it", 1]


@pytest.mark.parametrize("value", ["{1, 2}", "float('nan')", "{(1, 2): 3}", "itself"])
def test_a_value_that_json_cannot_hold_is_a_type_error_at_the_end(entered: Enter, value: str) -> None:
    code = f"def main():\n    print('done')\n    itself = []\n    itself.append(itself)\n    return {value}"
    ending, printed = entered(code)
    assert ending.failure is not None
    assert (ending.outcome, ending.failure.type, printed) == ("failed", "TypeError", "done\n")


def test_a_failed_program_has_a_traceback_and_no_value(entered: Enter) -> None:
    ending, _ = entered(f"{SEND}send(b'T', b'1')\ndef main():\n    raise ValueError")
    assert ending.failure is not None
    assert 'File "program.py", line 6, in main' in ending.failure.traceback
    assert (ending.outcome, ending.value) == ("failed", None)


@pytest.mark.parametrize(
    ("code", "entry"),
    [
        ("send(b'T', b'1')", False),
        ("send(b'T', b'1')\nsend(b'T', b'2')\ndef main(): ...", True),
        ("send(b'T', b'1')\ndef main(): return 2", True),
        ("send(b'T', b'no JSON')\nsend(b'D', b'null')\ndef main(): ...", True),
        ("send(b'T', b'NaN')\nsend(b'D', b'null')\ndef main(): ...", True),
        ("send(b'T', b'[' * 90_000)\nsend(b'D', b'null')\ndef main(): ...", True),
        (f"send(b'T', b'1' * {LARGEST + 1})\ndef main(): ...", True),
    ],
    ids=["no entry", "twice", "main again", "no JSON", "NaN", "deep", "too large"],
)
def test_a_value_that_no_honest_program_sends_ends_it(entered: Enter, code: str, entry: bool) -> None:
    ending, _ = entered(SEND + code, entry=entry)
    assert (ending.outcome, ending.value) == ("misused", None)
