"""Processes that are at workflows: each ends, whatever happens to whoever asked."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from halflap.errors import WorkflowFailedError, WorkflowTimeoutError
from halflap.workflows import workers
from halflap.workflows.published import example_nets
from halflap.workflows.workers import Workers

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


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


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

    assert not is_there(run(ask()))


def test_it_ends_when_its_time_is_up(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "process"
    monkeypatch.setattr(workers, "_BOOT", SLEEPS.format(str(file)))

    async def ask() -> None:
        with pytest.raises(WorkflowTimeoutError, match="It was ended after 3 s"):
            await Workers(3).do("score", {})

    run(ask())
    assert not is_there(int(file.read_text()))


def test_one_that_needs_too_much_memory_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_BOOT", STARVED)

    async def ask() -> None:
        with pytest.raises(WorkflowFailedError, match="it needs more than 300 MB of memory"):
            await Workers(60).do("score", {})

    run(ask())


def test_several_are_done_at_once_and_all_are_answered(run: Run) -> None:
    async def ask() -> list[dict[str, Any]]:
        at_it = Workers(60)
        jobs = [at_it.do("score", {"workflow": ORDER, "reference_patterns": []}) for _ in range(4)]
        return await asyncio.gather(*jobs)

    first, *others = run(ask())
    assert all(one == first for one in others)
