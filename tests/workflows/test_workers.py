"""Processes that are at workflows: each ends, whatever happens to whoever asked."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest

from halflap.errors import WorkflowBusyError, WorkflowFailedError, WorkflowTimeoutError
from halflap.workflows import workers
from halflap.workflows.published import example_nets
from halflap.workflows.turns import Turns, small
from halflap.workflows.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ORDER = example_nets()["order"]
SLEEPS = "import os, pathlib, time; pathlib.Path({!r}).write_text(str(os.getpid())); time.sleep(60)"
NAPS = "import sys, time; time.sleep(1.2); sys.stdout.write('{\"answer\": {}}')"
NAPS_IF_LARGE = "import sys, time; time.sleep(2.5 if '\"wide\"' in sys.stdin.read() else 0); sys.stdout.write('{\"answer\": {}}')"
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
        with pytest.raises(WorkflowTimeoutError, match="It was ended after 2 s of work") as caught:
            await Workers(2).do("score", {"workflow": ORDER})
        assert "blocks" not in str(caught.value)

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


def wide(ways: int) -> dict[str, Any]:
    """Give a workflow in which so many tasks can be done at once."""
    names = [f"t{at}" for at in range(ways)]
    return {
        "id": "wide",
        "input": "i",
        "output": "o",
        "tasks": [{"id": "s"}, *({"id": name} for name in names), {"id": "j", "join": "and"}],
        "flows": [
            {"from": "i", "to": "s"},
            *({"from": "s", "to": name} for name in names),
            *({"from": name, "to": "j"} for name in names),
            {"from": "j", "to": "o"},
        ],
    }


def test_its_time_is_counted_from_when_it_is_begun(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_BOOT", NAPS)

    async def ask() -> list[Any]:
        at_it = Workers(4.5, places=1)
        # Each takes 1.2 s at least: with the wait counted the last would have too little left.
        jobs = [at_it.do("score", {"workflow": wide(9)}) for _ in range(4)]
        return list(await asyncio.gather(*jobs))

    assert run(ask()) == [{}] * 4


def test_one_that_is_never_begun_is_told_that_and_not_that_it_was_ended(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_BOOT", "import time; time.sleep(60)")

    async def ask() -> list[Any]:
        at_it = Workers(2, places=1)
        jobs = [asyncio.create_task(at_it.do("score", {"workflow": wide(9)})) for _ in range(5)]
        return list(await asyncio.gather(*jobs, return_exceptions=True))

    first, *others = run(ask())
    assert isinstance(first, WorkflowTimeoutError)
    # Who is next is begun, though the one before it took all its time.
    assert isinstance(others[0], WorkflowTimeoutError)
    assert isinstance(others[-1], WorkflowBusyError)
    assert "It waited 4 s for its turn and was never begun" in str(others[-1])
    assert others[-1].seed_code == "TIMEOUT_ERROR"


def test_a_small_one_does_not_wait_for_large_ones(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_BOOT", NAPS_IF_LARGE)

    async def ask() -> list[str]:
        at_it, done = Workers(60, places=1), []

        async def one(name: str, workflow: dict[str, Any]) -> None:
            await at_it.do("score", {"workflow": workflow})
            done.append(name)

        await asyncio.gather(*(one("large", wide(9)) for _ in range(2)), one("small", ORDER))
        return done

    assert run(ask()).index("small") < 2


def test_a_workflow_that_is_not_made_of_blocks_is_named_when_time_is_up(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_BOOT", "import time; time.sleep(60)")
    loose = wide(3)
    loose["tasks"][-1]["join"] = "xor"

    async def ask() -> None:
        with pytest.raises(WorkflowTimeoutError, match="'optimized_workflow' is not made of blocks"):
            await Workers(0.3).do("validate", {"original_workflow": ORDER, "optimized_workflow": loose})

    run(ask())


class TestTurns:
    def served(
        self, run: Run, *asked: tuple[str, bool], places: int = 1, leaves: int | None = None
    ) -> list[int]:
        """Ask for places, one after the other, and give the order in which they were had; one may leave before it is served."""

        async def scenario() -> list[int]:
            turns, order = Turns(places), []

            async def one(at: int, who: str, small: bool) -> None:
                place = await turns.take(who, small=small)
                order.append(at)
                try:
                    await asyncio.sleep(0.01)
                finally:
                    turns.give(place)

            tasks = [asyncio.create_task(one(at, *each)) for at, each in enumerate(asked)]
            await asyncio.sleep(0)
            if leaves is not None:
                tasks[leaves].cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            # All places are free again.
            await asyncio.wait_for(turns.take("x", small=False), 1)
            return order

        return list(run(scenario()))

    def test_everybody_has_a_turn(self, run: Run) -> None:
        asked = [("a", False)] * 4 + [("b", False)] * 2
        assert self.served(run, *asked) == [0, 1, 4, 2, 5, 3]

    def test_one_has_a_place_beside_if_it_is_small(self, run: Run) -> None:
        assert self.served(run, ("a", False), ("a", False), ("b", True))[:2] == [0, 2]

    def test_who_leaves_keeps_nobody_waiting(self, run: Run) -> None:
        assert self.served(run, ("a", False), ("a", False), ("a", False), leaves=1) == [0, 2]
        assert self.served(run, ("a", False), ("b", False), leaves=0) == [0, 1]

    def test_nor_does_who_leaves_when_the_place_has_just_come(self, run: Run) -> None:
        async def scenario() -> None:
            turns = Turns(1)
            place = await turns.take("a", small=False)
            waits = asyncio.create_task(turns.take("b", small=False))
            await asyncio.sleep(0)
            turns.give(place)
            waits.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waits
            await asyncio.wait_for(turns.take("c", small=False), 1)

        run(scenario())


@pytest.mark.parametrize(
    ("workflow", "is_small"),
    [
        (ORDER, True),
        (wide(5), True),
        (wide(6), False),
        ({"id": "x", "root": "x", "nets": [wide(2), wide(6)]}, False),
        ({"yawl": "<specification/>"}, False),
        ({"tasks": 3}, True),
        ({"tasks": [None], "flows": [3]}, True),
    ],
)
def test_what_is_small(workflow: dict[str, Any], is_small: bool) -> None:
    assert small({"workflow": workflow, "reference_patterns": []}) is is_small
