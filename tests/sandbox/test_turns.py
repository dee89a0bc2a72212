"""Places are shared fairly: nobody waits because somebody else asks much."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.core.errors import BusyError
from halflap.sandbox.turns import Turns
from support import examples

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


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.booleans()), max_size=30),
)
@settings(max_examples=examples(300))
def test_places_are_never_exceeded_nor_lost(places: int, work: list[tuple[str, int, bool]]) -> None:
    async def scenario() -> None:
        turns, now, done = Turns(places, "program"), Counter[str](), 0

        async def one(principal: str, steps: int) -> None:
            nonlocal done
            async with turns.turn(principal):
                now[principal] += 1
                assert now.total() <= places
                assert places == 1 or now[principal] < places
                try:
                    for _ in range(steps):
                        await asyncio.sleep(0)
                finally:
                    now[principal] -= 1
            done += 1

        tasks = [asyncio.create_task(one(principal, steps)) for principal, steps, _ in work]
        for task, (_, steps, is_cancelled) in zip(tasks, work, strict=True):
            if is_cancelled:
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert done >= sum(not is_cancelled for *_, is_cancelled in work)
        for principal in ["new"] * places:
            async with turns.turn(principal, 0):
                pass

    asyncio.run(scenario())
