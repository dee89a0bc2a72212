"""Sources, and that nothing in them is ever counted twice."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from backfill.logs import KEY, SHOP, backfill, lines, observations, trace, traces
from halflap.backfill import Backfill, Rules, forgotten, passes
from halflap.backfill import workers as at_work
from halflap.errors import BackfillError, StoreError, UsageError
from halflap.store import open_store
from store.rows import call

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


def test_a_log_is_counted_once_however_often_it_is_read(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(traces(0, 5))
    assert run(counted(lambda: None, path=file)) == [("counted", 5), ("known", 5)]


@pytest.mark.parametrize("kind", ["moved", "packed", "zstd"])
def test_a_log_is_known_again_wherever_and_however_it_lies(run: Run, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    file = folder / "a.jsonl"
    file.write_bytes(traces(0, 500))

    def change() -> None:
        if kind == "packed":
            (folder / "b.jsonl.gz").write_bytes(gzip.compress(file.read_bytes()))
        elif kind == "zstd":
            zstandard = pytest.importorskip("zstandard")
            (folder / "b.jsonl.zst").write_bytes(zstandard.ZstdCompressor().compress(file.read_bytes()))
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


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("counts", [(2, 3), (1, 2, 3, 4, 60), (40, 41, 90)])
def test_arrays_that_go_on_from_each_other_count_once_in_one_run(
    run: Run, tmp_path: Path, counts: tuple[int, ...], indent: int | None
) -> None:
    for count in counts:
        items = ",\n".join(json.dumps(trace(number), indent=indent) for number in range(count))
        (tmp_path / f"turn-{count}.json").write_text(f"[\n{items}\n]\n")
    assert run(counted(path=tmp_path)) == [("counted", counts[-1])]


@pytest.mark.parametrize("kind", ["lines", "packed", "array", "piped"])
@pytest.mark.parametrize("counts", [(2, 3), (1, 2, 3, 60, 90)])
def test_shorter_copies_of_a_log_are_known_again(
    run: Run, tmp_path: Path, kind: str, counts: tuple[int, ...]
) -> None:
    async def main() -> None:
        store = await open_store(None)
        for count in counts:
            data = traces(0, count)
            if kind == "packed":
                data = gzip.compress(data)
            elif kind == "array":
                data = b"[\n" + b",\n".join(data.splitlines()) + b"\n]\n"
            (tmp_path / f"turn-{count}.jsonl").write_bytes(data)
        await backfill(store, tmp_path)
        for count in counts:
            file = tmp_path / f"turn-{count}.jsonl"
            if kind == "piped":
                pipe = tmp_path / f"pipe-{count}"
                os.mkfifo(pipe)
                reading = asyncio.create_task(backfill(store, pipe))
                await asyncio.to_thread(pipe.write_bytes, file.read_bytes())
                [source] = (await reading).sources
            else:
                [source] = (await backfill(store, file)).sources
            assert (source.state, source.found.observations) == ("known", 0)
        summary = await backfill(store, tmp_path)
        assert summary.count("known") == len(counts)
        assert await observations(store) == counts[-1]
        await store.close()

    run(main())


def test_what_goes_on_otherwise_from_where_a_log_once_ended_is_another_log(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(traces(0, 2))
    states = run(
        counted(
            lambda: file.write_bytes(traces(0, 3)),
            lambda: file.write_bytes(traces(0, 2) + traces(7, 8)),
            lambda: file.write_bytes(traces(0, 3)),
            path=file,
        )
    )
    assert states == [("counted", 2), ("counted", 3), ("counted", 6), ("known", 6)]


def test_what_was_forgotten_counts_again_once_where_there_are_shorter_copies(
    run: Run, tmp_path: Path
) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "a.jsonl").write_bytes(traces(0, 3))
        (tmp_path / "b.jsonl").write_bytes(traces(0, 2))
        await backfill(store, tmp_path)
        await store.forget_learned(
            "backfill", "shop", remark=lambda origin, text: forgotten(origin, text, "shop", None)
        )
        await backfill(store, tmp_path)
        assert await observations(store) == 3
        await store.close()

    run(main())


def test_a_result_finds_its_call_in_what_was_counted_before(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(lines(CALL, ANSWER, CALL))
    states = run(counted(lambda: file.write_bytes(lines(CALL, ANSWER, CALL, ANSWER)), path=file))
    assert states == [("counted", 1), ("counted", 2)]


def test_a_log_that_changed_is_a_new_source_and_it_is_said(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        file = tmp_path / "a.jsonl"
        file.write_bytes(traces(0, 3))
        await backfill(store, file)
        file.write_bytes(traces(1, 4))
        [source] = (await backfill(store, file)).sources
        assert source.state == "counted"
        assert "new source" in source.notes[0]
        assert await observations(store) == 6
        await store.close()

    run(main())


def test_lines_are_numbered_from_the_beginning_of_the_file(run: Run, tmp_path: Path) -> None:
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


def test_a_mixed_log_gives_the_same_with_any_number_of_processes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that belong together turn up when ranges before them are done and stored."""
    monkeypatch.setattr(passes, "_SHORTEST_RANGE", 2_000)
    monkeypatch.setattr(passes, "_SECONDS_BETWEEN_WRITES", -1)
    file = tmp_path / "a.jsonl"
    file.write_bytes(traces(0, 200) + lines(CALL) + traces(0, 50) + lines(ANSWER, trace(1, "text")))

    async def learned(jobs: int) -> Any:
        store = await open_store(None)
        summary = await backfill(store, file, jobs=jobs)
        assert summary.sources[0].found.lines == 253
        shapes = [one.learned for one in await store.learned()]
        await store.close()
        return shapes

    one, two = run(learned(1)), run(learned(2))
    assert one == two
    assert one[0].observations == 252


