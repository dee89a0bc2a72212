"""What a gateway learns from the results that pass: real servers, a real store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.errors import StoreError, UsageError
from observe.answers import structured, text
from support import python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

RECORDS = python_server("r", "records.py", protocol="legacy")
SWIFT = python_server("s", "swift.py", protocol="legacy")
ONE, ODD = "mcp__r__one", "mcp__r__odd"


def config(*servers: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"servers": list(servers or (RECORDS,)), **more}


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
        async with Gateway.open(config()) as gateway:
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
            assert (
                "no dict there, but an object with .kind" in (await gateway.inspect("mcp__s__image"))["note"]
            )
            assert "no dict" not in told["note"]
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
                value = {"colour": colour, "api_key": "sk-proj-abcdefghijklmnop1234567890"}
                await gateway.call(ODD, number=number, result=structured(value))
            told = await gateway.inspect(ODD)
            assert told["observedSchema"]["properties"]["colour"]["enum"] == ["green", "red"]
            assert "abcdefghijklmnop" not in json.dumps(told)

    run(scenario())


def test_a_store_that_cannot_be_read_keeps_no_tool_from_being_inspected(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with Gateway.open(config()) as gateway:
            before = await gateway.inspect(ONE)

            async def fail(*_: Any, **__: Any) -> None:
                raise StoreError("The disk is gone.")

            for method in ("learned", "drift", "add_learned", "salt"):
                monkeypatch.setattr(type(gateway._store), method, fail)
            assert gateway._knowledge is not None
            gateway._knowledge.forget()
            await gateway.call(ONE, number=1)
            assert await gateway.inspect(ONE) == before
            monkeypatch.undo()

    run(scenario())


def test_switched_off_nothing_that_was_learned_is_shown_and_nothing_is_read(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config()) as gateway:
            await gateway.call(ONE, number=1)
            assert await gateway.learned_rows()
        async with Gateway.open(config(learning={"enabled": False})) as gateway:
            assert not await gateway.learned_rows()
            with pytest.raises(UsageError, match="learning is switched off"):
                await gateway.backfill()

    run(scenario())
