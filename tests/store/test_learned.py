"""What was learned is stored by origin, merged, and never counted twice."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import StoreError
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.learn import Learned, infer
from halflap.store import DriftEvent, ToolKey, WatermarkChange
from store.rows import call, opened

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.store import Store

KEY = ToolKey("one", "t", "hash")
OTHER = ToolKey("one", "u\0\ud800", "")


def learned(*values: Any) -> Learned:
    return Learned(infer(values, range(len(values))))


async def test_what_is_added_is_merged_with_what_the_origin_knew(store: Store) -> None:
    await store.add_learned("live", {KEY: learned({"a": 1})})
    await store.add_learned(
        "live", {KEY: learned({"a": "x"}), OTHER: learned([1])}, sources={"live": WatermarkChange("", "7")}
    )
    await store.add_learned("logs", {KEY: learned({"b": 1})})
    found = await store.learned(server="one", tool="t")
    assert [(one.key, one.origin) for one in found] == [(KEY, "live"), (KEY, "logs")]
    assert found[0].learned == learned({"a": 1}).merge(learned({"a": "x"}))
    assert {one.key for one in await store.learned()} == {KEY, OTHER}
    assert await store.learned(server="two") == []
    assert await store.watermarks() == {"live": "7", "logs": ""}


async def test_what_another_process_has_read_is_not_added(store: Store) -> None:
    await store.add_learned("logs", {KEY: learned({"a": 1})}, sources={"x": WatermarkChange(None, "1")})
    await store.add_learned("logs", {KEY: learned({"a": 1})}, sources={"x": WatermarkChange("1", "2")})
    for before in (None, "1", "3"):
        with pytest.raises(StoreError, match="Another process"):
            await store.add_learned(
                "logs",
                {KEY: learned({"a": 1})},
                sources={"x": WatermarkChange(before, "9"), "y": WatermarkChange(None, "1")},
            )
    assert await store.watermarks() == {"logs": "", "x": "2"}
    assert (await store.learned())[0].learned.observations == 2


async def test_two_gateways_that_add_at_once_lose_nothing(place: str | Path) -> None:
    async def add(times: int) -> None:
        async with opened(place) as store:
            for _ in range(times):
                await store.add_learned("live", {KEY: learned({"a": 1})}, lineage=lineage(flow=(1, 1)))

    await asyncio.gather(add(10), add(10))
    async with opened(place) as store:
        assert (await store.learned())[0].learned.observations == 20
        assert (await store.lineage())["live"] == lineage(flow=(20, 20))


async def test_what_fails_halfway_is_not_half_added(store: Store) -> None:
    wrong: Any = {"logs": WatermarkChange(None, object())}  # type: ignore[arg-type]
    with pytest.raises(StoreError):
        await store.add_learned("live", {KEY: learned({"a": 1})}, sources=wrong)
    assert (await store.learned(), await store.watermarks()) == ([], {})


async def test_what_is_imported_counts_once_and_never_goes_backwards(store: Store) -> None:
    older, newer = learned({"a": 1}), learned({"a": 1}, {"a": 2})
    for came in (older, newer, newer, older):
        await store.replace_learned("import:x", {KEY: came})
    assert (await store.learned())[0].learned == newer


async def test_nothing_is_added_if_a_call_was_learned_from_before(place: str | Path) -> None:
    ids = [call(number).id for number in range(3)]
    both = {KEY: learned({"a": 1}, {"a": 2})}
    async with opened(place) as store, opened(place) as other:
        await store.record(calls=[call(number, result="{}") for number in range(3)])
        assert not await other.add_learned("backfill", {KEY: learned({"a": 1})}, observed_calls=ids[1:2])
        assert await store.add_learned("live", both, observed_calls=[*ids, "not recorded"]) == {ids[1]}
        assert [(one.origin, one.learned.observations) for one in await store.learned()] == [("backfill", 1)]
        assert [one.id for one in await store.unobserved_calls(None, 9)] == [ids[0], ids[2]]
        assert not await store.add_learned("live", both, observed_calls=[ids[0], ids[2]])
        assert await store.unobserved_calls(None, 9) == []


async def test_calls_are_given_until_they_were_learned_from(store: Store) -> None:
    results = [call(number, result="{}") for number in range(4)]
    await store.record(calls=[*results, call(9), call(10, result="{}", outcome="timeout")])
    assert [one.id for one in await store.unobserved_calls(None, 3)] == [one.id for one in results[:3]]
    await store.add_learned("live", {}, observed_calls=[results[0].id, results[3].id, "none such"])
    # Written again, as after a cancelled write, it is still observed.
    await store.record(calls=[results[0]])
    assert await store.unobserved_calls(None, 9) == results[1:3]
    assert await store.unobserved_calls(results[1].id, 9) == [results[2]]


async def test_of_the_same_drift_the_first_time_counts(store: Store) -> None:
    event = DriftEvent("one", "t", "hash", "a", "new-type", "integer", "string", 5.0, 60, 0.96)
    later = DriftEvent("one", "t", "hash", "a", "new-type", "integer", "null", 7.0, 60, 0.96)
    again = DriftEvent("one", "t", "hash", "a", "new-type", "integer", "string", 9.0, 70, 0.97)
    await store.add_drift([event])
    await store.add_drift([again, later])
    assert await store.drift() == [later, event]
    assert await store.drift(server="one", tool="u") == []


@pytest.mark.parametrize("is_newer", [False, True])
async def test_a_damaged_shape_is_replaced_and_one_of_a_newer_version_is_not(
    store: Store, is_newer: bool
) -> None:
    await store.add_learned("live", {KEY: learned({"a": 1})})
    (row,) = await store.learned()
    newer = json.dumps(row.learned.to_json()).replace('"version": 1', '"version": 9')
    shapes = newer if is_newer else '{"structured": 1}'
    update = "UPDATE learned SET shapes = :shapes"
    await store.transact(lambda transaction: transaction.run(update, shapes=shapes))
    assert await store.learned() == []
    if is_newer:
        with pytest.raises(StoreError, match="Update Halflap"):
            await store.add_learned("live", {KEY: learned({"b": 1})})
    else:
        await store.add_learned("live", {KEY: learned({"b": 1})})
        assert (await store.learned())[0].learned == learned({"b": 1})


async def test_what_is_forgotten_is_gone_with_its_drift_and_the_rest_stays(store: Store) -> None:
    for origin in ("live", "backfill", "import:a", "import:b", "important"):
        sources = {f"{origin}/x": WatermarkChange(None, "1")}
        await store.add_learned(origin, {KEY: learned({"a": 1}), OTHER: learned([1])}, sources=sources)
    await store.add_drift([DriftEvent(*KEY, "a", "new-type", "integer", "string", 5.0, 60, 0.96)])
    gone = await store.forget_learned("import", "one", "t")
    assert sorted(gone) == [("import:a", KEY), ("import:b", KEY)]
    assert await store.forget_learned("import", "two") == []
    assert len(await store.learned()) == 8
    assert len(await store.drift()) == 1
    marks = dict(await store.watermarks())
    await store.forget_learned(None, "one", "t", watermarks="backfill/")
    assert {one.key for one in await store.learned()} == {OTHER}
    assert await store.drift() == []
    assert marks.pop("backfill/x") == "1"
    assert await store.watermarks() == marks


async def test_values_are_dropped_where_there_are_any(store: Store) -> None:
    plain = learned({"a": "x"})
    kept = Learned(infer([{"a": "x"}] * 3, keep_values=True))
    await store.add_learned("live", {KEY: plain})
    assert await store.drop_values() == 0
    await store.add_learned("logs", {KEY: kept, OTHER: plain})
    await store.replace_learned("import:a", {OTHER: kept})
    assert await store.drop_values() == 2
    assert await store.drop_values() == 0
    assert not any(one.learned.has_values for one in await store.learned())
    assert sum(one.learned.observations for one in await store.learned()) == 8


# Where values went

FIND = ToolKey("one", "find", "h1")
GET = ToolKey("two", "get\0\ud800", "")
FLOW = Flow(FIND, "users[].id", GET, "id")
BACK = Flow(GET, "['a \ud800 key']", FIND, "$")


def lineage(**counts: tuple[int, int]) -> Lineage:
    flows = {"flow": FLOW, "back": BACK}
    return Lineage({flows[name]: Count(*count) for name, count in counts.items()})


async def test_flows_are_added_up_for_each_origin_and_forgotten_with_their_tools(store: Store) -> None:
    await store.add_learned("live", {}, lineage=lineage(flow=(2, 1)))
    await store.add_learned("live", {}, lineage=lineage(flow=(3, 1), back=(1, 1)))
    await store.add_learned("logs", {}, lineage=lineage(flow=(7, 0)))
    assert await store.lineage() == {
        "live": lineage(flow=(5, 2), back=(1, 1)),
        "logs": lineage(flow=(7, 0)),
    }
    await store.forget_learned("live", "two")
    assert await store.lineage() == {"logs": lineage(flow=(7, 0))}


async def test_imported_flows_count_once_and_never_go_backwards(store: Store) -> None:
    older, newer = lineage(flow=(2, 1)), lineage(flow=(5, 2), back=(1, 1))
    for came in (older, newer, newer, older):
        await store.replace_learned("import:x", {}, came)
    assert await store.lineage() == {"import:x": newer}


async def test_flows_of_ever_new_names_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halflap.store.knowledge.MAX_FLOWS", 10)
    many = Lineage({FLOW._replace(source_path=f"key{number}"): Count(1, 1) for number in range(15)})
    await store.add_learned("live", {}, lineage=many)
    await store.add_learned("live", {}, lineage=many)
    found = (await store.lineage())["live"]
    assert len(found.counts) == 10
    assert set(found.counts.values()) == {Count(2, 2)}
