"""The recorder: on disk when promised, redacted, bounded, and never in the way."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from halflap.calls import Recorder, Redactor
from halflap.config import TracesConfig
from halflap.store import open_store
from store.rows import call, run_of
from support import PATIENCE, comes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from halflap.store import Store


@asynccontextmanager
async def recording(
    folder: Path, redactor: Redactor | None = None, **traces: Any
) -> AsyncIterator[tuple[Store, Recorder]]:
    store = await open_store(folder / "store.db")
    recorder = Recorder(store, redactor, TracesConfig(**traces))
    try:
        yield store, recorder
    finally:
        await recorder.close()
        await store.close()


def in_file(folder: Path) -> list[tuple[Any, ...]]:
    """Return what another process would see."""
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        return connection.execute("SELECT id, outcome, arguments FROM calls ORDER BY id").fetchall()


async def test_a_call_is_soon_on_disk_and_a_committed_one_at_once_with_all_that_waits(tmp_path: Path) -> None:
    async with recording(tmp_path) as (store, recorder):
        recorder.add(run_of(1, outcome="running"))
        recorder.add(call(1))
        await recorder.commit(call(2, outcome="sent", arguments='{"token": "x"}'))
        found = await asyncio.to_thread(in_file, tmp_path)
        assert found == [("00000001", "ok", None), ("00000002", "sent", '{"token": "[redacted]"}')]
        assert len(await store.runs(9)) == 1
        recorder.add(call(3))

        async def written() -> bool:
            return (await store.recent_calls(1))[0].id == "00000003"

        assert await comes(written)


async def test_a_cancelled_flush_or_commit_loses_nothing(tmp_path: Path) -> None:
    async with recording(tmp_path) as (store, recorder):
        cancelled = asyncio.create_task(recorder.commit(call(1)))
        await asyncio.sleep(0)
        cancelled.cancel()
        await recorder.commit(call(2))
        recorder.add(call(3))
        busy = asyncio.create_task(store.load_catalog())
        flushing = asyncio.create_task(recorder.flush())
        await asyncio.sleep(0)
        flushing.cancel()
        await asyncio.gather(cancelled, busy, flushing, return_exceptions=True)
        await recorder.close()
        assert await store.recent_calls(9) == [call(3), call(2), call(1)]


async def test_records_that_wait_for_a_slow_store_lose_their_values_before_any_are_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halflap.calls.recorder._MAX_WAITING_BYTES", 10_000)
    async with recording(tmp_path) as (store, recorder):
        for number in range(50):
            recorder.add(call(number, arguments=json.dumps({"a": "x" * 5_000})))
        lost = recorder.writer.lost
        await recorder.flush()
        kept = await store.recent_calls(200)
        assert [record.arguments is None for record in kept] == [True] * (len(kept) - 1) + [False]
        assert 0 < lost == 50 - len(kept) < 25
    assert caplog.text.count("The store is too slow.") == 1


@pytest.mark.parametrize("record", ["full", "metadata", "off"])
async def test_as_much_of_a_run_is_on_disk_as_is_wanted_without_secrets(tmp_path: Path, record: str) -> None:
    printed = "x hunter2hunter2 y"
    ended = run_of(1, code=f"f({printed!r})", output=printed * 10_000, error=printed)
    redactor = Redactor(["hunter2hunter2"])
    async with recording(tmp_path, redactor, record=record, max_value_bytes=10) as (store, recorder):
        recorder.add(replace(ended, outcome="running", output=None, duration_ms=None))
        assert await recorder.end_run(ended) == (record == "full")
        safe = "x [redacted] y"
        expected = {
            # However much it is, output is kept whole.
            "full": replace(ended, code=f"f({safe!r})", output=safe * 10_000, error=safe),
            "metadata": replace(ended, code=None, output=None, error=None),
        }
        assert await store.run(ended.id) == expected.get(record)


async def test_a_run_is_interrupted_only_if_its_process_is_gone(tmp_path: Path) -> None:
    running = tmp_path / "running"
    store = await open_store(tmp_path / "store.db")
    recorder, other = (Recorder(store, running=running) for _ in range(2))
    begun, lost, done = run_of(11, outcome="running"), run_of(12, outcome="running"), run_of(13)
    await recorder.commit(begun)
    # What a process leaves that is killed: the run as it began, a call, and a file that no process holds.
    left = [replace(one, process="left") for one in (lost, done)]
    await store.record(calls=[call(1, run=lost.id)], runs=left)
    (running / "left").touch()
    await other.mark_interrupted()

    async def outcomes() -> list[tuple[str, int]]:
        kept = [await store.run(one.id) for one in (begun, lost, done)]
        return [(one.outcome, one.calls) for one in kept if one is not None]

    assert await outcomes() == [("running", 0), ("interrupted", 1), ("ok", 0)]
    await recorder.end_run(replace(begun, outcome="ok"))
    await recorder.close()
    assert await outcomes() == [("ok", 0), ("interrupted", 1), ("ok", 0)]
    assert not await asyncio.to_thread(lambda: list(running.iterdir()))
    await store.close()


async def test_no_answer_and_no_call_waits_for_much_output_to_be_redacted(tmp_path: Path) -> None:
    allowed = threading.Event()

    class Slow(Redactor):
        def text(self, text: str) -> str:
            assert len(text) <= 100_000 or allowed.wait(PATIENCE)
            return super().text(text)

    async with recording(tmp_path, Slow()) as (store, recorder):
        assert await recorder.end_run(run_of(1, output="x" * 1_000_000))
        await recorder.commit(call(1))
        assert await store.run("00000001") == run_of(1, output=None)
        allowed.set()
        await recorder.close()
        assert await store.run("00000001") == run_of(1, output="x" * 1_000_000)


@pytest.mark.slow
async def test_a_result_of_megabytes_does_not_block_the_loop(tmp_path: Path) -> None:
    text = ("x " * 500 + "password=hunter2 ") * 5_000
    many = [{"id": n, "name": "x" * 40} for n in range(100_000)]
    results = [{"content": [{"type": "text", "text": text}]}, {"content": [], "structuredContent": many}]
    longest, beating = 0.0, True

    async def beat() -> None:
        nonlocal longest
        while beating:
            # In time of the processor: a busy machine holds up everyone.
            before = time.process_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.process_time() - before)

    async with recording(tmp_path) as (store, recorder):
        written = [json.dumps(result) for result in results]
        heart = asyncio.create_task(beat())
        await asyncio.sleep(0.05)
        for number, result in enumerate(written):
            recorder.add(call(number, result=result))
        await recorder.end_run(run_of(1, output=text))
        await recorder.flush()
        beating = False
        await heart
        assert all(kept.result_cut for kept in await store.recent_calls(2))
    assert longest < 0.5


async def test_a_record_that_cannot_be_redacted_is_kept_without_its_values(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Redactor):
        def value_within(self, value: Any, limit: int) -> tuple[Any, bool]:
            raise ZeroDivisionError(f"{value} {limit}")

    async with recording(tmp_path, Broken()) as (store, recorder):
        await recorder.commit(call(1, arguments='{"a": 1}'))
        assert await store.recent_calls(9) == [call(1, argument_bytes=8)]
    assert "could not be redacted" in caplog.text
