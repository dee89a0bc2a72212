"""Places are shared fairly: nobody waits because somebody else asks much."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from halflap.core.errors import BusyError
from halflap.sandbox.turns import Turns

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("holding", "next_one", "most", "is_busy"),
    [
        # The last free place is kept for somebody who holds none.
        (["ann", "ann"], "ann", None, True),
        (["ann", "ann"], "bob", None, False),
        # Beside the local user there is nobody to keep one for.
        (["local", "local"], "local", None, False),
        (["ann"], "ann", 1, True),
        (["ann", "bob", "cid"], "dan", None, True),
    ],
)
async def test_a_place_is_kept_for_who_holds_none(
    holding: list[str], next_one: str, most: int | None, is_busy: bool
) -> None:
    turns = Turns(3, "program")
    async with AsyncExitStack() as stack:
        for principal in holding:
            await stack.enter_async_context(turns.turn(principal, 0, most))
        if not is_busy:
            await stack.enter_async_context(turns.turn(next_one, 0, most))
            return
        with pytest.raises(BusyError) as caught:
            await stack.enter_async_context(turns.turn(next_one, 0.01, most))
        assert (caught.value.code, caught.value.retry_after) == ("busy", 5)


async def test_places_go_round_among_those_who_wait() -> None:
    turns = Turns(1, "program")
    order: list[str] = []

    async def work(principal: str) -> None:
        async with turns.turn(principal):
            order.append(principal)
            await asyncio.sleep(0)

    await asyncio.gather(*map(work, ["ann"] * 4 + ["bob"] * 2 + ["cid"]))
    assert order == ["ann", "bob", "cid", "ann", "bob", "ann", "ann"]


async def test_no_place_is_lost_when_someone_gives_up() -> None:
    turns = Turns(2, "program")

    async def wait(principal: str) -> None:
        async with turns.turn(principal):
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(wait(principal)) for principal in ["ann"] * 3 + ["bob"] * 3]
    for task in tasks:
        await asyncio.sleep(0)
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    async with turns.turn("cid", 0), turns.turn("dan", 0):
        pass
