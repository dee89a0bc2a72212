"""A store that is taken away while the gateway uses it: calls are answered, doctor says so, and nothing is lost."""

from __future__ import annotations

import asyncio
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from faults.test_reading import mount
from halflap import Gateway
from servers.memory import Memory, definition
from support import comes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TOOL = "mcp__s__t"


def servers() -> dict[str, Any]:
    return {"s": Memory(definition("t", "text"))}


async def call(gateway: Gateway, times: int) -> None:
    for _ in range(times):
        assert not (await gateway.call(TOOL, text="x")).is_error
    await gateway.parts.recorder.flush()


async def codes(gateway: Gateway) -> set[str]:
    return {one["code"] for one in (await gateway.examine())["findings"]}


async def recorded(settings: dict[str, Any] | None = None) -> int:
    async with Gateway.open(settings or {}) as gateway:
        return len(await gateway.recent_calls())


def moved(file: Path) -> None:
    file.rename(file.with_name("elsewhere.db"))


def deleted(file: Path) -> None:
    file.unlink()


def replaced(file: Path) -> None:
    deleted(file)
    file.touch()


@pytest.mark.parametrize("harm", [moved, deleted, replaced])
async def test_what_happens_after_a_store_was_moved_is_in_the_one_that_takes_its_place(
    home: Path, harm: Callable[[Path], None]
) -> None:
    async with Gateway.open({}, servers=servers()) as gateway:
        await gateway.refresh()
        await call(gateway, 1)
        await asyncio.to_thread(harm, home / "data" / "halflap.db")
        await call(gateway, 3)
        assert {"store-not-writable", "records-waiting"} <= await codes(gateway)
    assert await recorded() >= 3


async def test_a_store_that_is_put_back_is_used_again(home: Path) -> None:
    file = home / "data" / "halflap.db"
    async with Gateway.open({}, servers=servers()) as gateway:
        await gateway.refresh()
        await asyncio.to_thread(moved, file)
        await call(gateway, 3)
        await asyncio.to_thread(file.with_name("elsewhere.db").rename, file)
    assert await recorded() == 3


async def test_a_folder_that_becomes_read_only_does_not_stop_recording(home: Path) -> None:
    data = str(home / "data")
    async with Gateway.open({}, servers=servers()) as gateway:
        await gateway.refresh()
        await asyncio.to_thread(mount, "--bind", data, data)
        try:
            await asyncio.to_thread(mount, "-o", "remount,bind,ro", data)
            await call(gateway, 3)
        finally:
            await asyncio.to_thread(subprocess.run, ["umount", "-l", data], check=True)
    assert await recorded() == 3


@pytest.mark.slow
async def test_an_outage_of_postgresql_loses_no_record(postgres: Callable[[], str]) -> None:
    psycopg = pytest.importorskip("psycopg")
    url = await asyncio.to_thread(postgres)
    name = url.partition("@/")[2].partition("?")[0]
    admin = await psycopg.AsyncConnection.connect(
        host=url.partition("host=")[2], user="halflap", dbname="postgres", autocommit=True
    )
    settings = {"store": {"url": url}}
    async with admin, Gateway.open(settings, servers=servers()) as gateway:
        await gateway.refresh()
        await call(gateway, 1)
        await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        await admin.execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        )
        await call(gateway, 3)
        assert {"store-not-writable", "records-waiting"} <= await codes(gateway)
        await admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")

        async def caught_up() -> bool:
            await call(gateway, 1)
            return not await gateway.parts.recorder.writer.journal_bytes()

        assert await comes(caught_up)
        made = len(await gateway.recent_calls(1_000))
    assert made >= 5
    assert await recorded(settings) >= 5
