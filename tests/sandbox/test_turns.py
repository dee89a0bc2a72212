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


async def hold(turns: Turns, *principals: str) -> AsyncExitStack:
    """Begin work for each principal; it ends with the stack."""
    stack = AsyncExitStack()

    async def work(principal: str) -> None:
        async with turns.turn(principal):
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(work(principal)) for principal in principals]
    stack.push_async_callback(asyncio.wait, tasks)
    for task in tasks:
        stack.callback(task.cancel)
    await asyncio.sleep(0)
    return stack


async def test_one_principal_never_takes_the_last_place() -> None:
    turns = Turns(3, "program")
    async with await hold(turns, *["ann"] * 10):
        with pytest.raises(BusyError):
            async with turns.turn("ann", 0.01):
                pass
        async with turns.turn("bob", 0):
            pass


async def test_a_single_place_goes_to_everyone() -> None:
    async with Turns(1, "program").turn("ann", 0):
        pass


async def test_where_nobody_else_can_come_every_place_is_used() -> None:
    turns = Turns(2, "program")
    async with await hold(turns, "local"), turns.turn("local", 0):
        pass


async def test_a_caller_that_waited_too_long_is_told_when_to_come_again() -> None:
    turns = Turns(1, "program")
    async with turns.turn("ann"):
        with pytest.raises(BusyError, match="running 1 program") as caught:
            async with turns.turn("bob", 0.01):
                pass
    assert (caught.value.code, caught.value.retry_after) == ("busy", 5)
    async with turns.turn("bob", 0):
        pass


async def test_places_go_round_among_those_who_wait() -> None:
    turns = Turns(1, "program")
    order: list[str] = []

    async def work(principal: str) -> None:
        async with turns.turn(principal):
            order.append(principal)
            await asyncio.sleep(0)

    await asyncio.gather(*map(work, ["ann"] * 4 + ["bob"] * 2 + ["cid"]))
    assert order == ["ann", "ann", "bob", "cid", "ann", "bob", "ann"]


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
