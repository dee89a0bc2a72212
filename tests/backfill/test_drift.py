"""Logs that contradict what is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from backfill.logs import KEY, backfill, lines, trace, traces
from halflap.learn import Learned, infer
from halflap.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

SETTLED = Learned(structured=infer([{"id": one, "total": one / 2} for one in range(80)], range(80)))


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
        assert {(one["path"], one["since"], one["origin"]) for one in summary.to_json()["drift"]} == {
            ("id", None, "backfill"),
            ("new", None, "backfill"),
        }
        assert (await backfill(store, tmp_path)).drift == ()
        assert len(await store.drift()) == 2
        await store.close()

    run(main())
