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

from halflap.calls import Recorder, Redactor, new_id
from halflap.calls.payload import payload
from halflap.config import TracesConfig
from halflap.core.values import Result
from halflap.store import open_store
from store.rows import call, run_of
from support import PATIENCE, comes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine
    from pathlib import Path

    from halflap.store import Store

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


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


def rename(folder: Path, old: str, new: str) -> None:
    """Break the store, or repair it."""
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        connection.execute(f"ALTER TABLE {old} RENAME TO {new}")


def in_file(folder: Path) -> list[tuple[Any, ...]]:
    """Return what another process would see."""
    with closing(sqlite3.connect(folder / "store.db")) as connection:
        return connection.execute("SELECT id, outcome, arguments FROM calls ORDER BY id").fetchall()


def test_a_call_is_soon_on_disk_and_what_is_committed_at_once_with_all_that_waits(
    run: Run, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with recording(tmp_path) as (store, recorder):
            recorder.begin_run(run_of(1, outcome="running"))
            recorder.add(call(1))
            kept = await recorder.commit(call(2, outcome="sent"), arguments='{"token": "x"}')
            assert kept == call(2, outcome="sent", arguments='{"token": "[redacted]"}')
            found = await asyncio.to_thread(in_file, tmp_path)
            assert found == [("00000001", "ok", None), ("00000002", "sent", '{"token": "[redacted]"}')]
            assert len(await store.runs(9)) == 1
            recorder.add(call(3))

            async def written() -> bool:
                return (await store.recent_calls(1))[0].id == "00000003"

            assert await comes(written)

    run(scenario())


def test_a_cancelled_flush_or_commit_loses_nothing(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with recording(tmp_path) as (store, recorder):
            given_up = asyncio.create_task(recorder.commit(call(1)))
            await asyncio.sleep(0)
            given_up.cancel()
            await recorder.commit(call(2))
            recorder.add(call(3))
            busy = asyncio.create_task(store.load_catalog())
            flushing = asyncio.create_task(recorder.flush())
            await asyncio.sleep(0)
            flushing.cancel()
            await asyncio.gather(given_up, busy, flushing, return_exceptions=True)
            await recorder.close()
            assert await store.recent_calls(9) == [call(3), call(2), call(1)]

    run(scenario())


def test_a_failing_store_stops_nothing_and_calls_are_recorded_when_it_works_again(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with recording(tmp_path) as (store, recorder):
            for number in range(4):
                names = ("away", "calls") if number % 2 else ("calls", "away")
                await asyncio.to_thread(rename, tmp_path, *names)
                await recorder.commit(call(number))
                await recorder.commit(call(10 + number))
            assert {one.id for one in await store.recent_calls(9)} == {call(n).id for n in (1, 3, 11, 13)}

    run(scenario())
    assert caplog.text.count("Calls are not recorded") == 2


def test_records_that_wait_for_a_slow_store_are_bounded_in_number_and_size(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halflap.calls.recorder._MOST_WAITING", 100)
    monkeypatch.setattr("halflap.calls.recorder._MOST_WAITING_BYTES", 100)

    async def scenario() -> None:
        async with recording(tmp_path) as (store, recorder):
            for number in range(110):
                recorder.add(call(number), arguments=json.dumps({"a": "x" * 60}))
            await recorder.flush()
            kept = await store.recent_calls(200)
            assert [record.arguments is None for record in kept] == [True] * 99 + [False]

    run(scenario())
    assert caplog.text.count("The store is too slow. Calls are not recorded") == 1


def test_a_locked_store_delays_calls_only_briefly(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("halflap.calls.recorder._LONGEST_COMMIT_SECONDS", 0.1)
    monkeypatch.setattr("halflap.store.sqlite_file.BUSY_SECONDS", 1_000)

    async def scenario() -> None:
        async with recording(tmp_path) as (store, recorder):
            with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                # It stays locked until they are through.
                for number in range(3):
                    await recorder.commit(call(number))
                other.execute("ROLLBACK")
            await recorder.flush()
            assert len(await store.recent_calls(9)) == 3

    run(scenario())
    assert caplog.text.count("Calls are not recorded until it works again") == 1


def test_commits_at_the_same_time_share_a_transaction(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with recording(tmp_path) as (store, recorder):
            batches = []
            write = store.record

            async def counted(**records: Any) -> None:
                batches.append(len(records["calls"]))
                await write(**records)

            monkeypatch.setattr(store, "record", counted)
            await asyncio.gather(*(recorder.commit(call(number)) for number in range(100)))
            assert (sum(batches), len(batches) < 10) == (100, True)

    run(scenario())


@pytest.mark.parametrize("record", ["full", "metadata", "off"])
def test_of_a_run_that_ended_as_much_is_on_disk_as_is_wanted_without_secrets(
    run: Run, tmp_path: Path, record: str
) -> None:
    said = "x hunter2hunter2 y"
    ended = run_of(1, code=f"f({said!r})", output=said * 10_000, error=said)

    async def scenario() -> None:
        redactor = Redactor(["hunter2hunter2"])
        async with recording(tmp_path, redactor, record=record, max_value_bytes=10) as (store, recorder):
            recorder.begin_run(replace(ended, outcome="running", output=None, duration_ms=None))
            await recorder.end_run(ended)
            safe = "x [redacted] y"
            expected = {
                # However much it is, output is kept whole.
                "full": replace(ended, code=f"f({safe!r})", output=safe * 10_000, error=safe),
                "metadata": replace(ended, code=None, output=None, error=None),
            }
            assert await store.run(ended.id) == expected.get(record)

    run(scenario())


def test_a_run_is_interrupted_only_if_nobody_runs_it_any_more(run: Run, tmp_path: Path) -> None:
    running = tmp_path / "running"

    async def scenario() -> list[tuple[str, int]]:
        store, found = await open_store(tmp_path / "store.db"), []
        recorder, other = (Recorder(store, running=running) for _ in range(2))
        begun, lost = (run_of(at, outcome="running") for at in (11, 12))
        await recorder.commit_run(begun)
        # What a process leaves that is killed: the run as it began, a call, and a file that nobody holds.
        await store.record(calls=[call(1, run=lost.id)], runs=[lost])
        (running / "left").write_text(f"{lost.id}\n{begun.id[:4]}\nnonsense\n")
        await other.mark_interrupted()
        for one in (begun, lost):
            kept = await store.run(one.id)
            assert kept is not None
            found.append((kept.outcome, kept.calls))
        assert len(list(running.iterdir())) == 1
        await recorder.end_run(replace(begun, outcome="ok"))
        await recorder.close()
        assert not list(running.iterdir())
        await store.close()
        return found

    assert run(scenario()) == [("running", 0), ("interrupted", 1)]


class _Slow(Redactor):
    """Is not done with a long text before it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def text(self, text: str) -> str:
        assert len(text) <= 100_000 or self.let_go.wait(PATIENCE)
        return super().text(text)


def test_nobody_waits_long_for_much_output_to_be_redacted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halflap.calls.recorder._LONGEST_REDACTION_SECONDS", 0.05)
    slow = _Slow()

    async def scenario() -> None:
        async with recording(tmp_path, slow) as (store, recorder):
            await recorder.end_run(run_of(1, output="x" * 1_000_000))
            # Nor do others, whose calls are to be on disk before they are sent.
            await recorder.commit(call(1))
            first = await store.run("00000001")
            slow.let_go.set()
            await recorder.close()
            last = await store.run("00000001")
            assert first is not None
            assert last is not None
            assert (first.output, last.output) == (None, "x" * 1_000_000)

    run(scenario())


def test_a_large_value_is_cut_and_marked(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with recording(tmp_path, max_value_bytes=1_000) as (store, recorder):
            wire = {
                "content": [{"type": "text", "text": "y" * 10_000}],
                "structuredContent": {"rows": ["x" * 100] * 100},
                "isError": False,
            }
            recorder.add(call(1), arguments='{"a": 1}', result=json.dumps(wire))
            await recorder.flush()
            (kept,) = await store.recent_calls(1)
            assert (kept.arguments_cut, kept.result_cut, len(kept.result or "") < 1_500) == (
                False,
                True,
                True,
            )
            result = Result.from_wire(json.loads(kept.result or ""))
            assert result.structured_content["rows"][0] == "x" * 100
            assert result.text.startswith("y" * 100)

    run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [1_500, 10_000])
def test_a_result_of_megabytes_does_not_hold_up_the_loop(run: Run, tmp_path: Path, kilobytes: int) -> None:
    async def scenario() -> float:
        async with recording(tmp_path) as (store, recorder):
            text = ("x " * 500 + "password=hunter2 ") * kilobytes
            many = [{"id": n, "name": "x" * 40} for n in range(kilobytes * 10)]
            longest, beating = 0.0, True

            async def beat() -> None:
                nonlocal longest
                while beating:
                    # In time that this process had a processor: a machine that is busy holds up everybody.
                    before = time.process_time()
                    await asyncio.sleep(0.001)
                    longest = max(longest, time.process_time() - before)

            heart = asyncio.create_task(beat())
            await asyncio.sleep(0.05)
            recorder.add(call(1), result=payload({"content": [{"type": "text", "text": text}]}))
            recorder.add(call(2), result=payload({"content": [], "structuredContent": many}))
            await recorder.end_run(run_of(1, output=text))
            await recorder.flush()
            beating = False
            await heart
            two = await store.recent_calls(2)
            assert all(kept.result_cut and kept.result_bytes > kilobytes * 500 for kept in two)
            return longest

    assert run(scenario()) < 0.5


def test_a_record_that_cannot_be_redacted_is_kept_without_what_was_in_it(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Redactor):
        def value_within(self, value: Any, limit: int) -> tuple[Any, bool]:
            raise ZeroDivisionError(f"{value} {limit}")

    async def scenario() -> None:
        async with recording(tmp_path, Broken()) as (store, recorder):
            await recorder.commit(call(1), arguments='{"a": 1}')
            assert await store.recent_calls(9) == [call(1)]

    run(scenario())
    assert "could not be redacted" in caplog.text


def test_identifiers_differ_and_sort_by_time() -> None:
    made = []
    for _ in range(50):
        made.append(new_id())
        time.sleep(0.0011)
    assert made == sorted(set(made))