def test_an_interrupted_run_goes_on_where_it_was(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "_SHORTEST_RANGE", 2_000)
    file = tmp_path / "a.jsonl"
    file.write_bytes(traces(0, 500))

    async def main() -> None:
        store = await open_store(None)
        work = Backfill(store, SHOP)
        take = passes.Pass._take

        def interrupted(self: Any, found: Any) -> None:
            take(self, found)
            work.stop()

        with monkeypatch.context() as patch:
            patch.setattr(passes.Pass, "_take", interrupted)
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


def test_what_was_learned_and_how_far_is_stored_as_one(run: Run, tmp_path: Path) -> None:
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
        assert await store.origins() == {}
        assert (await backfill(store, file)).observations == 5
        await store.close()

    run(main())


def test_of_two_backfills_at_once_one_counts(run: Run, tmp_path: Path) -> None:
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


def test_many_small_sources_are_stored_together(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        folder = tmp_path / "many"
        folder.mkdir()
        for number in range(200):
            (folder / f"{number}.jsonl").write_bytes(traces(number, number + 2))
        assert (await backfill(store, folder)).observations == 400
        assert len(await store.learned()) == 1
        again = await backfill(store, folder)
        assert (again.observations, again.count("known")) == (0, 200)
        await store.close()

    run(main())


def test_a_log_that_becomes_shorter_meanwhile_counts_as_far_as_it_was_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "_SHORTEST_RANGE", 2_000)
    file = tmp_path / "a.jsonl"
    whole = traces(0, 200)
    file.write_bytes(whole)
    take = passes.Pass._take

    def shortened(self: Any, found: Any) -> None:
        take(self, found)
        os.truncate(file, self._position + 30)

    async def main() -> None:
        store = await open_store(None)
        with monkeypatch.context() as patch:
            patch.setattr(passes.Pass, "_take", shortened)
            [source] = (await backfill(store, file)).sources
        assert source.state in {"failed", "counted"}
        first = await observations(store)
        assert 0 < first < 200
        await asyncio.to_thread(file.write_bytes, whole)
        await backfill(store, file)
        assert await observations(store) == 200
        await store.close()

    run(main())


def test_strict_stops_at_the_first_bad_line_and_stores_nothing_of_it(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "a.jsonl").write_bytes(traces(0, 2))
        (tmp_path / "b.jsonl").write_bytes(traces(5, 9) + b"bad\n")
        (tmp_path / "c.jsonl").write_bytes(traces(10, 30))
        summary = await backfill(store, tmp_path, strict=True)
        states = {source.name[-7]: source for source in summary.sources}
        # Logs are read side by side: the first may or may not be done when the second is refused.
        assert states["a"].state in {"counted", "stopped"}
        assert states["b"].state == "refused"
        assert states["b"].found.bad[0].line == 5
        assert summary.is_stopped
        stored = {one.learned.observations for one in await store.learned()}
        assert 4 not in stored
        await store.close()

    run(main())


def test_a_dry_run_stores_nothing(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "a.jsonl").write_bytes(traces(0, 2))
        (tmp_path / "copy.jsonl").write_bytes(traces(0, 2))
        summary = await backfill(store, tmp_path, dry_run=True)
        assert summary.observations == 2
        assert (await store.origins(), await store.learned()) == ({}, [])
        await store.close()

    run(main())


def test_tools_without_a_server_are_asked_for_and_counted_then(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "a.jsonl").write_bytes(lines(trace(1, tool="get_order")))
        [source] = (await backfill(store, tmp_path, rules=Rules())).sources
        assert source.state == "refused"
        assert "--server" in str(source.problem)
        assert (await backfill(store, tmp_path)).observations == 1
        await store.close()

    run(main())


def test_what_cannot_be_read_is_told_and_the_rest_is_read(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "utf16.jsonl").write_text("{}", encoding="utf-16")
        (tmp_path / "cut.jsonl").write_bytes(gzip.compress(traces(0, 900))[:-60])
        (tmp_path / "wrong.jsonl").write_bytes(b"\x1f\x8bnot gzip at all")
        (tmp_path / "good.jsonl").write_bytes(traces(1000, 1003))
        summary = await backfill(store, tmp_path)
        states = {source.name.rpartition("/")[2]: source for source in summary.sources}
        assert states["good.jsonl"].state == "counted"
        assert (states["utf16.jsonl"].state, states["wrong.jsonl"].state) == ("failed", "failed")
        assert "damaged" in states["cut.jsonl"].found.bad[0].reason
        await store.close()

    run(main())


