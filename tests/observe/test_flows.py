"""Where values go while calls pass: followed behind them, and written with what is learned."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from halflap.calls import Answered
from halflap.core.errors import StoreError
from halflap.gateway import Gateway
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.observe import Knowledge, Learning
from halflap.observe import learning as module
from halflap.store import LIVE, ToolKey, open_store
from observe.answers import TOOL, called, structured
from servers.memory import bundled
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import pytest

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

FIND, GET = (ToolKey("x", name, TOOL.schema_hash) for name in ("find", "get"))
FLOW = Flow(FIND, "ids[]", GET, "id")


async def told(*calls: Answered, **options: Any) -> Lineage:
    """Let calls be learned from; return what is in the store then."""
    store = await open_store(None)
    learning = Learning(store, Knowledge(store), **options)
    for call in calls:
        learning.take(call)
    await learning.close()
    found = await store.lineage()
    await store.close()
    return found.get(LIVE, Lineage())


def test_a_value_that_a_later_call_of_the_run_takes_is_counted(run: Run) -> None:
    calls = [called("find", {"ids": ["NO6JO3"]}, 1), called("get", {}, 2, id="NO6JO3")]
    assert run(told(*calls)).counts == {FLOW: Count(1, 1)}


def test_calls_of_no_run_of_another_or_of_somebody_else_are_not_put_together(run: Run) -> None:
    first = {"ids": ["NO6JO3"]}
    for one, other in (
        (called("find", first, 1, run=None), called("get", {}, 2, run=None, id="NO6JO3")),
        (called("find", first, 1), called("get", {}, 2, run="s", id="NO6JO3")),
        (called("find", first, 1), called("get", {}, 2, principal="eve", id="NO6JO3")),
    ):
        assert run(told(one, other)).counts == {}


def test_with_it_turned_off_nothing_is_counted(run: Run) -> None:
    calls = [called("find", {"ids": ["NO6JO3"]}, 1), called("get", {}, 2, id="NO6JO3")]
    assert run(told(*calls, lineage=False)).counts == {}


def test_a_large_result_that_is_looked_at_first_is_followed_in_its_place(run: Run) -> None:
    find = called("find", {"ids": ["NO6JO3"]}, 1)
    large = structured({"rows": ["x"] * 100})
    get = Answered("c2", called("get", {}, 2).tool, '{"id": "NO6JO3"}', large, 2.0, "r", "local", 2.5)
    assert run(told(find, called("other", {}, 1), get)).counts == {FLOW: Count(1, 1)}


def test_a_run_that_goes_on_after_something_was_written_is_followed_on(run: Run) -> None:
    async def main() -> None:
        store = await open_store(None)
        seen: list[Lineage] = []
        learning = Learning(store, Knowledge(store), on_flows=seen.append)
        learning.take(called("find", {"ids": ["NO6JO3"]}, 1))
        await learning.flush()
        assert seen == []
        for number in (2, 3):
            learning.take(called("get", {}, number, id="NO6JO3"))
            await learning.flush()
        assert [one.counts for one in seen] == [{FLOW: Count(1, 1)}, {FLOW: Count(1, 0)}]
        assert (await store.lineage())[LIVE].counts == {FLOW: Count(2, 1)}
        await learning.close()
        await store.close()

    run(main())


def test_a_store_that_fails_loses_nothing_once_it_works_again(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))

        async def fail(*_: Any, **__: Any) -> None:
            raise StoreError("The disk is full.")

        with monkeypatch.context() as patch:
            patch.setattr(type(store), "add_learned", fail)
            learning.take(called("find", {"ids": ["NO6JO3"]}, 1))
            learning.take(called("get", {}, 2, id="NO6JO3"))
            await learning.flush()
        learning.take(called("get", {}, 3, id="NO6JO3"))
        await learning.close()
        assert (await store.lineage())[LIVE].counts == {FLOW: Count(2, 1)}
        await store.close()

    run(main())


def test_of_a_run_that_is_over_nothing_is_held_for_long(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))
        learning.take(called("find", {"ids": ["NO6JO3"]}, 1))
        await learning.flush()
        trails = learning._watch._trails
        assert trails is not None
        assert len(trails._runs) == 1
        timer = learning._forgetting
        assert timer is not None
        timer.cancel()
        monkeypatch.setattr(module, "_IDLE_SECONDS", 0.01)
        learning._forget_later()
        async with asyncio.timeout(PATIENCE):
            while trails._runs:
                await asyncio.sleep(0.02)
        assert trails._held == 0
        assert getattr(learning, "_forgetting") is None  # noqa: B009 -- it was narrowed above
        await learning.close()
        await store.close()

    run(main())


PROGRAM = """
import asyncio

top = await mcp__sales__sales_top_customers(limit=2)
ids = [one["customer_id"] for one in top["customers"]]
await asyncio.gather(*[mcp__sales__order_history(customer_id=one) for one in ids])
"""


def test_a_program_shows_which_tool_feeds_which(run: Run) -> None:
    async def main() -> Lineage:
        async with Gateway.open({}, servers=bundled("sales")) as gateway:
            done = await gateway.execute(PROGRAM)
            assert done.outcome == "ok"
            await gateway.learned_rows()
            return (await gateway._prepared.store.lineage())[LIVE]

    found = run(main()).named(lambda key: key.tool)
    assert found.counts == {
        Flow("sales_top_customers", "customers[].customer_id", "order_history", "customer_id"): Count(2, 1)
    }
