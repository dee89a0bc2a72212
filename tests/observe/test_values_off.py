"""Values that were learned while `learning.values` was on, after it is switched off: neither shown nor kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap import Gateway
from halflap.core.errors import StoreError
from halflap.store.sql import Store
from observe.answers import structured
from servers.memory import records

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    import pytest

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

ODD = "mcp__r__odd"
OFF: dict[str, Any] = {"traces": {"record": "off"}}
ON = {**OFF, "learning": {"values": True}}


def opened(settings: dict[str, Any]) -> AbstractAsyncContextManager[Gateway]:
    return Gateway.open(settings, servers={"r": records()})


async def learn(*words: str) -> None:
    async with opened(ON) as gateway:
        for number in range(12):
            value = {"colour": words[number % len(words)], "type": "plain"}
            await gateway.call(ODD, number=number, result=structured(value))
        assert words[0] in json.dumps(await gateway.inspect(ODD))


async def everything(gateway: Gateway) -> str:
    """Return everything that is shown of what was learned."""
    known = await gateway.known(await _tool(gateway))
    told = [
        await gateway.inspect(ODD),
        await gateway.export_learned(),
        await gateway.stubs("r"),
        str(await gateway.learned_rows()),
        str(known),
        (await gateway.get_schema(ODD)).format_compact(),
    ]
    return json.dumps(told)


async def _tool(gateway: Gateway) -> Any:
    await gateway.inspect(ODD)
    return gateway.snapshot.find(ODD)


def test_they_are_neither_shown_nor_left_on_disk(run: Run, home: Path) -> None:
    async def scenario() -> None:
        await learn("vermilion", "turquoise")
        async with opened(OFF) as gateway:
            told = await everything(gateway)
            assert "vermilion" not in told
            assert "colour" in told
            assert (await gateway.inspect(ODD))["observations"] == 12
        # Switched on again, there is nothing that could come back.
        async with opened(ON) as gateway:
            assert "vermilion" not in await everything(gateway)

    run(scenario())
    kept = b"".join(file.read_bytes() for file in (home / "data").glob("halflap.db*"))
    assert b"colour" in kept
    assert b"vermilion" not in kept


def test_values_that_another_gateway_keeps_are_not_shown(run: Run) -> None:
    async def scenario() -> None:
        async with opened(OFF) as gateway:
            # It was opened before the other one learned.
            await learn("vermilion", "turquoise")
            assert "vermilion" not in await everything(gateway)

    run(scenario())


def test_a_store_that_cannot_drop_them_keeps_nobody_from_working(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        await learn("vermilion", "turquoise")

        async def fail(_: Store) -> int:
            raise StoreError("The disk is full.")

        monkeypatch.setattr(Store, "drop_values", fail)
        async with opened(OFF) as gateway:
            assert "vermilion" not in await everything(gateway)

    run(scenario())


def test_an_export_with_values_brings_them_only_to_those_who_keep_them(run: Run, tmp_path: Path) -> None:
    async def scenario() -> None:
        await learn("vermilion", "turquoise")
        async with opened(ON) as gateway:
            data = await gateway.export_learned()
        assert data["values"] is True
        for name, config in (("on", ON), ("off", OFF)):
            async with opened({**config, "store": {"path": str(tmp_path / name)}}) as gateway:
                await gateway.import_learned(data)
                assert ("vermilion" in str(await gateway.learned_rows())) == (name == "on")
        assert b"vermilion" not in (tmp_path / "off").read_bytes()

    run(scenario())
