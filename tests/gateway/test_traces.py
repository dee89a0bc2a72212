"""Recorded runs: read by those who may, and purged."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from halflap import CallContext, Gateway
from halflap.calls import new_id
from halflap.core.errors import RunNotFoundError
from halflap.store import open_store
from servers.memory import Memory, definition
from store.rows import call, run_of
from support import comes

if TYPE_CHECKING:
    from pathlib import Path


def echo() -> dict[str, Memory]:
    return {"echo": Memory(definition("add", "a b"))}


async def ran(gateway: Gateway, principal: str, **more: Any) -> str:
    """Record a run with one call in it; return its identifier."""
    await gateway.prepare()
    run = run_of(1, id=new_id(), principal=principal, started_at=time.time(), **more)
    gateway.parts.recorder.add(run)
    context = CallContext(principal=principal, run=run.id)
    await gateway.call_tool("mcp__echo__add", {"a": "1", "b": "2"}, context)
    await gateway.parts.recorder.end_run(run)
    return run.id


async def test_another_principals_run_looks_like_no_run_at_all() -> None:
    async with Gateway.open({}, servers=echo()) as gateway:
        identifier = await ran(gateway, "ann")
        said = []
        for asked in (identifier[:-1], "0" * 28):
            with pytest.raises(RunNotFoundError) as caught:
                await gateway.run(asked, principal="bob")
            said.append(str(caught.value).replace(asked, "ID"))
        assert said[0] == said[1]


async def filled(file: Path, *ages_in_days: float, output: str = "") -> None:
    store = await open_store(file)
    for number, age in enumerate(ages_in_days):
        at = time.time() - age * 86_400
        await store.record(
            runs=[run_of(number, started_at=at, output=output)], calls=[call(number, started_at=at)]
        )
    await store.close()


async def test_traces_past_their_age_or_size_are_purged_in_the_background(home: Path) -> None:
    await filled(home / "data" / "halflap.db", 400, 31, 29, 3, 2, 1, output="x" * 1_000_000)
    async with Gateway.open({"traces": {"keep_mb": 3.5}}) as gateway:

        async def gone() -> bool:
            size = (await asyncio.to_thread((home / "data" / "halflap.db").stat)).st_size
            return len(await gateway.runs()) <= 3 and size < 3_500_000

        assert await comes(gone)
        assert [record.id for record in await gateway.runs()] == ["00000005", "00000004", "00000003"]
    async with Gateway.open({"traces": {"keep_days": 2.5}}) as gateway:

        async def older_gone() -> bool:
            return (len(await gateway.runs()), len(await gateway.recent_calls())) == (2, 2)

        assert await comes(older_gone)
