"""PostgreSQL in one test: the others run on it with `make test-all`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from halflap.core.errors import StoreError
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.learn import Learned, infer
from halflap.store import Purged, ToolKey, WatermarkChange
from halflap.store.migrations import MIGRATIONS, Migration
from store.rows import call, opened, putting, run_of, server, tool

if TYPE_CHECKING:
    from collections.abc import Callable

ODD = "grüße \0 \ud800 '; DROP TABLE tools; --"
KEY, OTHER = ToolKey("one", "t", "h"), ToolKey("one", ODD, "")
LEARNED = Learned(infer([{"a": 1}], [1]))
FLOW = Flow(KEY, "a[]", OTHER, "id")
BAD = Migration(
    MIGRATIONS[-1].number + 1, "a mistake", ("CREATE TABLE x (a TEXT)", "INSERT INTO y VALUES (1)")
)
OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"


async def test_a_store_on_postgresql_keeps_what_one_in_a_file_does(postgres: Callable[[], str]) -> None:
    place = postgres()
    made = call(1, run="00000001", principal=ODD, arguments=ODD, result="{}")
    finished = run_of(1, output=ODD, code=ODD)
    async with opened(place) as store:
        await store.update_server("one", putting(server(instructions=ODD), tool(definition={"name": ODD})))
        await store.record(calls=[made], runs=[run_of(1, outcome="running", output=None)])
        await store.record(runs=[finished])
        for _ in range(2):
            await store.add_learned(
                "live", {KEY: LEARNED, OTHER: LEARNED}, lineage=Lineage({FLOW: Count(2, 1)})
            )
            await store.add_counters({"looked": 2})
        await store.add_learned("logs", {}, sources={"x": WatermarkChange(None, "1")})
    with pytest.raises(StoreError):
        async with opened(place, [*MIGRATIONS, BAD]):
            pass
    async with opened(place) as store, opened(place) as other:
        await other.transact(lambda transaction: transaction.select(OTHERS))
        catalog = await store.load_catalog()
        assert catalog.servers == {"one": server(instructions=ODD)}
        assert [one.definition for one in catalog.tools] == [{"name": ODD}]
        assert await store.recent_calls(9) == [made]
        assert await store.run("0000000", principal="local") == finished
        assert {one.key: one.learned.observations for one in await store.learned()} == {KEY: 2, OTHER: 2}
        assert (await store.lineage())["live"].counts == {FLOW: Count(4, 2)}
        assert await store.watermarks() == {"live": "", "x": "1"}
        assert (await store.counters(), (await store.status()).calls) == ({"looked": 4.0}, 1)
        assert await store.purge(everything=True) == Purged(runs=1, calls=1)
        assert await store.load_catalog() == catalog
