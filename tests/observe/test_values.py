"""Values in results: kept only with `learning.values`, never secrets, and gone once it is switched off."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from halflap import Gateway
from observe.answers import structured
from servers.memory import records

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ODD = "mcp__r__odd"
OFF: dict[str, Any] = {"traces": {"record": "off"}}
ON = {**OFF, "learning": {"values": True}}


def opened(settings: dict[str, Any]) -> AbstractAsyncContextManager[Gateway]:
    return Gateway.open(settings, servers={"r": records()})


async def learn(*words: str) -> None:
    async with opened(ON) as gateway:
        for number in range(16):
            value = {"colour": words[number % len(words)], "type": "plain"}
            await gateway.call(ODD, number=number, result=structured(value))
        assert words[0] in json.dumps(await gateway.inspect(ODD))


async def everything(gateway: Gateway) -> str:
    """Return everything that is shown of what was learned."""
    known = await gateway.learned.of(await _tool(gateway))
    shown = [
        await gateway.inspect(ODD),
        await gateway.learned.export(),
        str(await gateway.learned.rows()),
        str(known),
        (await gateway.get_schema(ODD)).format_compact(),
    ]
    return json.dumps(shown)


async def _tool(gateway: Gateway) -> Any:
    await gateway.inspect(ODD)
    return gateway.snapshot.find(ODD)


def test_they_are_neither_shown_nor_left_on_disk(run: Run, home: Path) -> None:
    async def scenario() -> None:
        await learn("vermilion", "turquoise")
        async with opened(OFF) as gateway:
            shown = await everything(gateway)
            assert "vermilion" not in shown
            assert "colour" in shown
            assert (await gateway.inspect(ODD))["observations"] == 16
        # Switched on again, there is nothing that could come back.
        async with opened(ON) as gateway:
            assert "vermilion" not in await everything(gateway)

    run(scenario())
    kept = b"".join(file.read_bytes() for file in (home / "data").glob("halflap.db*"))
    assert b"colour" in kept
    assert b"vermilion" not in kept


async def test_values_that_another_gateway_keeps_are_not_shown() -> None:
    async with opened(OFF) as gateway:
        # It was opened before the other one learned.
        await learn("vermilion", "turquoise")
        assert "vermilion" not in await everything(gateway)


async def test_an_export_with_values_brings_them_only_to_those_who_keep_them(tmp_path: Path) -> None:
    await learn("vermilion", "turquoise")
    async with opened(ON) as gateway:
        data = await gateway.learned.export()
    assert data["values"] is True
    for name, config in (("on", ON), ("off", OFF)):
        async with opened({**config, "store": {"path": str(tmp_path / name)}}) as gateway:
            await gateway.learned.import_from(data)
            assert ("vermilion" in str(await gateway.learned.rows())) == (name == "on")
    assert b"vermilion" not in (tmp_path / "off").read_bytes()


SECRET = "hunter2hunter2"


def result(number: int) -> dict[str, Any]:
    token = f"0e984725-c51c-4bf4-9960-e1c80e27ab{number:02}"
    return {"token": token, "password": SECRET, "colour": ("red", "blue")[number % 2]}


async def check(gateway: Gateway) -> None:
    schema = (await gateway.inspect(ODD))["observedSchema"]
    assert schema["properties"] == {
        "token": {"type": "string"},
        "password": {"type": "string"},
        "colour": {"type": "string", "enum": ["blue", "red"]},
    }
    assert jsonschema_rs.validator_for(schema).is_valid(result(99))
    assert SECRET not in json.dumps(await gateway.learned.export())


def test_a_secret_in_a_result_leaves_no_value(run: Run, home: Path) -> None:
    async def scenario() -> None:
        async with opened({"learning": {"values": True}}) as gateway:
            for number in range(16):
                await gateway.call(ODD, number=number, result=structured(result(number)))
            await check(gateway)

    run(scenario())
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in (home / "data").glob("halflap.db*"))


async def test_a_secret_in_a_log_leaves_no_value(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = [{"tool": ODD, "arguments": {"n": n}, "result": result(n)} for n in range(16)]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    async with opened({"learning": {"values": True}}) as gateway:
        await (await gateway.learned.backfill()).run([str(log)])
        await check(gateway)
