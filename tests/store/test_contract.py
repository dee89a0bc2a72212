"""What every store does, on every database."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import StoreBrokenError, StoreError, StoreTooNewError
from halflap.store import ServerRows, StoredCatalog, StoredTool
from halflap.store.migrations import MIGRATIONS, Migration
from halflap.store.store import Store
from store import rows
from store.rows import DEFINITION, call, noting, opened, putting, server, tool
from support import THOROUGH

if TYPE_CHECKING:
    from pathlib import Path

LATEST = MIGRATIONS[-1].number
PROCESSES = 4 if THOROUGH else 2
MORE = Migration(
    LATEST + 1, "a note", ("CREATE TABLE notes (words TEXT)", "INSERT INTO notes VALUES ('hello')")
)
BAD = Migration(
    LATEST + 1, "a mistake", ("CREATE TABLE notes (words TEXT)", "INSERT INTO nowhere VALUES (1)")
)


async def written(place: str | Path, *tools: StoredTool, **more: Any) -> StoredCatalog:
    """Write a server's tools with one store, and read everything with another."""
    async with opened(place) as store:
        await store.update_server("one", putting(server(**more), *tools))
    async with opened(place) as store:
        return await store.load_catalog()


async def test_what_was_written_is_read_by_the_next_store(place: str | Path) -> None:
    about: dict[str, Any] = {
        "ttl_seconds": 60.5,
        "protocol_version": "2025-11-25",
        "server_info": "one 1.0",
        "instructions": "Be kind.",
    }
    changed = tool("changed", accepted={**DEFINITION, "description": "Before."}, position=1)
    gone = tool("gone", position=2, removed=True)
    assert await written(place, tool(), changed, gone, **about) == StoredCatalog(
        {"one": server(**about)},
        [tool(), changed, gone],
        {f"mcp__one__{name}": ("one", name) for name in ("t", "changed", "gone")},
    )


@pytest.mark.parametrize(
    "text", ["", "grüße 你好 🎉 a\0b \ud800 alone \udfff \\u0000 \\ '; DROP TABLE tools; --"]
)
async def test_any_text_comes_back_as_it_was(store: Store, text: str) -> None:
    definition = {**DEFINITION, "description": text, "inputSchema": {"properties": {text: {}}}}
    kept = server(text, server_info=text, instructions=text)
    named = tool(text, of=text, name="mcp__odd__t", definition=definition)
    record = call(1, run=text, parent=text, principal=text, tool=text, breach=text)
    await store.update_server(text, putting(kept, named))
    seen: list[ServerRows] = []
    await store.update_server(text, noting(seen))
    assert (seen[0].server, [*seen[0].tools]) == (kept, [named])
    assert (await store.load_catalog()).names == {"mcp__odd__t": (text, text)}
    await store.record(calls=[record])
    assert await store.recent_calls(1) == [record]


async def test_a_change_that_fails_or_is_half_possible_leaves_everything_as_it_was(
    place: str | Path, store: Store
) -> None:
    def fail(_before: ServerRows) -> ServerRows:
        raise ZeroDivisionError

    before = await written(place, tool())
    with pytest.raises(ZeroDivisionError):
        await store.update_server("one", fail)
    taken = tool("other", "two", name="mcp__one__t")
    with pytest.raises(StoreError):
        await store.update_server("two", putting(server("two"), tool("fine", "two"), taken))
    assert await store.load_catalog() == before


async def test_several_processes_that_create_one_store_at_once_lose_nothing(place: str | Path) -> None:
    def create() -> list[str]:
        processes = [
            subprocess.Popen(
                [sys.executable, rows.__file__, str(place), f"s{number}", "15"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number in range(PROCESSES)
        ]
        return [process.communicate(timeout=60)[1] for process in processes]

    assert await asyncio.to_thread(create) == [""] * PROCESSES
    async with opened(place) as store:
        catalog = await store.load_catalog()
    assert len(catalog.names) == len(catalog.tools) == 15 * PROCESSES


async def test_what_was_asked_for_before_closing_is_done_and_nothing_after(place: str | Path) -> None:
    async with opened(place) as store:
        under_way = [asyncio.create_task(store.record(calls=[call(number)])) for number in range(20)]
        await asyncio.sleep(0)
    await asyncio.gather(*under_way)
    await store.close()
    with pytest.raises(StoreError):
        await store.load_catalog()
    async with opened(place) as store:
        assert len(await store.recent_calls(99)) == 20


async def texts(store: Store) -> list[Any]:
    query = "SELECT words FROM notes"
    return await store.transact(lambda transaction: [row["words"] for row in transaction.select(query)])


async def test_a_further_migration_runs_once_and_one_that_fails_changes_nothing(place: str | Path) -> None:
    before = await written(place, tool())
    with pytest.raises(StoreError, match="nowhere"):
        await Store(place, [*MIGRATIONS, BAD]).open()
    async with opened(place) as store:
        assert await store.load_catalog() == before
    for _ in range(2):
        async with opened(place, [*MIGRATIONS, MORE]) as store:
            assert await texts(store) == ["hello"]
            assert await store.load_catalog() == before


async def test_a_store_of_a_newer_version_is_refused_and_not_changed(place: str | Path) -> None:
    async with opened(place, [*MIGRATIONS, MORE]) as store:
        await store.update_server("one", putting(server(), tool()))
        before = await store.load_catalog()
    with pytest.raises(StoreTooNewError):
        await Store(place).open()
    async with opened(place, [*MIGRATIONS, MORE]) as store:
        assert await store.load_catalog() == before


async def test_a_store_from_before_the_first_release_is_refused_and_not_changed(place: str | Path) -> None:
    older = [Migration(6, "before", ("CREATE TABLE notes (words TEXT)", "INSERT INTO notes VALUES ('kept')"))]
    async with opened(place, older):
        pass
    with pytest.raises(StoreBrokenError, match="6"):
        await Store(place).open()
    async with opened(place, older) as store:
        assert await texts(store) == ["kept"]


def test_a_url_is_shown_without_the_password_and_one_that_is_none_not_at_all() -> None:
    url = "postgresql+psycopg://me:geheim@host/db?password=streng&sslmode=require"
    assert Store(url).location == "postgresql://me@host/db"
    for wrong in ("geheim", "postgresql+psycopg://me:geheim@host:port/db"):
        with pytest.raises(StoreError) as caught:
            Store(wrong)
        assert "geheim" not in str(caught.value)


async def test_a_database_that_cannot_be_reached_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        await Store(f"postgresql+psycopg://me@/db?host={tmp_path}").open()


async def test_counters_are_added_up_and_random_values_are_made_once(place: str | Path) -> None:
    async with opened(place) as one, opened(place) as other:
        await one.add_counters({"looked": 2, "seconds": 0.5})
        await other.add_counters({"looked": 1})
        assert await one.counters() == {"looked": 3.0, "seconds": 0.5}
        salts = await asyncio.gather(one.salt(), other.salt())
        names = await asyncio.gather(one.installation_id(), other.installation_id())
        assert salts[0] == salts[1]
        assert len(salts[0]) == 32
        assert names[0] == names[1] != salts[0].hex()
