"""Secrets in results, where values are kept: in what passes, and in logs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from halflap import Gateway
from observe.answers import structured
from servers.memory import records

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ODD = "mcp__r__odd"
CONFIG: dict[str, Any] = {"learning": {"values": True}}


def result(number: int) -> dict[str, Any]:
    return {
        "token": f"0e984725-c51c-4bf4-9960-e1c80e27ab{number:02}",
        "password": "hunter2hunter2",
        "colour": ("red", "blue")[number % 2],
    }


def check(told: dict[str, Any]) -> None:
    schema = told["observedSchema"]
    assert schema["properties"] == {
        "token": {"type": "string", "format": "uuid"},
        "password": {"type": "string"},
        "colour": {"type": "string", "enum": ["blue", "red"]},
    }
    assert jsonschema_rs.validator_for(schema).is_valid(result(99))


def test_a_secret_that_passes_leaves_its_form_and_no_value(run: Run, home: Path) -> None:
    async def scenario() -> None:
        async with Gateway.open(CONFIG, servers={"r": records()}) as gateway:
            for number in range(12):
                await gateway.call(ODD, number=number, result=structured(result(number)))
            check(await gateway.inspect(ODD))
            assert "hunter2" not in json.dumps(await gateway.export_learned())

    run(scenario())
    assert b"hunter2" not in b"".join(file.read_bytes() for file in (home / "data").glob("halflap.db*"))


def test_so_does_one_in_a_log(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lines = [{"tool": ODD, "arguments": {"n": n}, "result": result(n)} for n in range(12)]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))

    async def scenario() -> None:
        async with Gateway.open(CONFIG, servers={"r": records()}) as gateway:
            await (await gateway.backfill()).run([str(log)])
            check(await gateway.inspect(ODD))
            assert "hunter2" not in json.dumps(await gateway.export_learned())

    run(scenario())
