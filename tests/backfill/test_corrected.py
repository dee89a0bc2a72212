"""Reading a log again under another server."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from backfill.logs import backfill, lines, trace, traces
from halflap.backfill import Rules, forgotten, passes
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
        "backfill", server, tool, update_watermark=lambda origin, text: forgotten(origin, text, server, tool)
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


@pytest.mark.parametrize(("kind", "others"), [("lines", 3), ("paired", 0), ("document", 0)])
def test_lines_without_a_server_count_once_the_server_is_named(
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
        assert any("--server" in note for source in again.sources for note in source.notes)
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


@pytest.mark.parametrize("kind", ["lines", "document"])
def test_a_wrong_server_has_to_be_forgotten_first(run: Run, tmp_path: Path, kind: str) -> None:
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
