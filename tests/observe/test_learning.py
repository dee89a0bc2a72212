"""What a gateway learns from the results of calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.core.errors import StoreError, UsageError
from observe.answers import structured, text
from servers.memory import echo, records

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ONE, ODD = "mcp__r__one", "mcp__r__odd"


def opened(**settings: Any) -> AbstractAsyncContextManager[Gateway]:
    return Gateway.open(settings, servers={"r": records(), "s": echo()})


async def test_where_learning_is_off_nothing_is_shown_or_learned() -> None:
    async with opened() as gateway:
        await gateway.call(ONE, number=1)
    async with opened(learning={"enabled": False}) as gateway:
        before = await gateway.inspect(ONE)
        await gateway.call(ONE, number=2)
        assert await gateway.inspect(ONE) == before
        assert not before.keys() & {"observedSchema", "observations", "confidence", "drift"}
        assert (await gateway.get_schema(ONE)).returns is None
        assert not await gateway.learned.rows()
        for work in (gateway.learned.backfill(), gateway.learned.export(), gateway.learned.import_from({})):
            with pytest.raises(UsageError):
                await work
    async with opened() as gateway:
        assert [row.learned.observations for row in await gateway.learned.rows()] == [1]


async def test_signatures_say_what_was_learned_where_nothing_is_declared() -> None:
    async with opened() as gateway:
        assert "->" not in (await gateway.search(ODD, limit=1))[0].signature
        for number in (1, 2):
            await gateway.call(ODD, number=number, result=structured({"a": number}))
            await gateway.call("mcp__s__add", a=number, b=1)
        assert (await gateway.get_schema(ODD)).format_compact().endswith("-> {a: integer}")
        declared = await gateway.get_schema("mcp__s__add")
        assert declared.learned_type is not None
        assert declared.format_compact().endswith("-> integer")
        (hit,) = await gateway.search(ODD, limit=1)
        assert hit.signature.endswith("-> {a: integer}")


async def test_results_are_learned_as_programs_see_them() -> None:
    async with opened() as gateway:
        await gateway.call("mcp__s__add", a=1, b=2)
        assert (await gateway.inspect("mcp__s__add"))["observedSchema"]["type"] == "integer"
        await gateway.call(ODD, number=1, result=text('{"a": 1}'))
        await gateway.call(ODD, number=2, result=text("it failed", isError=True))
        await gateway.call(ODD, number=3, result=text("42"))
        described = await gateway.inspect(ODD)
        assert described["observedSchema"]["type"] == ["string", "object"]
        assert described["observations"] == 2
        for _ in range(3):
            await gateway.call("mcp__s__image")
        pixel = (await gateway.inspect("mcp__s__image"))["observedSchema"]["items"]
        assert "data" not in json.dumps(pixel)
        assert "mimeType" in json.dumps(pixel)
        # In a program it is not a dict, so its type has no keys.
        assert (await gateway.get_schema("mcp__s__image")).format_compact().endswith("mcp__s__image()")


async def test_inspect_reports_drift_and_broken_declarations() -> None:
    async with opened() as gateway:
        for number in range(60):
            await gateway.call(ODD, number=number, result=structured({"a": number}))
        assert "drift" not in await gateway.inspect(ODD)
        await gateway.call(ODD, number=60, result=text("gone"))
        (drift,) = (await gateway.inspect(ODD))["drift"]
        assert (drift["what"], drift["before"], drift["now"]) == ("new-type", "object", "string")
        await gateway.call("mcp__s__breach")
        (broken,) = (await gateway.inspect("mcp__s__breach"))["drift"]
        assert (broken["what"], broken["path"], broken["times"]) == ("breaks-declared-schema", "count", 1)


def test_no_value_of_a_result_or_an_argument_is_on_disk(run: Run, home: Path) -> None:
    async def scenario() -> None:
        async with opened(traces={"record": "off"}) as gateway:
            await gateway.call(ODD, number=777001, result=structured({"word": "xyzzy-plugh", "n": 777002}))

    run(scenario())
    kept = b"".join(file.read_bytes() for file in (home / "data").glob("halflap.db*"))
    assert b"word" in kept
    assert not any(value in kept for value in (b"xyzzy", b"777001", b"777002"))


async def test_a_store_that_cannot_be_read_keeps_no_tool_from_being_inspected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with opened() as gateway:
        before = await gateway.inspect(ONE)

        async def fail(*_: Any, **__: Any) -> None:
            raise StoreError("The disk is gone.")

        for method in ("learned", "drift", "add_learned", "salt"):
            monkeypatch.setattr(type(gateway.parts.store), method, fail)
        assert gateway.parts.learned.knowledge is not None
        gateway.parts.learned.knowledge.forget()
        await gateway.call(ONE, number=1)
        assert await gateway.inspect(ONE) == before
        monkeypatch.undo()
