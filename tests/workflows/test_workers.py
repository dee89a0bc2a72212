"""Processes that work on workflows: each ends, whatever happens to whoever asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import WorkflowFailedError, WorkflowTimeoutError
from halflap.workflows import workers
from halflap.workflows.published import example_nets
from halflap.workflows.workers import Workers
from support import alive

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ORDER = example_nets()["order"]
SLEEPS = "import os, pathlib, time; pathlib.Path({!r}).write_text(str(os.getpid())); time.sleep(60)"
STARVED = """\
import sys; sys.path.insert(0, sys.argv[1])
from halflap.workflows import jobs, worker
def do(job, arguments):
    return [bytearray(2**20) for _ in range(10 * worker.MEMORY_MB)]
jobs.do = do
worker.MEMORY_MB = 300
worker.main()
"""


def test_it_ends_when_whoever_asked_has_gone(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "process"
    monkeypatch.setattr(workers, "_BOOT", SLEEPS.format(str(file)))

    async def ask() -> int:
        asked = asyncio.create_task(Workers(60).do("score", {}))
        while not (found := await asyncio.to_thread(lambda: file.exists() and file.read_text())):
            await asyncio.sleep(0.01)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        return int(found)

    assert not alive(run(ask()))


def test_it_ends_when_its_time_is_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_BOOT", "import time; time.sleep(60)")
    with pytest.raises(WorkflowTimeoutError):
        run(Workers(0.3).do("score", {"workflow": ORDER}))


@pytest.mark.slow
def test_one_that_needs_too_much_memory_is_ended(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_BOOT", STARVED)
    with pytest.raises(WorkflowFailedError, match="memory"):
        run(Workers(60).do("score", {}))


def test_several_are_done_at_once_and_all_are_answered(run: Run) -> None:
    async def ask() -> list[dict[str, Any]]:
        jobs = [Workers(60).do("score", {"workflow": ORDER, "reference_patterns": []}) for _ in range(2)]
        return await asyncio.gather(*jobs)

    first, second = run(ask())
    assert first == second
    assert 0 < first["total_score"] <= 1
