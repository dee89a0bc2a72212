"""The limits of a program: each ends it, or refuses a call, and says which it was."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from support import comes, some

if TYPE_CHECKING:
    from collections.abc import Callable

    from execution.desk import Desk


async def cancelled(desk: Desk, count: int) -> bool:
    return (await desk.gateway.call("mcp__echo__cancelled_count")).text == str(count)


def test_the_clock_ends_a_program_that_computes(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(timeout_seconds=2)
    # So that what takes long the first time is over.
    desk.output("pass")
    execution = desk.run("print('before')\nwhile True:\n    pass")
    assert execution.text.startswith(
        "[Script execution failed]\nbefore\nTimeoutError: Execution exceeded 2s limit\n"
        "The limit is `execution.timeout_seconds` in Halflap's configuration [run-timeout].\n"
    )


def test_the_clock_goes_on_while_a_server_hangs_and_the_call_is_cancelled(
    desk_with: Callable[..., Desk],
) -> None:
    desk = desk_with(timeout_seconds=2)
    desk.output("await mcp__echo__pid()")
    execution = desk.run("await mcp__echo__sleep(seconds=1_000)")
    assert "TimeoutError: Execution exceeded 2s limit" in execution.text
    assert "1. mcp__echo__sleep — cancelled, " in execution.text
    assert desk.do(comes(lambda: cancelled(desk, 1)))


def test_the_time_of_the_processor_is_limited(desk_with: Callable[..., Desk]) -> None:
    execution = desk_with(cpu_seconds=1).run("while True:\n    pass")
    assert execution.outcome == "cpu"
    assert (
        "CPUTimeError: Execution exceeded 1s of CPU limit\nThe limit is `execution.cpu_seconds`"
        in execution.text
    )


@pytest.mark.parametrize(
    "end",
    some(
        ["while True: pass", "sum(range(10**12))", "import re; re.match('(a+)+$', 'a' * 50 + 'b')"], every=3
    ),
    ids=["a loop", "one long call", "a pattern"],
)
def test_what_was_printed_without_a_newline_is_kept_when_the_program_is_ended(
    desk_with: Callable[..., Desk], end: str
) -> None:
    execution = desk_with(cpu_seconds=1).run(f"print('progress', 1, end=' ')\n{end}")
    assert (execution.outcome, execution.output) == ("cpu", "progress 1 ")


def test_so_is_what_was_written_as_bytes(desk_with: Callable[..., Desk]) -> None:
    execution = desk_with(cpu_seconds=1).run(
        "import sys\nsys.stdout.buffer.write(b'a line\\nand')\nwhile True: pass"
    )
    assert (execution.outcome, execution.output) == ("cpu", "a line\nand")


@pytest.mark.parametrize(
    "wait",
    some(
        [
            "await mcp__echo__sleep(seconds=1_000)",
            "import time; time.sleep(1_000)",
            "import asyncio; await asyncio.sleep(1_000)",
        ],
        every=3,
    ),
)
def test_so_are_very_many_pieces_when_the_program_waits(desk_with: Callable[..., Desk], wait: str) -> None:
    desk = desk_with(timeout_seconds=4)
    desk.output("await mcp__echo__pid()")
    execution = desk.run(f"for i in range(20000): print(i % 10, end='')\nprint('last', end='')\n{wait}")
    assert execution.outcome == "timeout"
    assert (len(execution.output), execution.output[-4:]) == (20_004, "last")


def test_signals_ignored_do_not_help(desk_with: Callable[..., Desk]) -> None:
    execution = desk_with(cpu_seconds=1).run(
        "import signal\nfor n in range(1, 65):\n    try:\n        signal.signal(n, signal.SIG_IGN)\n"
        "    except (OSError, ValueError):\n        pass\nwhile True:\n    try:\n        while True: pass\n"
        "    except BaseException:\n        pass"
    )
    assert execution.outcome == "cpu"


def test_memory_is_limited(desk_with: Callable[..., Desk]) -> None:
    execution = desk_with(max_memory_mb=64).run("print('before')\nx = bytearray(10**8)")
    assert execution.outcome == "memory"
    assert "before\n" in execution.text
    assert 'File "program.py", line 2' in execution.text
    assert (
        "MemoryError: Execution exceeded 64 MiB limit\nThe limit is `execution.max_memory_mb`"
        in execution.text
    )


EXHAUSTED = {
    "plain": "bytearray(10**10)",
    "in a task": "import asyncio\nasync def f(): bytearray(10**10)\nasync with asyncio.TaskGroup() as g:\n    g.create_task(f())",
    "as a cause": "try: bytearray(10**10)\nexcept MemoryError as e: raise RuntimeError('no') from e",
    "in passing": "try: bytearray(10**10)\nexcept MemoryError: {}['x']",
    "raised again": "try: bytearray(10**10)\nexcept MemoryError: raise",
    "raised again by name": "try: bytearray(10**10)\nexcept MemoryError as e: raise e",
    "in a library": "import json\njson.dumps([0] * 10**10)",
}
NOT_EXHAUSTED = {
    "raised with words": "raise MemoryError('mine')",
    "raised without": "raise MemoryError",
    "a class of its own": "class MemoryError(Exception): pass\nraise MemoryError('mine')",
    "a kind of it": "class Mine(MemoryError): pass\nraise Mine('mine')",
    "a cause never raised": "raise RuntimeError from MemoryError()",
    "thrown": "def g(): yield\ni = g(); next(i); i.throw(MemoryError('mine'))",
    "through a future": "import asyncio\nf = asyncio.get_running_loop().create_future()\nf.set_exception(MemoryError('mine'))\nawait f",
    "cut off": "try: bytearray(10**10)\nexcept MemoryError: raise RuntimeError('no') from None",
}  # fmt: skip


@pytest.mark.parametrize("name", some(EXHAUSTED, every=3))
def test_memory_that_could_not_be_had_is_the_limit_in_whatever_it_became(desk: Desk, name: str) -> None:
    execution = desk.run(EXHAUSTED[name])
    assert execution.outcome == "memory", execution.text
    assert (
        "MemoryError: Execution exceeded 512 MiB limit\nThe limit is `execution.max_memory_mb`"
        in execution.text
    )


@pytest.mark.parametrize("name", some(NOT_EXHAUSTED, every=3))
def test_what_only_has_the_name_is_not_the_limit(desk: Desk, name: str) -> None:
    execution = desk.run(NOT_EXHAUSTED[name])
    assert execution.outcome == "failed", execution.text
    assert "max_memory_mb" not in execution.text


def test_many_small_things_are_memory_too(desk_with: Callable[..., Desk]) -> None:
    assert desk_with(max_memory_mb=64).run("x = []\nwhile True:\n    x.append([])").outcome == "memory"


def test_output_is_cut_for_the_model_at_a_character_and_kept_whole(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(max_output_bytes=10)
    execution = desk.run("print('ééééééé')")
    lines = execution.text.splitlines()
    assert lines[:3] == ["[Script executed successfully]", "ééééé", "... (truncated)"]
    assert "`execution.max_output_bytes`" in lines[3]
    assert execution.output == "ééééééé\n"
    execution = desk.run("print('x' + 'é' * 7)")
    assert execution.text.splitlines()[1] == "xéééé"


def test_a_program_that_prints_without_end_is_ended(desk_with: Callable[..., Desk]) -> None:
    execution = desk_with(max_kept_output_bytes=100_000).run("while True:\n    print('x' * 999)")
    assert execution.outcome == "output"
    assert "OutputError: Execution exceeded 100,000 bytes of output limit" in execution.text
    assert len(execution.output) == 100_000


def test_the_number_of_calls_is_limited(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(max_calls=3)
    execution = desk.run("for i in range(5):\n    print(await mcp__echo__echo(text=str(i)))")
    assert execution.output == "0\n1\n2\n"
    assert "ToolError: Execution exceeded 3 calls limit (`execution.max_calls`)" in execution.text


def test_more_calls_at_once_than_there_may_be_are_refused_each_by_itself(
    desk_with: Callable[..., Desk],
) -> None:
    code = (
        "import asyncio\nwork = (mcp__echo__echo(text='x') for _ in range(12000))\n"
        "got = await asyncio.gather(*work, return_exceptions=True)\n"
        "print(got.count('x'), sum(isinstance(one, ToolError) for one in got))"
    )
    assert desk_with(max_calls=5).output(code) == "5 11995\n"


def test_calls_with_more_arguments_than_can_be_held_wait(desk_with: Callable[..., Desk]) -> None:
    code = (
        "import asyncio\nwork = (mcp__echo__echo(text=str(n) * 30000) for n in range(10))\n"
        "print([len(one) for one in await asyncio.gather(*work)] == [30000] * 10)"
    )
    assert desk_with(max_value_bytes=40_000).output(code) == "True\n"


def test_a_call_given_up_while_it_waits_is_not_made_and_takes_no_place(
    desk_with: Callable[..., Desk],
) -> None:
    desk = desk_with(max_value_bytes=40_000)
    execution = desk.run(
        "import asyncio\n"
        "slow = [asyncio.create_task(call_tool('mcp__echo__sleep', seconds=0.3, pad='x' * 30000)) for _ in range(2)]\n"
        "for _ in range(10): await asyncio.sleep(0)\n"
        "late = [asyncio.create_task(mcp__echo__echo(text=str(n) * 30000)) for n in range(4)]\n"
        "for _ in range(10): await asyncio.sleep(0)\n"
        "for one in late[:2]:\n    one.cancel()\n"
        "got = await asyncio.gather(*slow, *late, return_exceptions=True)\n"
        "print([type(one).__name__ for one in got])"
    )
    assert execution.output == "['str', 'str', 'CancelledError', 'CancelledError', 'str', 'str']\n"
    assert [call.name for call in execution.calls].count("mcp__echo__echo") == 2


def test_calls_beyond_those_at_a_time_wait(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(max_concurrent_calls=2)
    desk.output("await mcp__echo__pid()")
    code = "import asyncio\nawait asyncio.gather(*(mcp__echo__sleep(seconds=0.2) for _ in range(6)))"
    began = time.monotonic()
    desk.output(code)
    assert time.monotonic() - began >= 0.55


def test_a_result_that_is_too_large_is_refused(desk_with: Callable[..., Desk]) -> None:
    execution = desk_with(max_value_bytes=10_000).run("x = await mcp__echo__big(bytes=20000)")
    assert "ToolError: The call was made, but the result of 'mcp__echo__big' is 20,0" in execution.text
    assert "(`execution.max_value_bytes`)" in execution.text


def test_arguments_that_are_too_large_are_refused(desk_with: Callable[..., Desk]) -> None:
    execution = desk_with(max_value_bytes=10_000).run("x = await mcp__echo__echo(text='x' * 20000)")
    assert "ToolError: The arguments of 'mcp__echo__echo' are 20,0" in execution.text


def test_programs_beyond_those_at_a_time_wait(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(max_programs=1)
    desk.output("pass")

    async def two() -> float:
        began = time.monotonic()
        await asyncio.gather(*(desk.gateway.execute("import time; time.sleep(0.3)") for _ in range(2)))
        return time.monotonic() - began

    assert desk.do(two()) >= 0.6


def test_a_program_that_is_too_long_is_refused(desk: Desk) -> None:
    from halflap.errors import UsageError  # noqa: PLC0415 -- used here alone

    with pytest.raises(UsageError, match="larger than"):
        desk.run("#" * 2_000_000)


def test_deep_recursion_ends_the_program_alone(desk: Desk) -> None:
    assert "RecursionError" in desk.run("def f():\n    f()\nf()").text
    deep = "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr(self)\nrepr(A())"
    assert desk.run(deep).outcome in {"crashed", "memory", "failed"}
    assert desk.output("print('still here')") == "still here\n"


def test_a_program_that_is_cancelled_ends_with_its_calls(desk: Desk) -> None:
    async def cancel() -> None:
        # The server reads what it is asked in order: when the second is answered, it is at the first.
        code = (
            "import asyncio\nsleeping = asyncio.create_task(mcp__echo__sleep(seconds=1_000))\n"
            "await asyncio.sleep(0.05)\nawait mcp__echo__meta()\nawait sleeping"
        )
        task = asyncio.create_task(desk.gateway.execute(code))
        assert await comes(second_is_answered)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def second_is_answered() -> bool:
        return ("meta", "ok") in [(one.tool, one.outcome) for one in await desk.gateway.recent_calls(9)]

    before = int(desk.output("print(await mcp__echo__cancelled_count())"))
    desk.do(cancel())
    assert desk.do(comes(lambda: cancelled(desk, before + 1)))
