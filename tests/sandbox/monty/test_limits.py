"""Nothing that a program does in monty goes on for longer, or takes more, than it may."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.core.errors import SandboxError
from halflap.sandbox.choose import Sandbox
from halflap.sandbox.monty.monty import Monty
from halflap.sandbox.sandbox import Program
from sandboxing import Stage
from support import children_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from halflap.sandbox.sandbox import Ending, Readiness

    Play = Callable[..., tuple[Ending, Stage]]
    Run = Callable[[Coroutine[Any, Any, Any]], Any]

pytestmark = pytest.mark.slow

installed = pytest.mark.usefixtures("play")


def test_a_program_that_computes_too_long_is_ended_and_its_output_kept(play: Play) -> None:
    code = "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass"
    ending, stage = play(f"print('before')\n{code}", cpu_seconds=1)
    assert (ending.outcome, stage.text) == ("cpu", "before\n")


@pytest.mark.parametrize("code", ["x = 'a' * 10 ** 10", "x = []\nwhile True: x.append('a' * 1000)"])
def test_a_program_that_takes_too_much_memory_is_ended_and_its_output_kept(play: Play, code: str) -> None:
    ending, stage = play(f"print('before')\n{code}")
    assert (ending.outcome, stage.text) == ("memory", "before\n")


@pytest.mark.parametrize("error", ["TimeoutError('feed time limit exceeded: mine')", "MemoryError('mine')"])
def test_an_error_of_the_program_itself_is_not_the_limit(play: Play, error: str) -> None:
    ending, _ = play(f"raise {error}")
    assert ending.outcome == "failed"


def test_a_program_that_prints_too_much_is_ended(play: Play) -> None:
    ending, stage = play("while True: print('x' * 100)", stage=Stage(most_output=50_000))
    assert ending.outcome == "output"
    assert 50_000 < len(stage.printed) < 100_000


@installed
@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\ntime.sleep(1_000)",
        "while True: print('x')",
        "while True: await mcp__shop__slow()",
    ],
)
def test_a_run_that_is_cancelled_ends_at_once_and_leaves_nothing(run: Run, code: str) -> None:
    async def go() -> None:
        monty, stage = Sandbox(Monty(ExecutionConfig())), Stage(most_output=10**9)
        await monty.ready()
        task = asyncio.create_task(stage.play(monty, code))
        await asyncio.sleep(0.4)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert stage.waiting == 0
        assert (await stage.play(monty, "print('next')")).outcome == "ok"
        await monty.close()

    run(go())


def _environments_of_monty() -> list[str]:
    processes = [Path(f"/proc/{pid}") for pid in children_of(os.getpid())]
    return [(one / "environ").read_text() for one in processes if "monty" in (one / "cmdline").read_text()]


@installed
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux shows a process's environment")
def test_a_process_has_nothing_of_our_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "of the user")

    async def go() -> list[str]:
        monty, stage = Sandbox(Monty(ExecutionConfig())), Stage()
        await monty.ready()
        task = asyncio.create_task(stage.play(monty, "await mcp__shop__endless()"))
        while not stage.waiting:
            await asyncio.sleep(0.01)
        found = await asyncio.to_thread(_environments_of_monty)
        task.cancel()
        await asyncio.wait([task])
        await monty.close()
        return found

    assert set(run(go())) == {""}


@installed
def test_closing_ends_what_runs(run: Run) -> None:
    async def go() -> Ending:
        monty, stage = Sandbox(Monty(ExecutionConfig())), Stage()
        await monty.ready()
        task = asyncio.create_task(stage.play(monty, "while True: pass"))
        await asyncio.sleep(0.3)
        await monty.close()
        ending = await task
        with pytest.raises(SandboxError, match="closed"):
            await monty.run(Program("1"), stage)
        return ending

    assert run(go()).outcome == "crashed"


@installed
def test_a_host_that_fails_is_not_the_programs_failure(run: Run) -> None:
    class Failing(Stage):
        async def call(self, name: str, arguments: object, line: int | None = None) -> Any:
            raise ZeroDivisionError(name, arguments, line)

    async def go() -> None:
        monty = Sandbox(Monty(ExecutionConfig()))
        try:
            with pytest.raises(ZeroDivisionError):
                await Failing().play(monty, "try:\n    await mcp__shop__rows()\nexcept Exception:\n    pass")
        finally:
            await monty.close()

    run(go())


async def _readiness() -> Readiness:
    monty = Sandbox(Monty(ExecutionConfig(cpu_seconds=7, max_memory_mb=64)))
    try:
        return await monty.ready()
    finally:
        await monty.close()


@installed
def test_it_names_its_version_and_limits(run: Run) -> None:
    found = run(_readiness())
    assert found.trouble is None
    assert found.layers[0].startswith("monty 1.")
    assert "7 s of computing, 64 MiB of memory" in found.layers


@installed
def test_a_binary_that_does_not_start_is_trouble(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MONTY_BIN", str(tmp_path / "missing"))
    assert run(_readiness()).trouble.startswith("monty cannot be started: ")
