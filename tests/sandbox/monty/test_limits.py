"""No program in monty runs for longer, or takes more, than it may."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import ExecutionConfig
from halflap.core.errors import SandboxError
from halflap.sandbox.choose import Sandbox
from halflap.sandbox.monty import Monty
from halflap.sandbox.sandbox import Program
from sandboxing import Stage
from support import children_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from halflap.sandbox.sandbox import Ending, Readiness

    Play = Callable[..., tuple[Ending, Stage]]
    Run = Callable[[Coroutine[Any, Any, Any]], Any]

pytestmark = pytest.mark.slow

installed = pytest.mark.usefixtures("play")


@pytest.mark.parametrize(
    ("code", "outcome", "output"),
    [
        ("while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass", "cpu", "before\n"),
        ("x = 'a' * 10 ** 10", "memory", "before\n"),
        ("x = []\nwhile True: x.append('a' * 1000)", "memory", "before\n"),
        ("while True: print('x' * 100)", "output", None),
        ("raise TimeoutError('feed time limit exceeded: mine')", "failed", "before\n"),
        ("raise MemoryError('mine')", "failed", "before\n"),
    ],
)  # fmt: skip
def test_a_program_is_ended_by_the_limit_that_it_exceeds_and_its_output_kept(
    play: Play, code: str, outcome: str, output: str | None
) -> None:
    ending, stage = play(f"print('before')\n{code}", stage=Stage(most_output=50_000), cpu_seconds=1)
    assert ending.outcome == outcome
    # Monty prints on while it is being stopped; a run keeps nothing beyond its limit.
    assert stage.text == output or 50_000 < len(stage.printed) < 1_000_000


@asynccontextmanager
async def running(
    code: str, host: Stage | None = None
) -> AsyncIterator[tuple[Sandbox, asyncio.Task[Ending], Stage]]:
    """Run a program that does not end."""
    monty, stage = Sandbox(Monty(ExecutionConfig())), host or Stage(most_output=10**9)
    await monty.ready()
    task = asyncio.create_task(stage.play(monty, code))
    await asyncio.sleep(0.4)
    yield monty, task, stage
    task.cancel()
    await asyncio.wait([task])
    await monty.close()


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
    async def cancel() -> None:
        async with running(code) as (monty, task, stage):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert stage.waiting == 0
            assert (await stage.play(monty, "print('next')")).outcome == "ok"

    run(cancel())


@installed
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux shows a process's environment")
def test_a_process_has_nothing_of_our_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "of the user")

    def environments() -> set[str]:
        processes = [Path(f"/proc/{pid}") for pid in children_of(os.getpid())]
        return {
            (one / "environ").read_text() for one in processes if "monty" in (one / "cmdline").read_text()
        }

    async def look() -> set[str]:
        async with running("await mcp__shop__endless()"):
            return await asyncio.to_thread(environments)

    assert run(look()) == {""}


@installed
def test_closing_ends_what_runs(run: Run) -> None:
    async def close() -> Ending:
        async with running("while True: pass") as (monty, task, stage):
            await monty.close()
            with pytest.raises(SandboxError, match="closed"):
                await monty.run(Program("1"), stage)
            return await task

    assert run(close()).outcome == "crashed"


@installed
def test_it_names_its_version_and_limits_or_what_is_wrong(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def readiness() -> Readiness:
        monty = Sandbox(Monty(ExecutionConfig(cpu_seconds=7, max_memory_mb=64)))
        try:
            return await monty.ready()
        finally:
            await monty.close()

    ready: Readiness = run(readiness())
    assert ready.trouble is None
    assert ready.layers[0].startswith("monty 1.")
    assert "7 s of computing, 64 MiB of memory" in ready.layers
    monkeypatch.setenv("MONTY_BIN", str(tmp_path / "missing"))
    assert run(readiness()).trouble.startswith("monty cannot be started: ")
