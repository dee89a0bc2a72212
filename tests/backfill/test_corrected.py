"""A log that was read by the wrong rules: what was left out counts later, what was wrong is taken back."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from backfill.logs import backfill, lines, observations, trace, traces
from halflap.backfill import Backfill, Rules, forgotten, passes
from halflap.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from halflap.learn import Learned
    from halflap.store import Store, ToolKey

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

NOBODY, SHOP, DEPOT = Rules(), Rules(server="shop"), Rules(server="depot")


def bare(start: int, end: int) -> bytes:
    return lines(*(trace(number, {"sku": number}, "get_item") for number in range(start, end)))


def paired(number: int) -> bytes:
    """Give a call and its result in lines of their own, without a server."""
    ask = {
        "jsonrpc": "2.0",
        "id": number,
        "method": "tools/call",
        "params": {"name": "get_item", "arguments": {}},
    }
    answer = {"jsonrpc": "2.0", "id": number, "result": {"content": [], "structuredContent": {"sku": number}}}
    return lines(ask, answer)


MIXED = traces(0, 40) + bare(0, 30) + b"bad\n" + traces(40, 60)
LOGS = {
    "lines": MIXED,
    "packed": gzip.compress(MIXED),
    "paired": traces(0, 5) + paired(1) + bare(3, 6) + paired(2) + traces(5, 9),
    "document": json.dumps([trace(1), trace(2, {"sku": 1}, "get_item"), trace(3)], indent=1).encode(),
}


async def known(store: Store) -> dict[ToolKey, Learned]:
    return {one.key: one.learned for one in await store.learned()}


async def forget(store: Store, server: str | None, tool: str | None = None) -> None:
    await store.forget_learned(
        "backfill", server, tool, remark=lambda origin, text: forgotten(origin, text, server, tool)
    )


async def at_once(path: Path, rules: Rules) -> dict[ToolKey, Learned]:
    store = await open_store(None)
    await backfill(store, path, rules=rules)
    found = await known(store)
    await store.close()
    return found


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "_SHORTEST_RANGE", 1_000)


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("others", [0, 3])
def test_what_was_left_out_counts_when_it_is_said_whose_it_is(
    run: Run, tmp_path: Path, kind: str, others: int
) -> None:
    (tmp_path / "a.jsonl").write_bytes(LOGS[kind])
    for number in range(others):
        # Read together with it, as one group.
        (tmp_path / f"b{number}.jsonl").write_bytes(
            lines(trace(number, {"n": number}, f"mcp__shop__t{number}"))
        )

    async def main() -> None:
        store = await open_store(None)
        first = await backfill(store, tmp_path, rules=NOBODY)
        left_out = sum(source.found.nameless for source in first.sources)
        assert left_out
        again = await backfill(store, tmp_path, rules=NOBODY)
        assert again.observations == 0
        assert any("--server NAME" in note for source in again.sources for note in source.notes)
        right = await backfill(store, tmp_path, rules=SHOP)
        assert right.observations == left_out
        (source,) = (one for one in right.sources if one.name.endswith("a.jsonl"))
        assert (source.state, source.skipped_bytes, source.found.bytes > 300) == ("counted", 0, True)
        assert await known(store) == await at_once(tmp_path, SHOP)
        for rules in (SHOP, NOBODY):
            last = await backfill(store, tmp_path, rules=rules)
            assert (last.observations, last.count("known")) == (0, 1 + others)
            assert not any(source.notes for source in last.sources)
        await store.close()

    run(main())


@pytest.mark.parametrize("kind", ["lines", "paired"])
def test_a_log_that_has_grown_meanwhile_is_counted_once_all_the_same(
    run: Run, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "a.jsonl"
    whole = LOGS[kind] + bare(50, 60) + traces(100, 110)

    async def main() -> None:
        store = await open_store(None)
        await asyncio.to_thread(file.write_bytes, LOGS[kind])
        await backfill(store, file, rules=NOBODY)
        await asyncio.to_thread(file.write_bytes, whole)
        await backfill(store, file, rules=SHOP)
        assert await known(store) == await at_once(file, SHOP)
        # Whose they are was said, and holds.
        await asyncio.to_thread(file.write_bytes, whole + bare(70, 75))
        more = await backfill(store, file, rules=NOBODY)
        assert more.observations == 5
        assert await known(store) == await at_once(file, SHOP)
        await store.close()

    run(main())


def test_lines_that_belong_together_behind_what_was_left_out_count_once(run: Run, tmp_path: Path) -> None:
    """Only the part that is new shows that the log has to be read in order."""
    file = tmp_path / "a.jsonl"

    async def main() -> None:
        store = await open_store(None)
        await asyncio.to_thread(file.write_bytes, MIXED)
        await backfill(store, file, rules=NOBODY)
        await asyncio.to_thread(file.write_bytes, MIXED + bare(50, 90) + paired(7))
        await backfill(store, file, rules=SHOP)
        assert await known(store) == await at_once(file, SHOP)
        await store.close()

    run(main())


def test_what_is_piped_in_is_known_again_with_what_was_left_out_of_it(run: Run, tmp_path: Path) -> None:
    file, pipe = tmp_path / "a.jsonl", tmp_path / "pipe"
    file.write_bytes(MIXED)
    os.mkfifo(pipe)

    async def piped(store: Store, data: bytes, rules: Rules) -> int:
        writing = asyncio.create_task(asyncio.to_thread(pipe.write_bytes, data))
        summary = await backfill(store, pipe, rules=rules)
        await writing
        return summary.observations

    async def main() -> None:
        store = await open_store(None)
        await backfill(store, file, rules=NOBODY)
        assert await piped(store, MIXED, NOBODY) == 0
        assert await piped(store, MIXED + bare(40, 42), SHOP) == 32
        assert await piped(store, MIXED + bare(40, 43), NOBODY) == 1
        await asyncio.to_thread(file.write_bytes, MIXED + bare(40, 43))
        assert await known(store) == await at_once(file, SHOP)
        await store.close()

    run(main())


def test_an_interruption_while_it_catches_up_counts_all_of_it_or_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(MIXED * 3)

    async def main() -> None:
        store = await open_store(None)
        await backfill(store, file, rules=NOBODY)
        before = await known(store)
        work = Backfill(store, SHOP)
        take = passes.Pass._take

        def interrupted(self: Any, found: Any) -> None:
            take(self, found)
            work.stop()

        with monkeypatch.context() as patch:
            patch.setattr(passes.Pass, "_take", interrupted)
            summary = await work.run([str(file)])
        assert (summary.sources[0].state, summary.observations) == ("stopped", 0)
        assert await known(store) == before
        await backfill(store, file, rules=SHOP)
        assert await known(store) == await at_once(file, SHOP)
        await store.close()

    run(main())


@pytest.mark.parametrize("kind", LOGS)
def test_a_wrong_server_is_refused_to_be_changed_until_it_is_forgotten(
    run: Run, tmp_path: Path, kind: str
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(LOGS[kind])

    async def main() -> None:
        store = await open_store(None)
        await backfill(store, file, rules=DEPOT)
        before = await known(store)
        [source] = (await backfill(store, file, rules=SHOP)).sources
        assert source.state == "refused"
        assert "halflap schema forget --server depot --origin backfill" in str(source.problem)
        assert await known(store) == before
        await forget(store, "depot")
        assert not [key for key in await known(store) if key.server == "depot"]
        await backfill(store, file, rules=SHOP)
        assert await known(store) == await at_once(file, SHOP)
        await store.close()

    run(main())


@pytest.mark.parametrize(
    ("server", "tool"), [("shop", None), ("shop", "get_item"), ("shop", "get_order"), (None, None)]
)
@pytest.mark.parametrize("kind", LOGS)
def test_what_was_forgotten_counts_again_and_nothing_else_does(
    run: Run, tmp_path: Path, kind: str, server: str | None, tool: str | None
) -> None:
    """Some is named with its server, some without: both are forgotten, and both come back."""
    for name, data in (("a", LOGS[kind]), ("b", lines(trace(1, 5, "mcp__other__x"))), ("c", bare(200, 203))):
        (tmp_path / f"{name}.jsonl").write_bytes(data)

    async def main() -> None:
        store = await open_store(None)
        await backfill(store, tmp_path, rules=SHOP)
        before = await known(store)
        await forget(store, server, tool)
        after = await known(store)
        assert {key for key in before if server in {None, key.server} and tool in {None, key.tool}} == (
            before.keys() - after.keys()
        )
        await backfill(store, tmp_path, rules=SHOP)
        assert await known(store) == before
        assert (await backfill(store, tmp_path, rules=SHOP)).observations == 0
        await store.close()

    run(main())


def test_another_server_for_other_logs_is_no_contradiction(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "named.jsonl").write_bytes(traces(0, 5))
        await backfill(store, tmp_path, rules=DEPOT)
        (tmp_path / "bare.jsonl").write_bytes(bare(0, 5))
        summary = await backfill(store, tmp_path, rules=SHOP)
        assert (summary.count("refused"), summary.count("known"), await observations(store)) == (0, 1, 10)
        await store.close()

    run(main())


def test_strict_stops_at_a_bad_line_that_was_counted_before(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        file = tmp_path / "a.jsonl"
        for data in (MIXED, MIXED + traces(200, 203)):
            await asyncio.to_thread(file.write_bytes, data)
            await backfill(store, file)
            before = await known(store)
            summary = await backfill(store, file, strict=True)
            [source] = summary.sources
            assert (source.state, [bad.line for bad in source.found.bad]) == ("refused", [71])
            assert await known(store) == before
        await store.close()

    run(main())


def test_a_line_that_was_not_finished_is_numbered_right_and_no_bad_one(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        file = tmp_path / "a.jsonl"
        await asyncio.to_thread(file.write_bytes, traces(0, 3) + b'{"tool": "get_o')
        await backfill(store, file)
        await asyncio.to_thread(file.write_bytes, traces(0, 5))
        assert (await backfill(store, file, strict=True)).observations == 2
        await asyncio.to_thread(file.write_bytes, traces(0, 5) + b"bad\n")
        [source] = (await backfill(store, file)).sources
        assert [bad.line for bad in source.found.bad] == [6]
        await store.close()

    run(main())
