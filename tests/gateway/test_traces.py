"""What a gateway recorded: asked for, by those who may, and taken out again."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from typing import TYPE_CHECKING, Any

import pytest

from halflap import CallContext, Gateway
from halflap.calls import new_id
from halflap.errors import RunNotFoundError
from halflap.store import Purged, open_store
from store.rows import call, run_of
from support import comes, python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ECHO = python_server("echo", "swift.py", protocol="legacy")


async def ran(gateway: Gateway, principal: str, **more: Any) -> str:
    """Have a run recorded, with one call in it; gives its identifier."""
    await gateway.prepare()
    run = run_of(1, id=new_id(), principal=principal, started_at=time.time(), **more)
    gateway.recorder.begin_run(run)
    context = CallContext(principal=principal, run=run.id)
    await gateway.call_tool("mcp__echo__add", {"a": 1, "b": 2}, context)
    await gateway.recorder.end_run(run)
    return run.id


def test_a_run_is_given_with_its_calls(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [ECHO]}) as gateway:
            identifier = await ran(gateway, "ann", output="three")
            found, calls = await gateway.run(identifier)
            assert (found.principal, found.output) == ("ann", "three")
            assert [(one.tool, one.arguments, one.run) for one in calls] == [
                ("add", '{"a": 1, "b": 2}', identifier)
            ]

    run(scenario())


def test_a_run_is_read_by_the_one_who_ran_it_alone(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [ECHO]}) as gateway:
            identifier = await ran(gateway, "ann")
            assert (await gateway.run(identifier, principal="ann"))[0].id == identifier
            with pytest.raises(RunNotFoundError, match="There is no run"):
                await gateway.run(identifier, principal="bob")
            assert await gateway.runs(principal="bob") == []
            assert len(await gateway.runs(principal="ann")) == 1
            assert len(await gateway.runs()) == 1

    run(scenario())


def test_what_somebody_elses_run_is_cannot_be_told_from_there_being_none(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [ECHO]}) as gateway:
            identifier = await ran(gateway, "ann")
            said = []
            for asked in (identifier[:-1], "0" * 28):
                with pytest.raises(RunNotFoundError) as caught:
                    await gateway.run(asked, principal="bob")
                said.append(str(caught.value).replace(asked, "ID"))
            assert said[0] == said[1]

    run(scenario())


def test_runs_are_taken_out_when_asked_to(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open({"servers": [ECHO]}) as gateway:
            await ran(gateway, "ann")
            assert await gateway.purge_runs(older_than=time.time() - 60) == Purged()
            assert await gateway.purge_runs(everything=True) == Purged(runs=1, calls=1)
            assert await gateway.runs() == []

    run(scenario())


async def filled(file: Path, *ages_in_days: float, output: str = "") -> None:
    store = await open_store(file)
    for number, age in enumerate(ages_in_days):
        at = time.time() - age * 86_400
        await store.record(
            runs=[run_of(number, started_at=at, output=output)], calls=[call(number, started_at=at)]
        )
    await store.close()


def test_what_is_too_old_goes_by_itself(run: Run, home: Path) -> None:
    async def scenario() -> None:
        await filled(home / "data" / "halflap.db", 1, 29, 31, 400)
        async with Gateway.open() as gateway:

            async def gone() -> bool:
                return (len(await gateway.runs()), len(await gateway.recent_calls())) == (2, 2)

            assert await comes(gone)

    run(scenario())


def test_what_is_too_much_goes_by_itself_the_oldest_first(run: Run, home: Path) -> None:
    async def scenario() -> None:
        await filled(home / "data" / "halflap.db", 5, 4, 3, 2, 1, output="x" * 1_000_000)
        async with Gateway.open({"traces": {"keep_mb": 2.5}}) as gateway:

            async def gone() -> bool:
                size = (await asyncio.to_thread((home / "data" / "halflap.db").stat)).st_size
                return len(await gateway.runs()) <= 2 and size < 2_500_000

            assert await comes(gone)
            assert [record.id for record in await gateway.runs()] == ["00000004", "00000003"]

    run(scenario())


@pytest.fixture
def permissive_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("permissive_umask")
def test_nobody_else_can_read_what_was_recorded(run: Run, home: Path) -> None:
    def modes() -> dict[str, str]:
        files = (home / "data").glob("halflap.db*")
        return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in files}

    async def scenario() -> None:
        async with Gateway.open({"servers": [ECHO]}) as gateway:
            await ran(gateway, "ann")
            assert await asyncio.to_thread(modes) == dict.fromkeys(
                ("halflap.db", "halflap.db-wal", "halflap.db-shm"), "0o600"
            )

    run(scenario())


def test_a_gateway_that_closes_does_not_wait_for_old_traces_to_go(run: Run, home: Path) -> None:
    async def scenario() -> int:
        store = await open_store(home / "data" / "halflap.db")
        await store.record_calls([call(number) for number in range(20_000)])
        await store.close()
        async with Gateway.open():
            pass
        store = await open_store(home / "data" / "halflap.db")
        left = await store.recent_calls(20_000)
        await store.close()
        return len(left)

    assert run(scenario()) > 0