def test_what_is_not_there_is_asked_for_wrongly(run: Run, tmp_path: Path) -> None:
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


def test_the_schemas_that_are_new_and_changed_are_told(run: Run, tmp_path: Path) -> None:
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


def test_our_own_records_count_once(run: Run) -> None:
    async def main() -> None:
        store = await open_store(None)
        result = json.dumps({"content": [{"type": "text", "text": '{"a": 1}'}], "isError": False})
        calls = [call(number, result=result, arguments=json.dumps({"n": number})) for number in range(3)]
        await store.record_calls([*calls, call(8, result=result, result_cut=True)])
        summary = await backfill(store, "store")
        assert (summary.observations, await observations(store)) == (3, 3)
        [known] = await store.learned()
        assert (known.tool, known.definition_hash) == (calls[0].tool, calls[0].definition_hash)
        assert known.learned.structured.observations == 3
        assert (await backfill(store, "store")).observations == 0
        await store.close()

    run(main())


def test_two_backfills_of_our_own_records_at_once_count_each_once(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        stores = [await open_store(tmp_path / "halflap.db") for _ in range(2)]
        result = json.dumps({"content": [{"type": "text", "text": '{"a": 1}'}], "isError": False})
        calls = [call(number, result=result, arguments=json.dumps({"n": number})) for number in range(1_500)]
        await stores[0].record_calls(calls)
        summaries = await asyncio.gather(*(backfill(store, "store") for store in stores))
        assert await observations(stores[0]) == 1_500
        assert sum(summary.observations for summary in summaries) == 1_500
        for store in stores:
            await store.close()

    run(main())


@pytest.mark.parametrize(("late_read", "first"), [(70, 30), (70, 70), (70, 400), (3, 70), (70, 3)])
def test_two_backfills_of_one_log_at_once_count_it_once_however_far_each_was(
    run: Run, tmp_path: Path, late_read: int, first: int
) -> None:
    """The one holds what it read until a pipe ends; meanwhile the other counts as much of the log as there was."""

    async def main() -> None:
        stores = [await open_store(tmp_path / "halflap.db") for _ in range(2)]
        pipe, other, log = tmp_path / "pipe", tmp_path / "other.jsonl", tmp_path / "log.jsonl"
        os.mkfifo(pipe)
        other.write_bytes(traces(900, 905))
        log.write_bytes(traces(0, late_read))
        late = asyncio.create_task(backfill(stores[0], log, other, pipe))
        writing = await asyncio.to_thread(pipe.open, "wb")
        # By now it has read the file.
        log.write_bytes(traces(0, first))
        await backfill(stores[1], log)
        log.write_bytes(traces(0, max(first, late_read)))
        writing.close()
        with pytest.raises(StoreError, match="counted meanwhile"):
            await late
        assert await observations(stores[1]) == first
        await backfill(stores[0], log, other)
        assert await observations(stores[0]) == max(first, late_read) + 5
        for store in stores:
            await store.close()

    run(main())


def test_two_backfills_at_once_of_different_logs_do_not_disturb_each_other(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        stores = [await open_store(tmp_path / "halflap.db") for _ in range(2)]
        pipe, one, other = tmp_path / "pipe", tmp_path / "one.jsonl", tmp_path / "other.jsonl"
        os.mkfifo(pipe)
        # They begin alike, further than what they are found by.
        one.write_bytes(traces(0, 70) + traces(100, 110))
        other.write_bytes(traces(0, 70) + traces(200, 210))
        late = asyncio.create_task(backfill(stores[0], one, pipe))
        writing = await asyncio.to_thread(pipe.open, "wb")
        await backfill(stores[1], other)
        writing.write(traces(300, 305))
        writing.close()
        await late
        assert await observations(stores[0]) == 165
        for store in stores:
            await store.close()

    run(main())


def test_a_pipe_is_read_and_known_again(run: Run, tmp_path: Path) -> None:
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


def test_a_worker_that_is_killed_is_told_and_what_was_done_is_kept(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(traces(0, 100))

    async def main() -> None:
        store = await open_store(None)
        workers = await asyncio.to_thread(at_work.Workers, 2)
        with pytest.raises(BackfillError, match="--jobs 1"):
            await workers.run(os._exit, 1)
        await asyncio.to_thread(workers.close)
        await store.close()

    run(main())


def test_the_airline_traces_are_learned(run: Run) -> None:
    from support import shared_data  # noqa: PLC0415 -- skipped where there are none

    path = shared_data("airline_traces.jsonl")

    async def main() -> None:
        store = await open_store(None)
        summary = await backfill(store, path, rules=Rules(server="airline"))
        assert (summary.observations, len(summary.tools), summary.sources[0].found.bad_count) == (1164, 14, 0)
        await store.close()

    run(main())


def test_keys_are_by_server_and_original_name(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "a.jsonl").write_bytes(traces(0, 1))
        await backfill(store, tmp_path)
        assert [one.key for one in await store.learned()] == [KEY]
        await store.close()

    run(main())
