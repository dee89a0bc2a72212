"""What every store does, whichever database it is on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import StoreError, StoreTooNewError
from halflap.store import ServerRows, StoredCatalog, StoredTool, open_store
from halflap.store.migrations import MIGRATIONS, Migration
from halflap.store.store import Store
from store import rows
from store.rows import DEFINITION, call, growing, hammer, noting, putting, run_of, server, tool
from support import THOROUGH

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

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
    store = await open_store(place)
    await store.update_server("one", putting(server(**more), *tools))
    await store.close()
    return await read(place)


async def read(place: str | Path) -> StoredCatalog:
    store = await open_store(place)
    try:
        return await store.load_catalog()
    finally:
        await store.close()


def test_what_was_written_is_read_by_the_next_store(run: Run, place: str | Path) -> None:
    about: dict[str, Any] = {
        "ttl_seconds": 60.5,
        "protocol_version": "2025-11-25",
        "server_info": "one 1.0",
        "instructions": "Be kind.",
    }
    changed = tool("changed", accepted={**DEFINITION, "description": "Before."}, position=1)
    gone = tool("gone", position=2, removed=True)
    catalog = run(written(place, tool(), changed, gone, **about))
    assert catalog == StoredCatalog(
        {"one": server(**about)},
        [tool(), changed, gone],
        {f"mcp__one__{name}": ("one", name) for name in ("t", "changed", "gone")},
    )


ODD_TEXTS = ["", "grüße 你好 🎉 a\0b \ud800 alone \udfff \\u0000 \\ '; DROP TABLE tools; --"]


@pytest.mark.parametrize("text", ODD_TEXTS)
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


async def test_a_change_that_fails_leaves_everything_as_it_was(place: str | Path, store: Store) -> None:
    def fail(_before: ServerRows) -> ServerRows:
        raise ZeroDivisionError

    before = await written(place, tool())
    with pytest.raises(ZeroDivisionError):
        await store.update_server("one", fail)
    assert await store.load_catalog() == before


async def test_a_change_that_is_half_possible_is_not_half_made(place: str | Path, store: Store) -> None:
    before = await written(place, tool())
    taken = tool("other", "two", name="mcp__one__t")
    with pytest.raises(StoreError):
        await store.update_server("two", putting(server("two"), tool("fine", "two"), taken))
    assert await store.load_catalog() == before


async def test_the_newest_calls_come_first(store: Store) -> None:
    await store.record(calls=[call(number) for number in (2, 5, 1, 4, 3)])
    assert await store.recent_calls(3) == [call(5), call(4), call(3)]


async def test_calls_are_found_by_tool_and_principal_with_their_values_or_without(store: Store) -> None:
    mine = call(1, tool="a", arguments="{}", result="[1]")
    await store.record(calls=[mine, call(2, tool="b"), call(3, tool="a", principal="ann")])
    assert await store.recent_calls(9, server="one", tool="a", principal="local") == [mine]
    (brief,) = await store.recent_calls(9, tool="a", principal="local", values=False)
    assert (brief.id, brief.arguments, brief.result) == (mine.id, None, None)
    assert await store.call(mine.id) == mine
    assert await store.call(mine.id, principal="ann") is None


async def test_activity_counts_calls_by_minute_and_what_programs_kept_from_the_model(store: Store) -> None:
    in_run = {"run": "r", "result_bytes": 1_000}
    times = [call(number, started_at=60.0, duration_ms=float(number)) for number in range(1, 21)]
    await store.record(
        runs=[
            run_of(1, output_bytes=40),
            run_of(2, output_bytes=900),
            run_of(3, kind="script", output_bytes=7),
        ],
        calls=[
            *times,
            call(31, started_at=119.9, outcome="tool_error", duration_ms=None, **in_run),
            call(32, started_at=120.0, outcome="cancelled", duration_ms=5.0, **in_run),
            call(33, started_at=130.0, outcome="sent", duration_ms=None, server="script", **in_run),
            call(34, started_at=300.0, principal="ann"),
        ],
    )
    found = await store.activity(60.0, 60.0, 3, output_limit=100, principal=None)
    assert (found.calls, found.errors) == ((21, 2, 0), (1, 0, 0))
    assert (found.median_ms, found.slow_ms) == ((10.5, 5.0, None), (19.0, 5.0, None))
    assert (found.result_bytes, found.output_bytes, found.oldest) == (2_000, 140, 60.0)
    own = await store.activity(240.0, 60.0, 2, output_limit=100, principal="ann")
    assert (own.calls, own.result_bytes, own.oldest) == ((0, 1), 0, 300.0)


async def test_two_stores_at_once_lose_nothing_and_share_no_name(place: str | Path) -> None:
    stores = [await open_store(place) for _ in range(2)]
    await asyncio.gather(
        *(hammer(store, f"s{number}", 30) for number, store in enumerate(stores)),
    )
    catalog = await stores[0].load_catalog()
    assert len(catalog.names) == len(catalog.tools) == 60
    assert len(await stores[1].recent_calls(100)) == 60
    for store in stores:
        await store.close()


@pytest.mark.slow
def test_several_processes_that_create_one_store_at_once_lose_nothing(run: Run, place: str | Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, rows.__file__, str(place), f"s{number}", "15"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    complaints = [process.communicate(timeout=60)[1] for process in processes]
    assert complaints == [""] * PROCESSES
    catalog = run(read(place))
    assert len(catalog.names) == len(catalog.tools) == 15 * PROCESSES


async def test_a_closed_store_says_so(place: str | Path) -> None:
    store = await open_store(place)
    for _ in range(2):
        await store.close()
    with pytest.raises(StoreError):
        await store.load_catalog()


async def test_what_was_asked_for_before_closing_is_done(place: str | Path) -> None:
    store = await open_store(place)
    under_way = [asyncio.create_task(store.record(calls=[call(number)])) for number in range(20)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*under_way)
    store = await open_store(place)
    assert len(await store.recent_calls(99)) == 20
    await store.close()


async def test_a_further_migration_runs_once(place: str | Path) -> None:
    await written(place, tool())
    for _ in range(2):
        store = Store(place, [*MIGRATIONS, MORE])
        await store.open()
        notes = await _texts(store, "SELECT words FROM notes")
        assert notes == ["hello"]
        assert [kept.original_name for kept in (await store.load_catalog()).tools] == ["t"]
        await store.close()


async def _texts(store: Store, query: str) -> list[Any]:
    return await store._read(lambda transaction: [row["words"] for row in transaction.select(query)])


async def test_a_migration_that_fails_leaves_the_store_as_it_was(place: str | Path) -> None:
    before = await written(place, tool())
    with pytest.raises(StoreError, match="nowhere"):
        await Store(place, [*MIGRATIONS, BAD]).open()
    assert await read(place) == before
    store = Store(place, [*MIGRATIONS, MORE])
    await store.open()
    assert await _texts(store, "SELECT words FROM notes") == ["hello"]
    await store.close()


async def test_a_store_of_a_newer_version_is_refused_and_not_changed(place: str | Path) -> None:
    store = Store(place, [*MIGRATIONS, MORE])
    await store.open()
    await store.update_server("one", growing("one", "t"))
    before = await store.load_catalog()
    await store.close()
    with pytest.raises(StoreTooNewError):
        await open_store(place)
    store = Store(place, [*MIGRATIONS, MORE])
    await store.open()
    assert await store.load_catalog() == before
    await store.close()


def test_a_url_is_shown_without_the_password() -> None:
    url = "postgresql+psycopg://me:geheim@host/db?password=streng&sslmode=require"
    assert Store(url).location == "postgresql://me@host/db"


@pytest.mark.parametrize("url", ["geheim", "postgresql+psycopg://me:geheim@host:port/db"])
def test_a_url_that_is_none_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(StoreError) as caught:
        Store(url)
    assert "geheim" not in str(caught.value)


def test_a_database_that_cannot_be_reached_is_an_error_with_the_reason(run: Run, tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        run(open_store(f"postgresql+psycopg://me@/db?host={tmp_path}"))


async def test_a_store_says_what_is_in_it_and_that_it_can_be_written(store: Store) -> None:
    before = await store.status()
    assert (before.version, before.runs, before.calls, before.oldest) == (LATEST, 0, 0, None)
    await store.record(calls=[call(1), call(2)])
    after = await store.status()
    assert (after.runs, after.calls) == (0, 2)
    assert after.oldest is not None
    assert after.size_bytes >= before.size_bytes > 0
