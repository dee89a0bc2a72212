"""Logs that contradict what is known or declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from backfill.logs import KEY, backfill, lines, trace, traces
from halflap.backfill import rules_for
from halflap.core.values import Tool
from halflap.learn import Learned, infer
from halflap.store import Breach, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

SETTLED = Learned(structured=infer([{"id": one, "total": one / 2} for one in range(80)], range(80)))
DECLARED = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "rows": {"type": "array", "items": {"type": "object", "required": ["sku"]}},
        "by": {"type": "object", "additionalProperties": {"type": "number"}},
    },
    "required": ["id"],
}
WRAPPED = {
    "type": "object",
    "properties": {"result": {"type": "array"}},
    "required": ["result"],
    "x-fastmcp-wrap-result": True,
}
ORDER = Tool("mcp__shop__get_order", "shop", "get_order", "", {}, output_schema=DECLARED, hash="h1")
LIST = Tool("mcp__shop__list", "shop", "list", "", {}, output_schema=WRAPPED, hash="h2")
RULES = rules_for([ORDER, LIST], server="shop", salt=b"", values=False)


def test_logs_that_contradict_a_stable_shape_are_drift(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        await store.add_learned("live", {KEY: SETTLED})
        (tmp_path / "a.jsonl").write_bytes(traces(100, 110))
        assert (await backfill(store, tmp_path)).drift == ()
        more = lines(trace(200, {"id": "x", "total": 1.5, "new": 1}), trace(201, {"id": "y", "total": 2.5}))
        (tmp_path / "b.jsonl").write_bytes(more)
        tried = await backfill(store, tmp_path, dry_run=True)
        assert len(tried.drift) == 2
        assert await store.drift() == []
        summary = await backfill(store, tmp_path)
        assert {(one.path, one.what, one.now) for one in summary.drift} == {
            ("id", "new-type", "string"),
            ("new", "new-key", "integer"),
        }
        assert {one.origin for one in summary.drift} == {"backfill"}
        assert set(await store.drift()) == set(summary.drift)
        # All of it is in `drift` of the summary, without a time: logs are of any age.
        assert {(one["path"], one["since"], one["origin"]) for one in summary.to_json()["drift"]} == {
            ("id", None, "backfill"),
            ("new", None, "backfill"),
        }
        assert (await backfill(store, tmp_path)).drift == ()
        assert len(await store.drift()) == 2
        await store.close()

    run(main())


def test_an_unstable_shape_does_not_drift(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        few = Learned(structured=infer([{"id": 1, "total": 1.5}] * 80, [1] * 80))
        await store.add_learned("live", {KEY: few})
        (tmp_path / "a.jsonl").write_bytes(lines(trace(1, {"id": "x"})))
        assert (await backfill(store, tmp_path)).drift == ()
        await store.close()

    run(main())


def protocol(result: Any) -> bytes:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_order"}}
    return lines(ask, {"jsonrpc": "2.0", "id": 1, "result": result})


def message(text: str, name: str = "get_order") -> bytes:
    call = {"type": "function_call", "call_id": "c", "name": name, "arguments": "{}"}
    return lines(call, {"type": "function_call_output", "call_id": "c", "output": text})


@pytest.mark.parametrize(
    ("log", "path"),
    [
        (lines(trace(1, {"id": 7})), None),
        (lines(trace(1, {"id": "x"})), "id"),
        (lines(trace(1, {"id": "x"}, is_error=True)), None),
        (lines(trace(1, {"id": 1, "rows": [{"sku": 1}, {}]})), "rows[].sku"),
        (lines(trace(1, {"id": 1, "by": {"alice": 1, "john@example.com": "x"}})), "by[key]"),
        (lines(trace(1, {"content": [], "structuredContent": {"id": "x"}})), "id"),
        (protocol({"content": [{"type": "text", "text": '{"id": 7}'}]}), ""),
        (message("done"), None),
        (lines(trace(1, {"result": 7}, "mcp__shop__list")), "result"),
    ],
)
def test_a_logged_result_that_violates_its_schema_is_reported_with_its_path(
    run: Run, tmp_path: Path, log: bytes, path: str | None
) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "a.jsonl").write_bytes(log)
        summary = await backfill(store, tmp_path, rules=RULES)
        assert [one.path for one in summary.breaches] == ([] if path is None else [path])
        stored = await store.breaches()
        assert [one.path for one in stored] == [one.path for one in summary.breaches]
        assert not any(word in str(stored) for word in ("alice", "john"))
        await store.close()

    run(main())


@pytest.mark.parametrize("together", [True, False])
def test_a_violation_is_counted_once_per_result(run: Run, tmp_path: Path, together: bool) -> None:
    records = [trace(one, {"id": "x"}, at=1.7e9 + one) for one in range(20)]

    async def main() -> None:
        store = await open_store(None)
        halves = [records[:10], records[10:]] if together else [records]
        for number, half in enumerate(halves):
            (tmp_path / f"{number}.jsonl").write_bytes(lines(*half))
        await backfill(store, tmp_path, rules=RULES)
        assert (await backfill(store, tmp_path, rules=RULES)).breaches == ()
        [breach] = await store.breaches()
        assert breach == Breach(
            "shop", "get_order", ORDER.schema_hash, "id", "integer", 1.7e9, 1.7e9 + 19, 20, "backfill"
        )
        await store.add_breaches(
            [Breach("shop", "get_order", ORDER.schema_hash, "id", "integer", 1.8e9, 1.8e9, 1)]
        )
        [breach] = await store.breaches()
        assert (breach.first_at, breach.last_at, breach.times, breach.origin) == (1.7e9, 1.8e9, 21, "live")
        await store.close()

    run(main())


def test_strict_and_dry_runs_store_no_violation(run: Run, tmp_path: Path) -> None:
    async def main() -> None:
        store = await open_store(None)
        (tmp_path / "a.jsonl").write_bytes(lines(trace(1, {"id": "x"})) + b"bad\n")
        assert len((await backfill(store, tmp_path, rules=RULES, dry_run=True)).breaches) == 1
        assert (await backfill(store, tmp_path, rules=RULES, strict=True)).breaches == ()
        assert await store.breaches() == []
        await store.close()

    run(main())
