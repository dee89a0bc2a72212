"""Learning in the background: queueing, storing, and failures."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from halflap.backfill import Backfill, Rules
from halflap.core.errors import StoreError
from halflap.core.values import Tool, definition_hash
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.learn import Learned, infer
from halflap.observe import Knowledge, Learner
from halflap.observe import learner as module
from halflap.store import LIVE, CallRecord, ToolKey, open_store
from observe.answers import TOOL, answered, called, structured, text
from support import comes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from halflap.store import Store

FIND, GET = (ToolKey("x", name, TOOL.schema_hash) for name in ("find", "get"))
FLOW = Flow(FIND, "ids[]", GET, "id")


@asynccontextmanager
async def learning(**options: Any) -> AsyncIterator[tuple[Learner, Store]]:
    store = await open_store(None)
    learner = Learner(store, Knowledge(store), **options)
    try:
        yield learner, store
    finally:
        await learner.close()
        await store.close()


async def fail(*_: Any, **__: Any) -> None:
    raise StoreError("The disk is full.")


async def test_history_of_an_unknown_definition_counts_for_the_present_one() -> None:
    async with learning() as (learner, store):
        await store.add_learned("log", {ToolKey("x", "t", ""): Learned(infer([{"a": 1}]))})
        learner.take(*answered(structured({"b": 1}), 2, Tool(TOOL.name, "x", "t", "", {}, hash="h0")))
        learner.take(*answered(structured({"a": 2}), 3))
        await learner.flush()
        known = await Knowledge(store).of(TOOL)
        assert known is not None
        assert (known.observations, known.schema["required"]) == (2, ["a"])


async def test_a_changed_description_does_not_restart_learning_and_a_changed_schema_does() -> None:
    def defined(description: str, properties: dict[str, Any]) -> Tool:
        schema = {"type": "object", "properties": properties}
        definition = {"name": "t", "description": description, "inputSchema": schema}
        return Tool(TOOL.name, "x", "t", description, schema, hash=definition_hash(definition))

    before = defined("Before.", {"id": {"type": "string", "description": "Whose."}})
    reworded = defined("Now.", {"id": {"type": "string", "description": "Of which."}})
    other = defined("Now.", {"id": {"type": "string"}, "description": {"type": "string"}})
    async with learning() as (learner, store):
        for number, tool in enumerate((before, before, reworded)):
            learner.take(*answered(structured({"a": 1}), number, tool))
        await learner.flush()
        known = await Knowledge(store).of(reworded)
        assert known is not None
        assert known.observations == 3
        assert await Knowledge(store).of(other) is None


async def test_what_contradicts_a_stable_shape_is_drift_and_is_learned() -> None:
    changed: list[None] = []
    async with learning(on_learned=lambda: changed.append(None)) as (learner, store):
        for number in range(70):
            learner.take(*answered(structured({"a": number, "b": "x"}), number))
            if number == 59:
                await learner.flush()
        await learner.flush()
        assert len(changed) == 1
        assert await store.drift() == []
        learner.take(*answered(structured({"a": "seventy", "c": 1}), 70))
        await learner.flush()
        events = {(one.path, one.what): one for one in await store.drift()}
        assert events.keys() == {("a", "new-type"), ("b", "missing-key"), ("c", "new-key")}
        assert (events["a", "new-type"].at, events["a", "new-type"].observations) == (70.0, 70)
        assert len(changed) == 2
        learner.take(*answered(structured({"a": "again", "c": 1}), 71))
        await learner.flush()
        assert len(await store.drift()) == 3
        known = await Knowledge(store).of(TOOL)
        assert known is not None
        assert known.schema["properties"]["a"]["type"] == ["integer", "string"]


async def test_too_many_results_are_skipped_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_MAX_WAITING_BYTES", 5.5 * module._BYTES_PER_CALL)
    with caplog.at_level(logging.WARNING):
        async with learning() as (learner, store):
            for number in range(8):
                learner.take(*answered(structured({"a": 1}), number))
            await learner.flush()
            assert learner.dropped == 3
            assert (await store.learned())[0].learned.observations == 5
            counters = await store.counters()
            assert (counters["learning_results"], counters["learning_dropped"]) == (5, 3)
            learner.take(*answered(text("x"), 8))
            for _ in range(2):
                learner.take(*answered(text("x" * 5 * module._BYTES_PER_CALL), 9))
            assert learner.dropped == 5
    assert len(caplog.records) == 1


async def test_a_store_that_fails_loses_nothing_once_it_works_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with learning() as (learner, store):
        with monkeypatch.context() as patch:
            patch.setattr(type(store), "add_learned", fail)
            learner.take(*called("find", {"ids": ["QK7ZD2"]}, 1))
            await learner.flush()
            learner.take(*called("get", {}, 2, id="QK7ZD2"))
            await learner.flush()
        learner.take(*called("get", {}, 3, id="QK7ZD2"))
        await learner.flush()
        assert {row.tool: row.learned.observations for row in await store.learned()} == {"find": 1, "get": 2}
        assert (await store.lineage())[LIVE].counts == {FLOW: Count(2, 1)}
    assert sum("The disk is full" in record.message for record in caplog.records) == 1


async def test_an_unreadable_result_does_not_affect_the_others() -> None:
    async with learning() as (learner, store):
        learner.take(TOOL, replace(answered({})[1], result="no JSON"))
        for number, content in enumerate(('{"a": NaN}', "[Infinity, -Infinity]", '{"a": 1}')):
            learner.take(*answered(text(content), number))
        await learner.flush()
        [row] = await store.learned()
        assert (row.learned.results.observations, row.learned.texts) == (3, 2)


async def test_results_of_every_size_are_learned_from_in_the_background(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_BATCH_SECONDS", 0.01)
    rows = {"rows": [{"a": number} for number in range(200)]}
    async with learning() as (learner, store):
        learner.take(*answered(structured({"a": 1}), 99))
        for number in range(30):
            learner.take(*answered(structured(rows), number))
            await asyncio.sleep(0)

        async def is_done() -> bool:
            return sum(row.learned.observations for row in await store.learned()) == 31

        assert await comes(is_done)


# A backfill of the same records


@pytest.mark.parametrize(("taken", "counted"), [(2, {"backfill": 2, "live": 1}), (3, {"backfill": 3})])
async def test_calls_that_a_backfill_learned_from_meanwhile_are_not_counted_again(
    taken: int, counted: dict[str, int]
) -> None:
    calls = [
        called("get", {"ids": ["QK7ZD2"]}, 1),
        called("get", {}, 2, id="QK7ZD2"),
        called("get", {}, 3, id="QK7ZD2"),
    ]

    async def other() -> None:
        """Run the backfill after the results were read and before they are stored."""
        await store.record(calls=[one for _, one in calls[:taken]])
        hashes = {TOOL.hash: TOOL.schema_hash}
        await Backfill(store, Rules(salt=await store.salt(), schema_hashes=hashes)).run(["store"])
        await store.record(calls=[one for _, one in calls[taken:]])

    async with learning(before_writing=other) as (learner, store):
        for one in calls:
            learner.take(*one)
        await learner.flush()
        assert {one.origin: one.learned.observations for one in await store.learned()} == counted
        assert await store.unobserved_calls(None, 9) == []
        lineage = Lineage.sum((await store.lineage()).values())
        assert lineage.counts == {Flow(GET, "ids[]", GET, "id"): Count(2, 1)}


# Where values go


async def flows(calls: Sequence[tuple[Tool, CallRecord]], **options: Any) -> Any:
    async with learning(**options) as (learner, store):
        for one in calls:
            learner.take(*one)
        await learner.flush()
        return (await store.lineage()).get(LIVE, Lineage()).counts


async def test_a_value_that_a_later_call_of_the_run_takes_is_counted() -> None:
    calls = [called("find", {"ids": ["QK7ZD2"]}, 1), called("get", {}, 2, id="QK7ZD2")]
    assert await flows(calls) == {FLOW: Count(1, 1)}
    assert await flows(calls, lineage=False) == {}


async def test_calls_of_no_run_of_another_run_or_of_another_principal_are_not_connected() -> None:
    first = {"ids": ["QK7ZD2"]}
    for calls in (
        (called("find", first, 1, run=None), called("get", {}, 2, run=None, id="QK7ZD2")),
        (called("find", first, 1), called("get", {}, 2, run="s", id="QK7ZD2")),
        (called("find", first, 1), called("get", {}, 2, principal="eve", id="QK7ZD2")),
    ):
        assert await flows(calls) == {}


async def test_a_run_is_followed_beyond_a_batch_however_long_it_pauses() -> None:
    async with learning() as (learner, store):
        for call_ in (called("find", {"ids": ["QK7ZD2"]}, -100_000), called("get", {}, 2, id="QK7ZD2")):
            learner.take(*call_)
            await learner.flush()
        assert (await store.lineage())[LIVE].counts == {FLOW: Count(1, 1)}
