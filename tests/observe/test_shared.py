"""Learning beside others who learn from the same calls: a backfill of the store, while the gateway runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.backfill import Backfill, Rules
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.observe import Knowledge, Learning
from halflap.store import CallRecord, ToolKey, open_store
from observe.answers import TOOL, called

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from halflap.calls import Answered
    from halflap.store import Store

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

FIND, GET = (ToolKey("x", name, TOOL.schema_hash) for name in ("find", "get"))


def recorded(answered: Answered) -> CallRecord:
    """Return a call as it is in the trace."""
    assert isinstance(answered.arguments, str)
    assert isinstance(answered.result, str)
    tool = answered.tool
    return CallRecord(
        answered.call,
        answered.run,
        None,
        answered.principal,
        tool.server,
        tool.original_name,
        tool.hash,
        answered.at,
        500.0,
        "ok",
        2,
        2,
        arguments=answered.arguments,
        result=answered.result,
    )


async def learned(
    calls: Sequence[Answered], taken: Sequence[Answered], *, large: bool = False
) -> tuple[dict[str, int], Lineage, int]:
    """Learn from calls, of which a backfill takes some before that is written; return what was counted, and what is left."""
    store = await open_store(None)
    learning = Learning(store, Knowledge(store))
    for call in calls:
        learning.take(replace(call, arguments={"n": call.at}) if large else call)
    await learning._look(hurry=True)
    await store.record(calls=[recorded(call) for call in taken])
    await Backfill(store, Rules(salt=await store.salt(), schema_hashes={TOOL.hash: TOOL.schema_hash})).run(
        ["store"]
    )
    await store.record(calls=[recorded(call) for call in calls if call not in taken])
    await learning.close()
    return await told(store)


async def told(store: Store) -> tuple[dict[str, int], Lineage, int]:
    rows = {f"{one.origin} {one.tool}": one.learned.observations for one in await store.learned()}
    lineage = Lineage.sum((await store.lineage()).values())
    left = len(await store.unobserved_calls(None, 99))
    await store.close()
    return rows, lineage, left


def test_calls_that_a_backfill_took_meanwhile_are_not_counted_again(run: Run) -> None:
    calls = [called("get", {"a": number}, number, id=f"i{number}") for number in range(5)]
    rows, _, left = run(learned(calls, calls[1:4]))
    assert (rows, left) == ({"backfill get": 3, "live get": 2}, 0)
    rows, _, left = run(learned(calls, calls))
    assert (rows, left) == ({"backfill get": 5}, 0)


def test_where_values_went_into_such_calls_is_not_counted_again_either(run: Run) -> None:
    calls = [
        called("find", {"ids": ["NO6JO3", "XK2PQ9"]}, 1),
        called("get", {}, 2, id="NO6JO3"),
        called("get", {}, 3, id="XK2PQ9"),
    ]
    _, lineage, _ = run(learned(calls, calls[:2]))
    assert lineage.counts == {Flow(FIND, "ids[]", GET, "id"): Count(2, 1)}


def test_of_what_is_too_large_to_be_kept_nothing_is_counted_twice(run: Run) -> None:
    calls = [called("get", {"a": number}, number) for number in range(3)]
    rows, _, left = run(learned(calls, calls[:1], large=True))
    assert (rows, left) == ({"backfill get": 1}, 2)
