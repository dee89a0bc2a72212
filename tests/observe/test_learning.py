"""What a gateway learns from the results that pass: real servers, a real store."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

from halflap import Gateway
from halflap.calls import Answered
from halflap.errors import StoreError
from halflap.observe import Knowledge, Learning
from halflap.observe import learning as module
from halflap.store import open_store
from halflap.values import Tool
from support import python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    import pytest

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

RECORDS = python_server("r", "records.py", protocol="legacy")
SWIFT = python_server("s", "swift.py", protocol="legacy")
TOOL = Tool("mcp__x__t", "x", "t", "A tool.", {"type": "object"}, hash="h1")
ONE, ODD = "mcp__r__one", "mcp__r__odd"


def config(*servers: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"servers": list(servers or (RECORDS,)), **more}


def structured(value: Any) -> dict[str, Any]:
    return {"content": [], "structuredContent": value}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def answered(result: Mapping[str, Any], number: int = 0, tool: Tool = TOOL) -> Answered:
    return Answered(f"c{number}", tool, json.dumps({"n": number}), json.dumps(result), float(number))


def test_inspect_tells_what_was_learned_beside_what_is_declared(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config()) as gateway:
            before = await gateway.inspect(ONE)
            for number in (1, 2, 3):
                await gateway.call(ONE, number=number)
            told = await gateway.inspect(ONE)
            assert (told["outputSchema"], told["observations"]) == (None, 3)
            assert told["observedSchema"]["properties"]["since"] == {"type": "string", "format": "date"}
            assert 0.5 < told["confidence"] < 0.6
            assert told["lastObserved"].startswith("20")
            assert "Use observedSchema" in told["note"]
            assert "at least 52 %" in told["note"]
            learned = ("observedSchema", "observations", "confidence", "lastObserved")
            rest = {key: value for key, value in told.items() if key not in learned}
            assert {**rest, "note": before["note"]} == before

    run(scenario())


def test_where_learning_is_off_nothing_of_it_is_told_or_kept(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config()) as gateway:
            await gateway.call(ONE, number=1)
        async with Gateway.open(config(learning={"enabled": False})) as gateway:
            before = await gateway.inspect(ONE)
            await gateway.call(ONE, number=2)
            assert await gateway.inspect(ONE) == before
            assert not before.keys() & {"observedSchema", "observations", "confidence", "drift"}
            assert (await gateway.get_schema(ONE)).returns is None
            assert [row.learned.observations for row in await gateway.learned_rows()] == [1]

    run(scenario())


def test_the_next_gateway_knows_it_too(run: Run) -> None:
    async def scenario() -> None:
        for number in (1, 2):
            async with Gateway.open(config()) as gateway:
                await gateway.call(ONE, number=number)
        async with Gateway.open(config()) as gateway:
            assert (await gateway.inspect(ONE))["observations"] == 2

    run(scenario())


def test_one_observation_is_never_sure_and_repeats_are_no_evidence(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config()) as gateway:
            for _ in range(4):
                await gateway.call(ONE, number=1)
            told = await gateway.inspect(ONE)
            assert (told["observations"], told["confidence"]) == (4, 0.0)
            assert "look at the value, too" in told["note"]

    run(scenario())


def test_signatures_say_what_was_learned_where_nothing_is_declared(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(RECORDS, SWIFT)) as gateway:
            for number in (1, 2):
                await gateway.call(ODD, number=number, result=structured({"a": number}))
                await gateway.call("mcp__s__add", a=number, b=1)
            assert (await gateway.get_schema(ODD)).format_compact().endswith("-> {a: integer}")
            declared = await gateway.get_schema("mcp__s__add")
            assert declared.learned_type is not None
            assert declared.format_compact().endswith("-> integer")
            (hit,) = await gateway.search(ODD, limit=1)
            assert hit.signature.endswith("-> {a: integer}")
            assert "-> _mcp__r__odd__gives:" in await gateway.stubs("r")

    run(scenario())


def test_the_check_doubts_what_was_never_seen_and_stops_nothing_for_it(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config()) as gateway:
            for number in (1, 2):
                await gateway.call(ODD, number=number, result=structured({"rows": [{"name": "x"}]}))
            await gateway.inspect(ODD)
            call = f"r = await {ODD}(result={{'structuredContent': {{'items': 1}}}})\n"
            checked = await gateway.check(f"{call}print(r['row'])")
            assert not checked.mistakes
            assert "'row' is not in the result of mcp__r__odd, as far as is known; keys: rows." in str(
                checked.doubts[0]
            )
            # A list has no keys; but that it is a list was only seen.
            checked = await gateway.check(f"{call}print(r['rows']['name'])")
            assert not checked.mistakes
            assert "is a list and has no key 'name', as far as is known" in str(checked.doubts[0])
            done = await gateway.execute(f"{call}print(r['items'])")
            assert (done.ok, done.output) == (True, "1\n")
            done = await gateway.execute(f"{call}print(r['rows'])")
            assert not done.ok

    run(scenario())


def test_wrappers_text_that_is_json_errors_and_media_are_taken_as_programs_see_them(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(RECORDS, SWIFT)) as gateway:
            await gateway.call("mcp__s__add", a=1, b=2)
            assert (await gateway.inspect("mcp__s__add"))["observedSchema"]["type"] == "integer"
            await gateway.call(ODD, number=1, result=text('{"a": 1}'))
            await gateway.call(ODD, number=2, result=text("it failed", isError=True))
            await gateway.call(ODD, number=3, result=text("42"))
            told = await gateway.inspect(ODD)
            assert told["observedSchema"]["type"] == ["string", "object"]
            assert told["observations"] == 2
            assert "2 results, 1 of them plain text" in told["note"]
            for _ in range(3):
                await gateway.call("mcp__s__image")
            pixel = (await gateway.inspect("mcp__s__image"))["observedSchema"]["items"]
            assert "data" not in json.dumps(pixel)
            assert "mimeType" in json.dumps(pixel)
            # In a program it is no dict, so its type says nothing of keys.
            assert (await gateway.get_schema("mcp__s__image")).format_compact().endswith("mcp__s__image()")

    run(scenario())


def test_saved_scripts_are_learned_from_like_any_tool(run: Run, home: Path) -> None:
    folder = home / "data" / "scripts"
    folder.mkdir(parents=True)
    (folder / "total.py").write_text(
        '"""Give a total."""\n\n\nasync def main(n: int):\n    return {"total": n}\n'
    )

    async def scenario() -> None:
        async with Gateway.open(config()) as gateway:
            for number in (1, 2):
                await gateway.call("script__total", n=number)
            told = await gateway.inspect("script__total")
            assert told["observedSchema"]["required"] == ["total"]

    run(scenario())


def test_a_changed_definition_begins_anew_and_the_old_is_history(run: Run, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    server = python_server("r", "records.py", str(changed), protocol="legacy")

    async def scenario() -> None:
        name = "mcp__r__sometimes"
        async with Gateway.open(config(server)) as gateway:
            await gateway.call(name, number=1)
            changed.touch()
            await gateway.refresh("r")
            assert "observedSchema" not in await gateway.inspect(name)
            await gateway.call(name, number=2)
            assert (await gateway.inspect(name))["observedSchema"]["required"] == ["new"]
            assert len(await gateway.learned_rows("r", "sometimes")) == 2

    run(scenario())


def test_history_of_an_unknown_definition_counts_for_the_present_one(run: Run) -> None:
    async def scenario() -> None:
        store = await open_store(None)
        learning = Learning(store, Knowledge(store))
        old = Tool(TOOL.name, "x", "t", "", {}, hash="")
        learning.take(answered(structured({"a": 1}), 1, old))
        learning.take(answered(structured({"b": 1}), 2, Tool(TOOL.name, "x", "t", "", {}, hash="h0")))
        learning.take(answered(structured({"a": 2}), 3))
        await learning.flush()
        known = await Knowledge(store).of(TOOL)
        assert known is not None
        assert (known.observations, known.schema["required"]) == (2, ["a"])
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


def test_inspect_tells_of_drift_and_of_broken_declarations(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(RECORDS, SWIFT)) as gateway:
            for number in range(60):
                await gateway.call(ODD, number=number, result=structured({"a": number}))
            assert "drift" not in await gateway.inspect(ODD)
            await gateway.call(ODD, number=60, result=text("gone"))
            (drift,) = (await gateway.inspect(ODD))["drift"]
            assert (drift["what"], drift["before"], drift["now"]) == ("new-type", "object", "string")
            await gateway.call("mcp__s__breach")
            (broken,) = (await gateway.inspect("mcp__s__breach"))["drift"]
            assert (broken["what"], broken["path"], broken["times"]) == ("breaks-declared-schema", "count", 1)

    run(scenario())


def test_a_call_that_was_learned_from_is_not_given_to_a_backfill(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config()) as gateway:
            await gateway.call(ONE, number=1)
            await gateway.inspect(ONE)
            assert gateway._store is not None
            assert await gateway._store.unobserved_calls(None, 9) == []
        async with Gateway.open(config(learning={"enabled": False})) as gateway:
            await gateway.call(ONE, number=2)
            await gateway.recent_calls()
            assert gateway._store is not None
            assert len(await gateway._store.unobserved_calls(None, 9)) == 1

    run(scenario())


def test_calls_that_are_not_recorded_are_learned_from(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(traces={"record": "off"})) as gateway:
            await gateway.call(ONE, number=1)
            assert (await gateway.inspect(ONE))["observations"] == 1
            assert await gateway.recent_calls() == []

    run(scenario())


def test_no_value_of_a_result_or_an_argument_is_on_disk(run: Run, home: Path) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(traces={"record": "off"})) as gateway:
            await gateway.call(ODD, number=777001, result=structured({"word": "xyzzy-plugh", "n": 777002}))

    run(scenario())
    kept = b"".join(file.read_bytes() for file in (home / "data").glob("halflap.db*"))
    assert b"word" in kept
    assert not any(value in kept for value in (b"xyzzy", b"777001", b"777002"))


def test_with_values_repeated_words_become_enumerations(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(learning={"values": True})) as gateway:
            for number in range(12):
                colour = ("red", "green")[number % 2]
                await gateway.call(ODD, number=number, result=structured({"colour": colour}))
            colours = (await gateway.inspect(ODD))["observedSchema"]["properties"]["colour"]
            assert colours["enum"] == ["green", "red"]

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
        async with asyncio.timeout(20):
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
