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
from hypothesis import given
from hypothesis import strategies as st

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


def break_store(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("ALTER TABLE calls RENAME TO away")


def mend_store(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("ALTER TABLE away RENAME TO calls")


def test_a_call_is_soon_on_disk(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await open_store(tmp_path / "store.db")
        recorder = Recorder(store)
        recorder.add(call(1))

        async def written() -> bool:
            return await store.recent_calls(1) == [call(1)]

        assert await comes(written)
        await recorder.close()
        await store.close()

    run(scenario())


def test_closing_in_the_middle_of_writing_loses_nothing(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await open_store(tmp_path / "store.db")
        recorder = Recorder(store)
        for number in range(50):
            recorder.add(call(number))
        # The store is busy with something else when the recorder wants to write.
        busy = [asyncio.create_task(store.load_catalog()) for _ in range(500)]
        await asyncio.sleep(0.21)
        await recorder.close()
        await asyncio.gather(*busy)
        assert len(await store.recent_calls(1_000)) == 50
        await store.close()

    run(scenario())


def test_a_cancelled_flush_loses_nothing(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await open_store(tmp_path / "store.db")
        recorder = Recorder(store)
        recorder.add(call(1))
        busy = asyncio.create_task(store.load_catalog())
        flushing = asyncio.create_task(recorder.flush())
        await asyncio.sleep(0)
        flushing.cancel()
        await asyncio.gather(busy, flushing, return_exceptions=True)
        await recorder.close()
        assert await store.recent_calls(9) == [call(1)]
        await store.close()

    run(scenario())


def test_calls_are_recorded_again_when_the_store_works_again(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        store = await open_store(tmp_path / "store.db")
        recorder = Recorder(store)
        for number, happening in enumerate((break_store, mend_store, break_store, mend_store)):
            await asyncio.to_thread(happening, tmp_path / "store.db")
            recorder.add(call(number))
            await recorder.flush()
        assert await store.recent_calls(9) == [call(3), call(1)]
        await recorder.close()
        await store.close()

    run(scenario())
    assert caplog.text.count("Calls are not recorded") == 2


def test_records_that_wait_for_a_slow_store_are_bounded_in_number(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        store = await open_store(tmp_path / "store.db")
        recorder = Recorder(store)
        for number in range(10_100):
            recorder.add(call(number))
        await recorder.close()
        assert len(await store.recent_calls(20_000)) == 10_000
        await store.close()

    run(scenario())
    assert caplog.text.count("The store is too slow. Calls are not recorded") == 1


def in_file(file: Path) -> list[tuple[Any, ...]]:
    """Return what another process would see."""
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT id, outcome, arguments FROM calls ORDER BY id").fetchall()


def test_what_is_committed_is_on_disk(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with recording(tmp_path / "store.db") as (_, recorder):
            kept = await recorder.commit(call(1, outcome="sent"), arguments='{"token": "x"}')
            assert kept == call(1, outcome="sent", arguments='{"token": "[redacted]"}')
            assert await asyncio.to_thread(in_file, tmp_path / "store.db") == [
                ("00000001", "sent", '{"token": "[redacted]"}')
            ]

    run(scenario())


def test_commits_at_the_same_time_share_a_transaction(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with recording(tmp_path / "store.db") as (store, recorder):
            batches = []
            write = store.record

            async def counted(**records: Any) -> None:
                batches.append(len(records["calls"]))
                await write(**records)

            monkeypatch.setattr(store, "record", counted)
            await asyncio.gather(*(recorder.commit(call(number)) for number in range(100)))
            assert sum(batches) == 100
            assert len(batches) < 10

    run(scenario())


def test_a_commit_writes_everything_that_waits(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with recording(tmp_path / "store.db") as (store, recorder):
            recorder.begin_run(run_of(1, outcome="running"))
            recorder.add(call(1))
            await recorder.commit(call(2))
            assert len(await store.runs(9)) == 1
            assert len(await store.recent_calls(9)) == 2

    run(scenario())


def test_a_run_is_on_disk_when_it_has_ended(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with recording(tmp_path / "store.db") as (store, recorder):
            recorder.begin_run(run_of(1, outcome="running", output=None, duration_ms=None))
            await recorder.end_run(run_of(1))
            assert await store.run("00000001") == run_of(1)

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


def test_a_run_is_redacted(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        redactor = Redactor(["hunter2hunter2"])
        async with recording(tmp_path / "store.db", redactor) as (store, recorder):
            said = "x hunter2hunter2 y"
            await recorder.end_run(run_of(1, code=f"f({said!r})", output=said, error=said))
            kept = await store.run("00000001")
            assert kept is not None
            assert (kept.code, kept.output, kept.error) == (
                "f('x [redacted] y')",
                "x [redacted] y",
                "x [redacted] y",
            )

    run(scenario())


def test_the_output_of_a_run_is_kept_whole(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with recording(tmp_path / "store.db", traces=TracesConfig(max_value_bytes=10)) as parts:
            store, recorder = parts
            await recorder.end_run(run_of(1, output="line\n" * 100_000))
            kept = await store.run("00000001")
            assert kept is not None
            assert kept.output == "line\n" * 100_000

    run(scenario())


class _Slow(Redactor):
    """Is not done with a long text before it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.let_go = threading.Event()

    def text(self, text: str, levels: int = 3) -> str:
        assert len(text) <= 100_000 or self.let_go.wait(PATIENCE)
        return super().text(text, levels)


def test_nobody_waits_long_for_much_output_to_be_redacted(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await open_store(tmp_path / "store.db")
        slow = _Slow()
        recorder = Recorder(store, slow)
        await recorder.end_run(run_of(1, output="x" * 1_000_000))
        # Nor do others, whose calls are to be on disk before they are sent.
        await recorder.commit(call(1))
        ended = await store.run("00000001")
        assert ended is not None
        assert (ended.outcome, ended.output) == ("ok", None)
        slow.let_go.set()
        await recorder.close()
        whole = await store.run("00000001")
        assert whole is not None
        assert whole.output == "x" * 1_000_000
        await store.close()

    run(scenario())


def test_of_a_run_only_metadata_is_kept_if_no_more_is_wanted(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with recording(tmp_path / "store.db", traces=TracesConfig(record="metadata")) as parts:
            store, recorder = parts
            recorder.begin_run(run_of(1, outcome="running"))
            await recorder.end_run(run_of(1, error="no"))
            assert await store.run("00000001") == run_of(1, code=None, output=None, error=None)

    run(scenario())


def test_a_run_is_not_recorded_if_nothing_is_wanted(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with recording(tmp_path / "store.db", traces=TracesConfig(record="off")) as (store, recorder):
            recorder.begin_run(run_of(1, outcome="running"))
            await recorder.end_run(run_of(1))
            assert await store.runs(9) == []

    run(scenario())


def test_a_large_value_is_cut_and_marked(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with recording(tmp_path / "store.db", traces=TracesConfig(max_value_bytes=1_000)) as parts:
            store, recorder = parts
            structured = {"rows": ["x" * 100] * 100}
            wire = {
                "content": [{"type": "text", "text": "y" * 10_000}],
                "structuredContent": structured,
                "isError": False,
            }
            recorder.add(call(1), arguments='{"a": 1}', result=json.dumps(wire))
            await recorder.flush()
            (kept,) = await store.recent_calls(1)
            assert (kept.arguments_cut, kept.result_cut) == (False, True)
            assert len(kept.result or "") < 1_500
            result = Result.from_wire(json.loads(kept.result or ""))
            assert result.structured_content["rows"][0] == "x" * 100
            assert result.text.startswith("y" * 100)

    run(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", [1_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_result_of_megabytes_does_not_hold_up_the_loop(run: Run, tmp_path: Path, kilobytes: int) -> None:
    async def scenario() -> float:
        async with recording(tmp_path / "store.db") as (store, recorder):
            text = ("x " * 500 + "password=hunter2 ") * kilobytes
            wire = {"content": [{"type": "text", "text": text}]}
            many = [{"id": n, "name": "x" * 40} for n in range(kilobytes * 10)]
            rows = {"content": [], "structuredContent": many}
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
            recorder.add(call(1), result=payload(wire))
            recorder.add(call(2), result=payload(rows))
            await recorder.end_run(run_of(1, output=text))
            await recorder.flush()
            beating = False
            await heart
            two = await store.recent_calls(2)
            assert all(kept.result_cut for kept in two)
            assert all(kept.result_bytes > kilobytes * 500 for kept in two)
            return longest

    assert run(scenario()) < 0.5


def test_a_record_that_cannot_be_redacted_is_kept_without_what_was_in_it(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Redactor):
        def value_within(self, value: Any, limit: int) -> tuple[Any, bool]:
            raise ZeroDivisionError(f"{value} {limit}")

    async def scenario() -> None:
        async with recording(tmp_path / "store.db", Broken()) as (store, recorder):
            await recorder.commit(call(1), arguments='{"a": 1}')
            assert await store.recent_calls(9) == [call(1)]

    run(scenario())
    assert "could not be redacted" in caplog.text


def test_a_failing_store_is_complained_of_once_and_stops_nothing(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        async with recording(tmp_path / "store.db") as (_, recorder):
            await asyncio.to_thread(break_store, tmp_path / "store.db")
            for number in range(3):
                await recorder.commit(call(number))
            await recorder.end_run(run_of(1))

    run(scenario())
    assert caplog.text.count("Calls are not recorded until it works again") == 1


def test_a_locked_store_delays_calls_only_briefly(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("halflap.calls.recorder._LONGEST_COMMIT_SECONDS", 0.3)
    monkeypatch.setattr("halflap.store.sqlite_file.BUSY_SECONDS", 1_000)

    async def scenario() -> None:
        async with recording(tmp_path / "store.db") as (store, recorder):
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


def test_a_cancelled_commit_leaves_the_others_in_order(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with recording(tmp_path / "store.db") as (store, recorder):
            given_up = asyncio.create_task(recorder.commit(call(1)))
            await asyncio.sleep(0)
            given_up.cancel()
            await recorder.commit(call(2))
            await asyncio.gather(given_up, return_exceptions=True)
            assert await store.recent_calls(9) == [call(2), call(1)]

    run(scenario())


def test_records_that_wait_are_bounded_in_size(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halflap.calls.recorder._MOST_WAITING_BYTES", 100)

    async def scenario() -> None:
        async with recording(tmp_path / "store.db") as (store, recorder):
            for number in range(3):
                recorder.add(call(number), arguments=json.dumps({"a": "x" * 60}))
            await recorder.flush()
            kept = await store.recent_calls(9)
            assert [record.arguments is None for record in kept] == [True, True, False]

    run(scenario())


@asynccontextmanager
async def recording(
    file: Path, redactor: Redactor | None = None, traces: TracesConfig | None = None
) -> AsyncIterator[tuple[Store, Recorder]]:
    store = await open_store(file)
    recorder = Recorder(store, redactor, traces)
    try:
        yield store, recorder
    finally:
        await recorder.close()
        await store.close()


@given(st.integers(min_value=2, max_value=50))
def test_identifiers_differ(count: int) -> None:
    assert len({new_id() for _ in range(count)}) == count


def test_identifiers_sort_by_time(run: Run) -> None:
    async def scenario() -> list[str]:
        made = []
        for _ in range(5):
            made.append(new_id())
            await asyncio.sleep(0.002)
        return made

    made = run(scenario())
    assert made == sorted(made)
