"""Lineage and edges in the store: counted once, replaced when they change."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from halflap.graph.lineage import Count, Flow, Lineage
from halflap.learn import Learned, infer
from halflap.store import ToolKey, open_store
from halflap.store.migrations import MIGRATIONS
from halflap.store.store import Store
from store.rows import call

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    import pytest

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

FIND = ToolKey("one", "find", "h1")
GET = ToolKey("two", "get\0\ud800", "")
FLOW = Flow(FIND, "users[].id", GET, "id")
OTHER = Flow(GET, "['a \ud800 key']", FIND, "$")


def lineage(**counts: tuple[int, int]) -> Lineage:
    flows = {"flow": FLOW, "other": OTHER}
    return Lineage({flows[name]: Count(*count) for name, count in counts.items()})


async def test_what_is_added_is_added_up_for_each_origin(store: Store) -> None:
    await store.add_learned("live", {}, lineage=lineage(flow=(2, 1)))
    await store.add_learned("live", {}, lineage=lineage(flow=(3, 1), other=(1, 1)))
    await store.add_learned("logs", {}, lineage=lineage(flow=(7, 0)))
    assert await store.lineage() == {
        "live": lineage(flow=(5, 2), other=(1, 1)),
        "logs": lineage(flow=(7, 0)),
    }


async def test_what_is_imported_counts_once_and_never_goes_backwards(store: Store) -> None:
    older, newer = lineage(flow=(2, 1)), lineage(flow=(5, 2), other=(1, 1))
    for came in (older, newer, newer, older):
        await store.replace_learned("import:x", {}, came)
    assert await store.lineage() == {"import:x": newer}


async def test_ever_new_ways_fill_no_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halflap.store.lineage.MAX_ROWS", 10)

    def replace_path(number: int) -> Flow:
        return FLOW._replace(source_path=f"key{number}")

    many = Lineage({replace_path(number): Count(1, 1) for number in range(15)})
    await store.add_learned("live", {}, lineage=many)
    await store.add_learned("live", {}, lineage=many)
    found = (await store.lineage())["live"]
    assert len(found.counts) == 10
    assert set(found.counts.values()) == {Count(2, 2)}


async def test_how_long_calls_take_is_the_median_of_those_that_went_well(store: Store) -> None:
    times = [10.0, 30.0, 20.0, None]
    calls = [call(number, duration_ms=took) for number, took in enumerate(times)]
    calls += [call(8, duration_ms=9_000.0, outcome="timeout"), call(9, tool="u", duration_ms=4.0)]
    await store.record(calls=calls)
    assert await store.latencies() == {("one", "t"): 20.0, ("one", "u"): 4.0}


async def test_numbers_are_added_up(store: Store) -> None:
    await store.add_counters({"looked": 2, "seconds": 0.5})
    await store.add_counters({"looked": 1})
    assert await store.counters() == {"looked": 3.0, "seconds": 0.5}


async def test_a_store_from_before_is_upgraded_with_a_backup_and_keeps_what_was_learned(
    tmp_path: Path,
) -> None:
    file = tmp_path / "s.db"
    before = Store(file, MIGRATIONS[:5])
    await before.open()
    learned = Learned(structured=infer([{"a": 1}]))
    await before.add_learned("live", {FIND: learned})
    await before.close()
    store = await open_store(file)
    assert (await store.learned())[0].learned == learned
    await store.add_learned("live", {}, lineage=lineage(flow=(1, 1)))
    await store.close()
    backups = await asyncio.to_thread(
        lambda: sorted(path.name.split("-")[0] for path in tmp_path.glob("*.bak"))
    )
    assert backups == ["s.db.v6", "s.db.v7", "s.db.v8"]
