"""Sources: nothing in them is counted twice."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from backfill.logs import SHOP, backfill, lines, observations, trace, traces
from halflap.backfill import Backfill, Rules
from halflap.core.errors import StoreError, UsageError
from halflap.store import open_store
from store.rows import call
from support import shared_data

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_order", "arguments": {}}}
ANSWER = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {"id": 1}}}


async def counted(*steps: Callable[[], Any], path: Path | str, **options: Any) -> list[tuple[str, int]]:
    """Backfill once, and again after each step; gives each time what came of it and how many are counted in all."""
    store = await open_store(None)
    seen: list[tuple[str, int]] = []
    for step in (lambda: None, *steps):
        await asyncio.to_thread(step)
        summary = await backfill(store, path, **options)
        seen.append((summary.sources[-1].state, await observations(store)))
    await store.close()
    return seen


@pytest.mark.parametrize("kind", ["moved", "packed"])
def test_a_moved_or_compressed_log_is_recognised(run: Run, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    file = folder / "a.jsonl"
    file.write_bytes(traces(0, 500))

    def change() -> None:
        if kind == "packed":
            (folder / "b.jsonl.gz").write_bytes(gzip.compress(file.read_bytes()))
        else:
            shutil.copy(file, folder / "b.log")
        file.unlink()

    assert run(counted(change, path=folder)) == [("counted", 500), ("known", 500)]


def test_copies_in_one_run_count_once(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        for number in range(4):
            (tmp_path / f"{number}.jsonl").write_bytes(traces(0, 50))
        (tmp_path / "5.jsonl").write_bytes(traces(0, 80))
        (tmp_path / "5.gz").write_bytes(gzip.compress(traces(0, 90)))
        (tmp_path / "6.gz").write_bytes(gzip.compress(traces(0, 90)))
        os.link(tmp_path / "0.jsonl", tmp_path / "hard.jsonl")
        summary = await backfill(store, tmp_path, tmp_path / "*.gz")
        assert await observations(store) == 90
        assert (summary.count("known"), summary.count("counted")) == (4, 3)
        await store.close()

    run(main())


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_that_has_grown_is_continued(run: Run, tmp_path: Path, packed: bool) -> None:
    file = tmp_path / "a.jsonl"

    def write(data: bytes) -> None:
        file.write_bytes(gzip.compress(data) if packed else data)

    write(traces(0, 3) + b'{"tool": "get_o')
    whole = traces(0, 6)
    states = run(
        counted(
            lambda: write(whole[: whole.index(b"\n", len(traces(0, 3)) + 5)]),
            lambda: write(whole),
            lambda: write(whole),
            path=file,
        )
    )
    assert states == [("counted", 3), ("counted", 4), ("counted", 6), ("known", 6)]


def test_an_array_that_has_grown_is_continued(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.json"

    def write(count: int) -> None:
        file.write_text(json.dumps([trace(number) for number in range(count)], indent=2))

    write(3)
    states = run(counted(lambda: None, lambda: write(5), path=file))
    assert states == [("counted", 3), ("known", 3), ("counted", 5)]


def test_a_changed_log_is_a_new_source(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        file = tmp_path / "a.jsonl"
        file.write_bytes(traces(0, 3))
        await backfill(store, file)
        file.write_bytes(traces(1, 4))
        [source] = (await backfill(store, file)).sources
        assert source.state == "counted"
        assert await observations(store) == 6
        await store.close()

    run(main())


def test_lines_are_numbered_from_the_start_of_the_file(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        file = tmp_path / "a.jsonl"
        file.write_bytes(traces(0, 3))
        await backfill(store, file)
        file.write_bytes(traces(0, 3) + b"\nbad\n")
        [source] = (await backfill(store, file)).sources
        assert [bad.line for bad in source.found.bad] == [5]
        await store.close()

    run(main())


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_processes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halflap.backfill.backfill._MIN_BATCH", 2_000)
    file = tmp_path / "a.jsonl"
    file.write_bytes(traces(0, 200) + lines(CALL, ANSWER) + traces(0, 50) + lines(trace(1, "text")))

    async def learned(jobs: int | None) -> Any:
        store = await open_store(None)
        await backfill(store, file, jobs=jobs)
        shapes = [one.learned for one in await store.learned()]
        await store.close()
        return shapes

    one, two = run(learned(None)), run(learned(2))
    assert one == two
    assert one[0].observations == 252


def test_an_interrupted_run_is_resumed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halflap.backfill.backfill._MIN_BATCH", 2_000)
    file = tmp_path / "a.jsonl"
    file.write_bytes(traces(0, 500))

    async def main() -> None:
        store = await open_store(None)
        work = Backfill(store, SHOP, jobs=None)
        add = work._add

        def add_and_stop(*arguments: Any) -> None:
            add(*arguments)
            work.stop()

        monkeypatch.setattr(work, "_add", add_and_stop)
        summary = await work.run([str(file)])
        assert summary.is_stopped
        assert summary.sources[0].state == "stopped"
        assert 0 < await observations(store) == summary.observations < 500
        again = await backfill(store, file)
        assert again.observations == 500 - summary.observations
        whole = await open_store(None)
        await backfill(whole, file)
        assert (await store.learned())[0].learned == (await whole.learned())[0].learned
        await store.close()
        await whole.close()

    run(main())


def test_progress_and_observations_are_stored_together(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        file = tmp_path / "a.jsonl"
        file.write_bytes(traces(0, 5))
        real: Any = store
        add = store.add_learned

        async def failing(*_: Any, **__: Any) -> None:
            raise StoreError("full")

        real.add_learned = failing
        with pytest.raises(StoreError):
            await backfill(store, file)
        real.add_learned = add
        assert await store.watermarks() == {}
        assert (await backfill(store, file)).observations == 5
        await store.close()

    run(main())


def test_of_two_concurrent_backfills_one_counts(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store, other = await open_store(tmp_path / "s.db"), await open_store(tmp_path / "s.db")
        (tmp_path / "a.jsonl").write_bytes(traces(0, 50))
        done = await asyncio.gather(
            *(backfill(one, tmp_path / "a.jsonl") for one in (store, other)), return_exceptions=True
        )
        assert await observations(store) == 50
        assert any(not isinstance(one, BaseException) for one in done)
        await store.close()
        await other.close()

    run(main())


def test_a_dry_run_stores_nothing(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "a.jsonl").write_bytes(traces(0, 2))
        (tmp_path / "copy.jsonl").write_bytes(traces(0, 2))
        summary = await backfill(store, tmp_path, dry_run=True)
        assert summary.observations == 2
        assert (await store.watermarks(), await store.learned()) == ({}, [])
        await store.close()

    run(main())


def test_tools_without_a_server_are_refused_until_it_is_named(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "a.jsonl").write_bytes(lines(trace(1, tool="get_order")))
        [source] = (await backfill(store, tmp_path, rules=Rules())).sources
        assert source.state == "refused"
        assert "--server" in str(source.problem)
        assert (await backfill(store, tmp_path)).observations == 1
        await store.close()

    run(main())


def test_unreadable_files_are_reported_and_the_rest_is_read(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "utf16.jsonl").write_text("{}", encoding="utf-16")
        (tmp_path / "cut.jsonl").write_bytes(gzip.compress(traces(0, 900))[:-60])
        (tmp_path / "wrong.jsonl").write_bytes(b"\x1f\x8bnot gzip at all")
        (tmp_path / "good.jsonl").write_bytes(traces(1000, 1003))
        summary = await backfill(store, tmp_path)
        states = {source.name.rpartition("/")[2]: source for source in summary.sources}
        assert states["good.jsonl"].state == "counted"
        assert {states[f"{name}.jsonl"].state for name in ("utf16", "wrong", "cut")} == {"failed"}
        assert "zcat" in str(states["cut.jsonl"].problem)
        await store.close()

    run(main())


def test_a_missing_file_is_a_usage_error(run: Run, tmp_path: Path) -> None:
    async def main(name: str) -> None:
        store = await open_store(None)
        try:
            await backfill(store, tmp_path / name)
        finally:
            await store.close()

    (tmp_path / "empty").mkdir()
    for name in ("none", "*.none", "empty", "a\0b"):
        with pytest.raises(UsageError):
            run(main(name))


def test_new_and_changed_schemas_are_reported(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"

    async def main() -> None:
        store = await open_store(None)
        seen = []
        for more in (trace(1), trace(2), trace(3, {"id": "x"}), trace(4, "text", "mcp__shop__say")):
            before = await asyncio.to_thread(lambda: file.read_bytes() if file.exists() else b"")
            await asyncio.to_thread(file.write_bytes, before + lines(more))
            seen += [tool.schema for tool in (await backfill(store, file)).tools]
        assert seen == ["new", "same", "changed", "none"]
        await store.close()

    run(main())


def test_recorded_calls_count_once(run: Run) -> None:
    async def main() -> None:
        store = await open_store(None)
        result = json.dumps({"content": [{"type": "text", "text": '{"a": 1}'}], "isError": False})
        calls = [call(number, result=result, arguments=json.dumps({"n": number})) for number in range(3)]
        await store.record(calls=[*calls, call(8, result=result, result_cut=True)])
        summary = await backfill(store, "store")
        assert (summary.observations, await observations(store)) == (3, 3)
        [known] = await store.learned()
        assert (known.tool, known.definition_hash) == (calls[0].tool, calls[0].definition_hash)
        assert known.learned.structured.observations == 3
        assert (await backfill(store, "store")).observations == 0
        await store.close()

    run(main())


def test_a_pipe_is_read_and_recognised(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        file = tmp_path / "a.jsonl"
        file.write_bytes(traces(0, 30))
        await backfill(store, file)
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        for data, total in ((traces(0, 30), 30), (gzip.compress(traces(0, 40)), 40), (traces(0, 40), 40)):
            writing = asyncio.create_task(asyncio.to_thread(pipe.write_bytes, data))
            await backfill(store, pipe)
            await writing
            assert await observations(store) == total
        await store.close()

    run(main())


@pytest.mark.slow
def test_a_killed_worker_is_reported(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killing(executor: Any, batches: Any, *_: Any) -> Any:
        return [executor.submit(os._exit, 1) for _ in batches]

    async def main() -> None:
        monkeypatch.setattr("halflap.backfill.backfill.submit", killing)
        store = await open_store(None)
        (tmp_path / "a.jsonl").write_bytes(traces(0, 3))
        [source] = (await backfill(store, tmp_path, jobs=1)).sources
        assert (source.state, "--jobs 1" in str(source.problem)) == ("failed", True)
        await store.close()

    run(main())


def test_real_traces_are_learned(run: Run) -> None:
    path = shared_data("airline_traces.jsonl")

    async def main() -> None:
        store = await open_store(None)
        summary = await backfill(store, path, rules=Rules(server="real"))
        assert summary.observations > 1_000
        assert summary.sources[0].found.bad_count == 0
        await store.close()

    run(main())
