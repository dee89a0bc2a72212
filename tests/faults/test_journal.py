"""What becomes of records while the store cannot be written to, and when there are too many of them."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from halflap.calls import Journal, Recorder, Retention, Writer
from halflap.config import TracesConfig
from halflap.store import open_store
from store.rows import call, run_of
from support import comes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from halflap.store import Store

TABLES = ("calls", "runs", "meters")


def break_store(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        for table in TABLES:
            connection.execute(f"ALTER TABLE {table} RENAME TO {table}_away")


def repair_store(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        for table in TABLES:
            connection.execute(f"ALTER TABLE {table}_away RENAME TO {table}")


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


@asynccontextmanager
async def recording(folder: Path) -> AsyncIterator[tuple[Store, Recorder, Journal]]:
    store, journal = await open_store(folder / "store.db"), Journal(folder / "journal.jsonl")
    recorder = Recorder(store, writer=Writer(store, journal))
    try:
        yield store, recorder, journal
    finally:
        await recorder.close()
        await store.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halflap.calls.writer._RETRY_SECONDS", 0.01)


async def test_an_outage_loses_nothing_and_doubles_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with recording(tmp_path) as (store, recorder, journal):
        await recorder.commit(call(1, outcome="sent", duration_ms=None))
        for _ in range(2):
            await asyncio.to_thread(break_store, tmp_path)
            # The store has its beginning, the journal its end.
            recorder.add(call(1))
            await recorder.commit(call(2, outcome="sent", duration_ms=None))
            recorder.add(call(2))
            odd = call(3, result='"\\ud800"', result_bytes=8, error="\ud800 \0")
            recorder.add(odd)
            await recorder.end_run(run_of(4))
            assert await recorder.writer.journal_bytes() > 0
            kept = await asyncio.to_thread(journal.file.read_bytes)
            await asyncio.to_thread(repair_store, tmp_path)

            async def replayed() -> bool:
                return await recorder.writer.journal_bytes() == 0

            assert await comes(replayed)
            assert await store.recent_calls(9) == [odd, call(2), call(1)]
            assert await store.runs(9) == [replace(run_of(4), output=None)]
        # As if it had been killed before the journal was emptied.
        await store.purge(everything=True)
        await store.record(calls=[call(2)])
        await asyncio.to_thread(journal.file.write_bytes, kept + b'{"kind": "call", "rec')
    for _ in range(2):
        async with recording(tmp_path) as (store, recorder, _journal):
            recorder.start()
            await recorder.flush()
            assert await store.recent_calls(9) == [odd, call(2), call(1)]
    assert caplog.text.count("Until it works again") == 2


async def test_a_journal_is_kept_if_the_store_fails_again_while_it_is_replayed(tmp_path: Path) -> None:
    async with recording(tmp_path) as (store, recorder, journal):
        await asyncio.to_thread(break_store, tmp_path)
        await recorder.commit(call(1))
        another = Writer(store, journal)
        await another.replay()
        assert another.problem is not None
        await asyncio.to_thread(repair_store, tmp_path)

        async def replayed() -> bool:
            return await store.recent_calls(9) == [call(1)]

        assert await comes(replayed)


async def test_a_late_record_does_not_undo_how_a_call_or_run_ended(tmp_path: Path) -> None:
    store = await open_store(tmp_path / "store.db")
    begun = replace(run_of(2), outcome="running", output=None, duration_ms=None)
    await store.record(calls=[call(1)], runs=[run_of(2), replace(run_of(3), output=None)])
    await store.record(calls=[call(1, outcome="sent")], runs=[begun, run_of(3)], is_late=True)
    assert await store.recent_calls(9) == [call(1)]
    assert [await store.run(run_of(number).id) for number in (2, 3)] == [run_of(2), run_of(3)]
    await store.close()


async def test_a_full_journal_counts_what_it_loses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("halflap.calls.writer.MAX_JOURNAL_BYTES", 5_000)
    async with recording(tmp_path) as (store, recorder, _):
        await asyncio.to_thread(break_store, tmp_path)
        for number in range(100):
            await recorder.commit(call(number))
        lost = recorder.writer.lost
        assert await recorder.writer.journal_bytes() <= 5_000
        assert 0 < lost < 100
        await asyncio.to_thread(repair_store, tmp_path)

        async def counted() -> bool:
            return dict(await store.counters()).get("records_lost") == lost

        assert await comes(counted)
        assert len(await store.recent_calls(200)) == 100 - lost
    assert caplog.text.count("Calls are not recorded until the store works again.") == 1
    assert caplog.text.count(f"{lost} records were lost") == 1


@pytest.mark.slow
async def test_a_flood_of_large_results_never_outgrows_the_limit(tmp_path: Path) -> None:
    file, limit = tmp_path / "store.db", 20_000_000
    traces = TracesConfig(keep_mb=limit / 1e6, max_value_bytes=1_000_000)
    store = await open_store(file)
    recorder = Recorder(store, None, traces, None, Writer(store, None, Retention(store, traces).note_written))
    run = replace(run_of(1), outcome="running", output=None, duration_ms=None, started_at=-1.0)
    recorder.add(run)
    largest = 0
    for number in range(160):
        result = '{"content": [], "structuredContent": "%s"}' % ("x " * 200_000)
        recorder.add(call(number, run=run.id, result=result))
        if number % 4 == 0:
            await recorder.flush()
            largest = max(largest, await asyncio.to_thread(size_of, tmp_path))
    await recorder.flush()
    newest = await store.recent_calls(200, values=False)
    assert newest[0].id == call(159).id
    assert len(newest) * 400_000 > limit * 0.8
    assert [one.id for one in await store.runs(9)] == [run.id]
    assert largest < 1.6 * limit
    await recorder.close()
    await store.close()
