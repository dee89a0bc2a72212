"""Learning behind the calls: what is taken, looked at and written, and what happens when that does not work."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

from halflap.calls import Answered
from halflap.core.errors import StoreError
from halflap.core.values import Tool, definition_hash
from halflap.learn import Learned, Observer, digest_of, infer
from halflap.observe import Knowledge, Learning
from halflap.observe import learning as module
from halflap.store import ToolKey, open_store
from observe.answers import TOOL, answered, structured, text
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    import pytest

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def test_history_of_an_unknown_definition_counts_for_the_present_one(run: Run) -> None:
    async def scenario() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))
        await store.add_learned("log", {ToolKey("x", "t", ""): Learned(structured=infer([{"a": 1}]))})
        learning.take(answered(structured({"b": 1}), 2, Tool(TOOL.name, "x", "t", "", {}, hash="h0")))
        learning.take(answered(structured({"a": 2}), 3))
        await learning.flush()
        known = await Knowledge(store).of(TOOL)
        assert known is not None
        assert (known.observations, known.schema["required"]) == (2, ["a"])
        await learning.close()
        await store.close()

    run(scenario())


def test_a_changed_description_does_not_restart_learning_and_a_changed_schema_does(run: Run) -> None:
    def defined(description: str, properties: dict[str, Any]) -> Tool:
        schema = {"type": "object", "properties": properties}
        definition = {"name": "t", "description": description, "inputSchema": schema}
        return Tool(TOOL.name, "x", "t", description, schema, hash=definition_hash(definition))

    before = defined("Before.", {"id": {"type": "string", "description": "Whose."}})
    reworded = defined("Now.", {"id": {"type": "string", "description": "Of which."}})
    other = defined("Now.", {"id": {"type": "string"}, "description": {"type": "string"}})

    async def scenario() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))
        for number, tool in enumerate((before, before, reworded)):
            learning.take(answered(structured({"a": 1}), number, tool))
        await learning.flush()
        known = await Knowledge(store).of(reworded)
        assert known is not None
        assert known.observations == 3
        assert await Knowledge(store).of(other) is None
        await learning.close()
        await store.close()

    run(scenario())


def test_what_contradicts_a_settled_shape_is_drift_and_is_learned(run: Run) -> None:
    async def scenario() -> None:
        store = await open_store(None)
        knowledge = Knowledge(store)
        changed: list[Any] = []
        learning = Learning(store, knowledge, on_changed=changed.append)
        for number in range(60):
            learning.take(answered(structured({"a": number, "b": "x"}), number))
        await learning.flush()
        assert len(changed) == 1
        assert await store.drift() == []
        for number in range(60, 70):
            learning.take(answered(structured({"a": number, "b": "x"}), number))
        await learning.flush()
        assert len(changed) == 1
        learning.take(answered(structured({"a": "seventy", "c": 1}), 70))
        await learning.flush()
        events = {(one.path, one.what): one for one in await store.drift()}
        assert events.keys() == {("a", "new-type"), ("b", "missing-key"), ("c", "new-key")}
        assert events["a", "new-type"].at == 70.0
        assert events["a", "new-type"].observations == 70
        assert len(changed) == 2
        learning.take(answered(structured({"a": "again", "c": 1}), 71))
        await learning.flush()
        assert len(await store.drift()) == 3
        known = await knowledge.of(TOOL)
        assert known is not None
        assert known.schema["properties"]["a"]["type"] == ["integer", "string"]
        await learning.close()
        await store.close()

    run(scenario())


def test_what_settles_and_is_contradicted_before_anything_is_written_is_drift(run: Run) -> None:
    async def scenario() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))
        for number in range(300):
            learning.take(answered(structured({"id": number, "name": "x"}), number))
        for number in range(300, 310):
            learning.take(answered(structured({"id": f"x{number}", "nom": "x"}), number))
        await learning.flush()
        events = {(one.path, one.what): one for one in await store.drift()}
        assert events.keys() == {("id", "new-type"), ("name", "missing-key"), ("nom", "new-key")}
        assert all(260 <= event.at <= 300 for event in events.values())
        assert {event.observations for event in events.values()} <= set(range(260, 301))
        ((row),) = await store.learned()
        assert row.learned.observations == 310
        await learning.close()
        await store.close()

    run(scenario())


def test_part_by_part_the_same_is_learned_as_at_once(run: Run) -> None:
    results = [{"id": number, "tags": ["a"] * (number % 3), "n": None} for number in range(100)]

    async def scenario() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))
        salt, at_once = await store.salt(), Observer()
        for number, result in enumerate(results):
            one = answered(structured(result), number)
            learning.take(one)
            assert isinstance(one.arguments, str)
            at_once.observe(result, digest_of(json.loads(one.arguments), salt), one.at)
        await learning.flush()
        (row,) = await store.learned()
        assert row.learned == Learned(structured=at_once.shape())
        assert await store.drift() == []
        await learning.close()
        await store.close()

    run(scenario())


def test_what_is_too_much_is_passed_over_and_said(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_MOST_WAITING", 5)

    async def scenario() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))
        for number in range(8):
            learning.take(answered(structured({"a": 1}), number))
        await learning.flush()
        assert learning.dropped == 3
        assert (await store.learned())[0].learned.observations == 5
        await learning.close()
        await store.close()

    with caplog.at_level(logging.WARNING):
        run(scenario())
    assert [record.message for record in caplog.records] == [
        "More results come than can be learned from; some are passed over.",
        "3 results were passed over so far; from here on it works again.",
    ]


def test_a_store_that_fails_loses_nothing_once_it_works_again(
    run: Run, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))

        async def fail(*_: Any, **__: Any) -> None:
            raise StoreError("The disk is full.")

        with monkeypatch.context() as patch:
            patch.setattr(type(store), "add_learned", fail)
            for number in range(2):
                learning.take(answered(structured({"a": 1}), number))
                await learning.flush()
        learning.take(answered(structured({"a": 1}), 2))
        await learning.close()
        assert (await store.learned())[0].learned.observations == 3
        await store.close()

    run(scenario())
    assert sum("The disk is full" in record.message for record in caplog.records) == 1


def test_what_cannot_be_read_is_passed_over(run: Run) -> None:
    async def scenario() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))
        learning.take(Answered("c0", TOOL, "{}", "no JSON", 0.0))
        learning.take(answered(structured({"a": 1})))
        await learning.close()
        assert (await store.learned())[0].learned.observations == 1
        await store.close()

    run(scenario())


def test_text_that_is_no_json_stays_text_also_where_python_would_read_it(run: Run) -> None:
    async def scenario() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))
        for number, said in enumerate(('{"a": NaN}', "[Infinity, -Infinity]", '{"a": 1}')):
            learning.take(answered(text(said), number))
        await learning.close()
        [row] = await store.learned()
        assert (row.learned.text.observations, row.learned.structured.observations) == (2, 1)
        await store.close()

    run(scenario())


def test_results_are_looked_at_and_written_without_being_asked_for(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LOOK_SECONDS", 0.01)
    monkeypatch.setattr(module, "_WRITE_SECONDS", 0.01)

    async def scenario() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))
        large = {"rows": [{"a": number} for number in range(1_000)]}
        learning.take(answered(structured({"a": 1})))
        learning.take(Answered("c2", TOOL, "{}", structured(large), 2.0))
        for number in range(300):
            learning.take(answered(structured(large), number))
            await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE):
            while not (rows := await store.learned()) or rows[0].learned.observations < 302:
                await asyncio.sleep(0.01)
        await learning.close()
        await store.close()

    run(scenario())


def test_another_process_that_adds_to_the_store_is_noticed_after_a_while(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        store = await open_store(None)
        knowledge = Knowledge(store)
        assert await knowledge.of(TOOL) is None
        learning = Learning(store, Knowledge(store))
        learning.take(answered(structured({"a": 1})))
        await learning.close()
        assert await knowledge.of(TOOL) is None
        monkeypatch.setattr("halflap.observe.knowledge._FRESH_SECONDS", -1.0)
        assert await knowledge.of(TOOL) is not None
        await store.close()

    run(scenario())
