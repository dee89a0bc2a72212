"""Sources: nothing in them is counted twice."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from backfill.logs import SHOP, backfill, lines, observations, opened, trace, traces
from halflap.backfill import Backfill, Rules
from halflap.core.errors import StoreError, UsageError
from store.rows import call

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_order", "arguments": {}}}
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {"id": 1}}}


async def counted(path: Path, *steps: Callable[[], Any]) -> list[tuple[str, int]]:
    """Backfill after each step; return each time what came of it and how many are counted in all."""
    seen: list[tuple[str, int]] = []
    async with opened() as store:
        for step in steps:
            await asyncio.to_thread(step)
            summary = await backfill(store, path)
            seen.append((summary.sources[-1].state, await observations(store)))
    return seen


async def test_copies_count_once_whatever_their_name_and_compression(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.jsonl").write_bytes(traces(0, 50))
    (tmp_path / "5.jsonl").write_bytes(traces(0, 80))
    (tmp_path / "5.gz").write_bytes(gzip.compress(traces(0, 90)))
    (tmp_path / "6.log.gz").write_bytes(gzip.compress(traces(0, 90)))
    os.link(tmp_path / "0.jsonl", tmp_path / "hard.jsonl")
    async with opened() as store:
        summary = await backfill(store, tmp_path, tmp_path / "5.gz")
        assert await observations(store) == 90
        assert (summary.count("known"), summary.count("counted")) == (4, 3)
        (tmp_path / "5.gz").rename(tmp_path / "moved")
        again = await backfill(store, tmp_path / "moved")
        assert (again.sources[0].state, again.observations) == ("known", 0)


@pytest.mark.parametrize("packed", [False, True])
async def test_a_log_that_has_grown_is_continued(tmp_path: Path, packed: bool) -> None:
    file, whole = tmp_path / "a.jsonl", traces(0, 6)

    def writing(data: bytes) -> Callable[[], Any]:
        return lambda: file.write_bytes(gzip.compress(data) if packed else data)

    states = await counted(
        file,
        writing(traces(0, 3) + b'{"tool": "get_o'),
        writing(whole[: whole.index(b"\n", len(traces(0, 3)) + 5)]),
        writing(whole),
        writing(whole),
        writing(traces(1, 7)),
    )
    assert states == [("counted", 3), ("counted", 4), ("counted", 6), ("known", 6), ("counted", 12)]


async def test_an_array_that_has_grown_is_continued(tmp_path: Path) -> None:
    file = tmp_path / "a.json"

    def writing(count: int) -> Callable[[], Any]:
        return lambda: file.write_text(json.dumps([trace(number) for number in range(count)], indent=2))

    states = await counted(file, writing(3), writing(3), writing(5))
    assert states == [("counted", 3), ("known", 3), ("counted", 5)]


@pytest.mark.slow
async def test_the_result_does_not_depend_on_the_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halflap.backfill.backfill._MIN_BATCH", 2_000)
    file = tmp_path / "a.jsonl"
    file.write_bytes(traces(0, 200) + lines(CALL, ANSWER) + traces(0, 50) + lines(trace(1, "text")))

    async def learned(jobs: int | None) -> Any:
        async with opened() as store:
            await backfill(store, file, jobs=jobs)
            return [one.learned for one in await store.learned()]

    one, two = await learned(None), await learned(2)
    assert one == two
    assert one[0].observations == 252


async def test_an_interrupted_run_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halflap.backfill.backfill._MIN_BATCH", 2_000)
    file = tmp_path / "a.jsonl"
    file.write_bytes(traces(0, 500))
    async with opened() as store, opened() as whole:
        work = Backfill(store, SHOP, jobs=None)
        add = work._add

        def add_and_stop(*arguments: Any) -> None:
            add(*arguments)
            work.stop()

        monkeypatch.setattr(work, "_add", add_and_stop)
        summary = await work.run([str(file)])
        assert (summary.is_stopped, summary.sources[0].state) == (True, "stopped")
        assert 0 < await observations(store) == summary.observations < 500
        assert (await backfill(store, file)).observations == 500 - summary.observations
        await backfill(whole, file)
        assert (await store.learned())[0].learned == (await whole.learned())[0].learned


async def test_progress_and_observations_are_stored_together(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(traces(0, 5))

    async def failing(*_: Any, **__: Any) -> None:
        raise StoreError("full")

    async with opened() as store:
        real: Any = store
        real.add_learned, add = failing, store.add_learned
        with pytest.raises(StoreError):
            await backfill(store, tmp_path)
        real.add_learned = add
        assert await store.watermarks() == {}
        assert (await backfill(store, tmp_path)).observations == 5


async def test_of_two_concurrent_backfills_one_counts(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(traces(0, 50))
    async with opened(tmp_path / "s.db") as store, opened(tmp_path / "s.db") as other:
        both = (backfill(one, tmp_path / "a.jsonl") for one in (store, other))
        done = await asyncio.gather(*both, return_exceptions=True)
        assert await observations(store) == 50
    assert any(not isinstance(one, BaseException) for one in done)


async def test_a_dry_run_stores_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(traces(0, 2))
    (tmp_path / "copy.jsonl").write_bytes(traces(0, 2))
    async with opened() as store:
        assert (await backfill(store, tmp_path, dry_run=True)).observations == 2
        assert (await store.watermarks(), await store.learned()) == ({}, [])


async def test_tools_without_a_server_are_refused_until_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(trace(1, tool="get_order")))
    async with opened() as store:
        [source] = (await backfill(store, tmp_path, rules=Rules())).sources
        assert (source.state, "--server" in str(source.problem)) == ("refused", True)
        assert (await backfill(store, tmp_path)).observations == 1


async def test_unreadable_files_are_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "cut.jsonl").write_bytes(gzip.compress(traces(0, 900))[:-60])
    (tmp_path / "wrong.jsonl").write_bytes(b"\x1f\x8bnot gzip at all")
    (tmp_path / "good.jsonl").write_bytes(traces(1000, 1003))
    async with opened() as store:
        summary = await backfill(store, tmp_path)
    states = {source.name.rpartition("/")[2]: source for source in summary.sources}
    found = {name: source.state for name, source in states.items()}
    assert found == {"good.jsonl": "counted", "wrong.jsonl": "failed", "cut.jsonl": "failed"}
    assert "zcat" in str(states["cut.jsonl"].problem)


@pytest.mark.parametrize("name", ["none", "empty", "a\0b"])
async def test_a_missing_file_is_a_usage_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    async with opened() as store:
        with pytest.raises(UsageError):
            await backfill(store, tmp_path / name)


async def test_new_and_changed_schemas_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    data, seen = b"", []
    async with opened() as store:
        for more in (trace(1), trace(2), trace(3, {"id": "x"}), trace(4, "text", "mcp__shop__say")):
            data += lines(more)
            await asyncio.to_thread(file.write_bytes, data)
            seen += [tool.schema for tool in (await backfill(store, file)).tools]
    assert seen == ["new", "same", "changed", "none"]


async def test_recorded_calls_count_once() -> None:
    result = json.dumps({"content": [{"type": "text", "text": '{"a": 1}'}], "isError": False})
    calls = [call(number, result=result, arguments=json.dumps({"n": number})) for number in range(3)]
    async with opened() as store:
        await store.record(calls=[*calls, call(8, result=result, result_cut=True)])
        summary = await backfill(store, "store")
        assert (summary.observations, await observations(store)) == (3, 3)
        [known] = await store.learned()
        assert (known.tool, known.definition_hash) == (calls[0].tool, calls[0].definition_hash)
        assert known.learned.results.observations == 3
        assert (await backfill(store, "store")).observations == 0


async def test_a_pipe_is_read_and_recognised(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    async with opened() as store:
        for data, total in ((traces(0, 30), 30), (gzip.compress(traces(0, 40)), 40), (traces(0, 40), 40)):
            writing = asyncio.create_task(asyncio.to_thread(pipe.write_bytes, data))
            await backfill(store, pipe)
            await writing
            assert await observations(store) == total
