"""PostgreSQL in one test: the others run on it with `make test-all`."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import StoreError
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.learn import Learned, infer
from halflap.store import Purged, ToolKey, WatermarkChange, open_store
from halflap.store.migrations import MIGRATIONS, Migration
from halflap.store.store import Store
from store.rows import call, hammer, putting, run_of, server, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

KEY, OTHER = ToolKey("one", "t", "h"), ToolKey("one", "u\0\ud800", "")
BAD = Migration(
    MIGRATIONS[-1].number + 1, "a mistake", ("CREATE TABLE x (a TEXT)", "INSERT INTO y VALUES (1)")
)


ODD = "grüße \0 \ud800 '; DROP TABLE tools; --"
DEFINITION = {"name": "t", "description": ODD}
CALL = call(1, run="00000001", principal=ODD, arguments=ODD, result="{}")
FINISHED = run_of(1, output=ODD, code=ODD)
LEARNED = Learned(structured=infer([{"a": 1}], [1]))
FLOW = Flow(KEY, "a[]", OTHER, "id")


async def write(place: str) -> None:
    store = await open_store(place)
    await store.update_server("one", putting(server(instructions=ODD), tool(definition=DEFINITION)))
    await store.record(calls=[CALL], runs=[run_of(1, outcome="running", output=None)])
    await store.record(runs=[FINISHED])
    for _ in range(2):
        await store.add_learned("live", {KEY: LEARNED, OTHER: LEARNED}, lineage=Lineage({FLOW: Count(2, 1)}))
    await store.add_learned("logs", {}, sources={"x": WatermarkChange(None, "1")})
    await store.add_counters({"looked": 2})
    await store.close()


async def read(place: str) -> None:
    store = await open_store(place)
    catalog = await store.load_catalog()
    assert catalog.servers == {"one": server(instructions=ODD)}
    assert [one.definition for one in catalog.tools] == [DEFINITION]
    assert await store.recent_calls(9) == [CALL]
    assert await store.run("0000000", principal="local") == FINISHED
    assert await store.run("0000000", principal="other") is None
    assert {one.key: one.learned.observations for one in await store.learned()} == {KEY: 2, OTHER: 2}
    assert (await store.lineage())["live"].counts == {FLOW: Count(4, 2)}
    assert await store.watermarks() == {"live": "", "x": "1"}
    assert await store.counters() == {"looked": 2.0}
    assert (await store.status()).calls == 1
    assert await store.purge(everything=True) == Purged(runs=1, calls=1)
    assert (await store.load_catalog()) == catalog
    await store.close()


async def write_at_once(place: str) -> None:
    stores = await asyncio.gather(*(open_store(place) for _ in range(3)))
    salts = await asyncio.gather(*(store.salt() for store in stores))
    assert len(set(salts)) == 1

    async def learn(store: Store) -> None:
        for _ in range(10):
            await store.add_learned("live", {KEY: LEARNED}, lineage=Lineage({FLOW: Count(1, 1)}))

    await asyncio.gather(
        *(hammer(store, f"s{number}", 5) for number, store in enumerate(stores)),
        *(learn(store) for store in stores),
    )
    assert len((await stores[0].load_catalog()).names) == 15
    assert [one.learned.observations for one in await stores[0].learned(tool="t")] == [30]
    assert (await stores[0].lineage())["live"].counts == {FLOW: Count(30, 30)}
    for store in stores:
        await store.close()


async def migrate(place: str) -> None:
    with pytest.raises(StoreError):
        await Store(place, [*MIGRATIONS, BAD]).open()
    store = Store(place, [*MIGRATIONS, replace(BAD, statements=BAD.statements[:1])])
    await store.open()
    assert len((await store.load_catalog()).names) == 1
    await store.close()


async def reconnect(place: str) -> None:
    store, other = await open_store(place), await open_store(place)
    others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    await other._read(lambda transaction: transaction.select(others))
    assert len((await store.load_catalog()).names) == 1
    await store.close()
    await other.close()


async def test_a_store_on_postgresql_keeps_what_one_in_a_file_does(postgres: Callable[[], str]) -> None:
    place, other = postgres(), postgres()
    await write(place)
    await read(place)
    await reconnect(place)
    await migrate(place)
    await write_at_once(other)
