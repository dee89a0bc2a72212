"""The limits of a program: each ends it, or refuses a call, and the outcome says which it was."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import UsageError
from servers.memory import Memory, definition, echo, text
from support import comes

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox.desk import Desk


async def cancelled(desk: Desk, count: int) -> bool:
    return (await desk.gateway.call("mcp__echo__cancelled_count")).text == str(count)


def test_the_clock_ends_a_program_that_computes_or_waits_and_its_output_is_kept(
    desk_with: Callable[..., Desk],
) -> None:
    desk = desk_with(timeout_seconds=2)
    # What takes long the first time is over.
    desk.output("await mcp__echo__pid()")
    execution = desk.run("print('before')\nwhile True:\n    pass")
    assert (execution.outcome, execution.output) == ("timeout", "before\n")
    assert "[run-timeout]" in execution.text
    assert "`execution.timeout_seconds`" in execution.text
    execution = desk.run(
        "for i in range(2000): print(i % 10, end='')\nprint('last', end='')\nawait mcp__echo__sleep(seconds=1_000)"
    )
    assert execution.outcome == "timeout"
    assert (len(execution.output), execution.output[-4:]) == (2_004, "last")
    assert [(call.name, call.outcome) for call in execution.calls] == [("mcp__echo__sleep", "cancelled")]
    assert desk.do(comes(lambda: cancelled(desk, 1)))


def test_cpu_time_is_limited_also_at_the_end_and_what_was_printed_is_kept(strict: Desk) -> None:
    codes = "while True: pass", "import atexit\n@atexit.register\ndef end():\n    while True: pass"
    for execution in strict.run_all(*(f"print('a line')\n{code}" for code in codes)):
        assert (execution.outcome, execution.output) == ("cpu", "a line\n")
        assert "`execution.cpu_seconds`" in execution.text


def test_memory_is_limited_in_whatever_its_error_became(strict: Desk) -> None:
    codes = [
        "x = bytearray(10**8)",
        "x = []\nwhile True:\n    x.append([])",
        "try: bytearray(10**10)\nexcept MemoryError as e: raise RuntimeError('no') from e",
        "try: bytearray(10**10)\nexcept MemoryError: {}['x']",
        "class Mine(MemoryError): pass\nraise Mine",
        "import asyncio\nasync def f(): bytearray(10**10)\nasync with asyncio.TaskGroup() as g: g.create_task(f())",
    ]
    for one in strict.run_all(*(f"print('before')\n{code}" for code in codes)):
        assert (one.outcome, one.output) == ("memory", "before\n"), one.text
        assert "`execution.max_memory_mb`" in one.text


def test_output_is_cut_at_a_character_and_kept_whole(strict: Desk) -> None:
    execution = strict.run("print('x' + 'é' * 70)")
    assert execution.text.splitlines()[1] == "x" + "é" * 49
    assert "`execution.max_output_bytes`" in execution.text
    assert (execution.is_truncated, execution.output) == (True, "x" + "é" * 70 + "\n")


def test_a_program_that_prints_without_end_is_ended(strict: Desk) -> None:
    execution = strict.run("while True:\n    print('x' * 999)")
    assert (execution.outcome, len(execution.output)) == ("output", 100_000)
    assert "`execution.max_kept_output_bytes`" in execution.text


def test_a_call_that_a_program_gives_up_is_cancelled_while_the_program_continues(desk: Desk) -> None:
    code = (
        "import asyncio\nbefore = await mcp__echo__cancelled_count()\n"
        "try:\n    async with asyncio.timeout(0.1): await mcp__echo__sleep(seconds=1_000)\n"
        "except TimeoutError: pass\n"
        "while await mcp__echo__cancelled_count() == before: await asyncio.sleep(0.01)\nprint('cancelled')"
    )
    assert desk.output(code) == "cancelled\n"


def test_a_value_that_is_too_large_is_refused(strict: Desk) -> None:
    codes = "x = await mcp__echo__big(bytes=50000)", "x = await mcp__echo__echo(text='x' * 50000)"
    for one, calls in zip(strict.run_all(*codes), (1, 0), strict=True):
        assert (one.outcome, len(one.calls)) == ("failed", calls)
        assert "`execution.max_value_bytes`" in one.text


def test_calls_and_programs_beyond_those_at_the_same_time_wait(desk_with: Callable[..., Desk]) -> None:
    now = most = 0

    async def work(*_: Any) -> dict[str, Any]:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.05)
        now -= 1
        return text("done")

    busy = Memory(definition("work"), answer=work)
    desk = desk_with(max_concurrent_calls=2, max_programs=1, servers={"busy": busy})
    code = "import asyncio\nawait asyncio.gather(*(mcp__busy__work() for _ in range(6)))"
    assert [one.outcome for one in desk.run_all(code, code, code)] == ["ok"] * 3
    # With another program beside it, there would be four at a time.
    assert most == 2


def test_a_program_that_is_too_long_is_refused(desk: Desk) -> None:
    with pytest.raises(UsageError):
        desk.run("#" * 2_000_000)


def test_a_program_that_is_cancelled_ends_with_its_calls(desk_with: Callable[..., Desk]) -> None:
    desk = desk_with(servers={"echo": echo()})

    async def cancel() -> None:
        # The server reads requests in order: when the second is answered, it is at the first.
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
