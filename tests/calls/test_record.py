from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from halflap.calls import Recorder, new_id
from halflap.store import open_store
from store.rows import call

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    import pytest

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def break_store(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("ALTER TABLE calls RENAME TO away")


def mend_store(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("ALTER TABLE away RENAME TO calls")


def test_a_call_is_on_disk_within_the_second(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await open_store(tmp_path / "store.db")
        recorder = Recorder(store)
        recorder.add(call(1))
        await asyncio.sleep(0.8)
        assert await store.recent_calls(1) == [call(1)]
        await recorder.close()
        await store.close()

    run(scenario())


def test_closing_writes_what_is_left(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        store = await open_store(tmp_path / "store.db")
        recorder = Recorder(store)
        for number in range(100):
            recorder.add(call(number))
        await recorder.close()
        assert len(await store.recent_calls(1_000)) == 100
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


def test_a_writing_that_is_cancelled_loses_nothing(run: Run, tmp_path: Path) -> None:
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


def test_a_store_that_fails_is_complained_of_once(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        store = await open_store(tmp_path / "store.db")
        recorder = Recorder(store)
        await asyncio.to_thread(break_store, tmp_path / "store.db")
        for number in range(3):
            recorder.add(call(number))
            await recorder.flush()
            await recorder.flush()
        await recorder.close()
        await store.close()

    run(scenario())
    assert caplog.text.count("Calls are not recorded until it works again") == 1


def test_calls_are_recorded_again_when_the_store_works_again(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        store = await open_store(tmp_path / "store.db")
        recorder = Recorder(store)
        for number, happening in enumerate((break_store, mend_store, break_store, mend_store)):
            await asyncio.to_thread(happening, tmp_path / "store.db")
            recorder.add(call(number))
            await asyncio.sleep(0.4)
        assert await store.recent_calls(9) == [call(3), call(1)]
        await recorder.close()
        await store.close()

    run(scenario())
    assert caplog.text.count("Calls are not recorded") == 2


def test_no_more_is_kept_waiting_than_memory_can_bear(
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
