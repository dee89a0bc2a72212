"""Runs and calls: kept, found again, and purged so that nothing of them is left."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from halflap.core.errors import UsageError
from halflap.store import Breach, Purged
from store.rows import call, opened, putting, run_of, server, tool

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.store import Store

SECRET = "the quick brown fox of this very test"


async def test_runs_are_listed_newest_first_and_come_back_as_they_were_written(store: Store) -> None:
    odd = run_of(
        1, kind="script", name="nightly", outcome="timeout", error="late", memory_bytes=5_000_000_000
    )
    await store.record(runs=[run_of(2), run_of(5), odd, run_of(4), run_of(3, principal="ann")])
    assert await store.runs(2) == [run_of(5, output=None), run_of(4, output=None)]
    assert [one.id for one in await store.runs(2, before=3.0)] == ["00000002", "00000001"]
    assert await store.run(odd.id) == odd
    assert [one.id for one in await store.runs(9, principal="ann")] == ["00000003"]
    assert await store.run("00000002", principal="ann") is None


async def test_a_run_is_found_by_a_prefix_that_fits_no_other(store: Store) -> None:
    await store.record(runs=[run_of(1, id="abc1"), run_of(2, id="abd2", principal="bob")])
    for text, principal in (("abc", None), ("ab", "local")):
        found = await store.run(text, principal=principal)
        assert found is not None
        assert found.id == "abc1"
    with pytest.raises(UsageError, match="abd2 and abc1"):
        await store.run("ab")
    for other in ("", "%", "' OR 1=1"):
        assert await store.run(other) is None


async def test_calls_are_found_by_run_tool_and_principal_with_their_values_or_without(store: Store) -> None:
    mine = [call(number, run="r") for number in (1, 2, 3)]
    valued = call(6, tool="a", arguments="{}", result="[1]")
    other = call(4, tool="a", principal="ann")
    await store.record(calls=[mine[2], other, valued, mine[0], mine[1]])
    assert await store.calls_of_run("r") == mine
    assert await store.recent_calls(2) == [valued, other]
    assert await store.recent_calls(9, server="one", tool="a", principal="local") == [valued]
    (brief,) = await store.recent_calls(9, tool="a", principal="local", values=False)
    assert brief == replace(valued, arguments=None, result=None)
    assert await store.call(valued.id) == valued
    assert await store.call(valued.id, principal="ann") is None


async def test_activity_counts_calls_by_minute_and_what_programs_kept_from_the_model(store: Store) -> None:
    in_run = {"run": "r", "result_bytes": 1_000}
    times = [call(number, started_at=60.0, duration_ms=float(number)) for number in range(1, 21)]
    await store.record(
        runs=[
            run_of(1, output_bytes=40),
            run_of(2, output_bytes=900),
            run_of(3, kind="script", output_bytes=7),
        ],
        calls=[
            *times,
            call(31, started_at=119.9, outcome="tool_error", duration_ms=None, **in_run),
            call(32, started_at=120.0, outcome="cancelled", duration_ms=5.0, **in_run),
            call(33, started_at=130.0, outcome="sent", duration_ms=None, server="script", **in_run),
            call(34, started_at=300.0, principal="ann"),
        ],
    )
    found = await store.activity(60.0, 60.0, 3, output_limit=100, principal=None)
    assert (found.calls, found.errors) == ((21, 2, 0), (1, 0, 0))
    assert (found.median_ms, found.slow_ms) == ((10.5, 5.0, None), (19.0, 5.0, None))
    assert (found.result_bytes, found.output_bytes, found.oldest) == (2_000, 140, 60.0)
    own = await store.activity(240.0, 60.0, 2, output_limit=100, principal="ann")
    assert (own.calls, own.result_bytes, own.oldest) == ((0, 1), 0, 300.0)


async def test_latency_is_the_median_of_successful_calls(store: Store) -> None:
    times = [10.0, 30.0, 20.0, None]
    calls = [call(number, duration_ms=took) for number, took in enumerate(times)]
    calls += [call(8, duration_ms=9_000.0, outcome="timeout"), call(9, tool="u", duration_ms=4.0)]
    await store.record(calls=calls)
    assert await store.latencies() == {("one", "t"): 20.0, ("one", "u"): 4.0}


async def test_breaches_of_the_same_place_are_added_up(store: Store) -> None:
    first = Breach("one", "t", "h", "a[]", "integer", 5.0, 5.0, 1)
    await store.record(breaches=[first, replace(first, path="b")])
    await store.record(breaches=[replace(first, first_at=7.0, last_at=7.0, times=2)])
    found = {one.path: one for one in await store.breaches()}
    assert found == {"a[]": replace(first, last_at=7.0, times=3), "b": replace(first, path="b")}


async def test_short_results_of_calls_that_ended_well_come_newest_first_without_their_arguments(
    store: Store,
) -> None:
    short = {"result": '"a"', "result_bytes": 3}
    records = [
        call(1, arguments='{"x": 1}', **short),
        call(2, **short),
        call(3, result='"long"', result_bytes=6),
        call(4, outcome="tool_error", **short),
        call(5, result=None),
    ]
    await store.record(calls=records)
    assert await store.small_results(5, 10) == [records[1], replace(records[0], arguments=None)]
    assert len(await store.small_results(5, 1)) == 1


async def filled(store: Store) -> None:
    """Put ten runs with two calls each into the store, and ten calls that belong to none."""
    for number in range(10):
        await store.record(
            runs=[run_of(number)],
            calls=[
                call(number, id=f"a{number}", run=f"{number:08}"),
                call(number, id=f"b{number}", run=f"{number:08}"),
                call(number, id=f"c{number}"),
            ],
        )


async def test_runs_older_than_a_time_are_purged_with_their_calls(store: Store) -> None:
    await filled(store)
    assert await store.purge(older_than=0.0, keep_bytes=1_000_000) == Purged()
    assert await store.purge(older_than=4.0) == Purged(runs=4, calls=12)
    assert {record.started_at for record in await store.runs(99)} == {4, 5, 6, 7, 8, 9}
    assert len(await store.recent_calls(99)) == 18


async def test_the_oldest_beyond_a_size_are_purged(store: Store) -> None:
    for number in range(10):
        await store.record(runs=[run_of(number, output="x" * 10_000)])
    assert await store.purge(keep_bytes=50_000) == Purged(runs=6)
    assert [record.started_at for record in await store.runs(99)] == [9, 8, 7, 6]


async def test_a_run_under_way_is_not_purged_for_its_size(store: Store) -> None:
    running = replace(run_of(1), outcome="running", output=None, duration_ms=None)
    await store.record(runs=[running, run_of(2, output="x" * 10_000)], calls=[call(1, run=running.id)])
    assert await store.purge(keep_bytes=1) == Purged(runs=1, calls=1)
    assert [record.id for record in await store.runs(9)] == [running.id]


async def test_others_can_write_during_a_long_purge(store: Store) -> None:
    await store.record(calls=[call(number) for number in range(2_000)])
    purging = asyncio.create_task(store.purge(older_than=1_999.0))
    await asyncio.sleep(0)
    await store.record(calls=[call(9_999)])
    assert not purging.done()
    assert (await purging).calls == 1_999


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_nothing_purged_is_left_in_the_files_and_their_space_is_given_back(file: Path) -> None:
    def size() -> int:
        return file.stat().st_size

    async with opened(file) as store:
        for number in range(10):
            await store.record(runs=[run_of(number, output="x" * 200_000)])
        await store.record(calls=[call(1, arguments=SECRET, result=SECRET * 50)])
        assert SECRET.encode() in await asyncio.to_thread(everything_in, file.parent)
        await store.purge(older_than=5.0)
        assert SECRET.encode() not in await asyncio.to_thread(everything_in, file.parent)
        assert 1_000_000 < await asyncio.to_thread(size) < 1_300_000
        await store.purge(everything=True)
        assert await asyncio.to_thread(size) < 200_000


async def test_purging_does_not_wait_for_readers(file: Path) -> None:
    async with opened(file) as store:
        await filled(store)
        reader = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM runs").fetchall()
        try:
            assert (await store.purge(older_than=5.0)).runs == 5
        finally:
            reader.close()
        assert len(await store.runs(99)) == 5


async def test_tools_removed_long_ago_are_forgotten_unless_something_refers_to_them(
    place: str | Path,
) -> None:
    async with opened(place) as store:
        names = ("gone", "called", "named")
        tools = [tool(name, position=at, removed=True) for at, name in enumerate(names)]
        await store.update_server("one", putting(server(), tool("here", position=9), *tools))
        await store.record(calls=[call(1, tool="called")])
        assert await store.forget_removed(2.0, {"mcp__one__named"}) == 0
        assert await store.forget_removed(3.0, {"mcp__one__named"}) == 1
        kept = {one.original_name for one in (await store.load_catalog()).tools}
        assert kept == {"here", "called", "named"}
        await store.update_server("one", putting(server(), tool("here", position=9)))
        assert [one.original_name for one in (await store.load_catalog()).tools] == ["here"]
