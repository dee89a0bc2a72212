"""Rows to put into a store, and a program that puts many of them into one: `rows.py PLACE SERVER ROUNDS`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.catalog import choose_name
from halflap.store import CallRecord, RunRecord, ServerRows, StoredServer, StoredTool
from halflap.store.migrations import MIGRATIONS
from halflap.store.store import Store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from halflap.store.migrations import Migration

DEFINITION: dict[str, Any] = {
    "name": "t",
    "description": "A tool.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
}


@asynccontextmanager
async def opened(
    place: str | Path | None, migrations: Sequence[Migration] = MIGRATIONS
) -> AsyncIterator[Store]:
    store = Store(place, migrations)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def server(name: str = "one", **more: Any) -> StoredServer:
    return StoredServer(name, "fingerprint", 1_000.5, **more)


def tool(
    original: str = "t",
    of: str = "one",
    *,
    name: str | None = None,
    definition: Mapping[str, Any] = DEFINITION,
    accepted: Mapping[str, Any] | None = None,
    position: int = 0,
    removed: bool = False,
) -> StoredTool:
    return StoredTool(
        server=of,
        original_name=original,
        name=name or f"mcp__{of}__{original}",
        definition=definition,
        hash="new" if accepted else "same",
        accepted=accepted or definition,
        accepted_hash="old" if accepted else "same",
        first_seen=1.25,
        last_seen=2.5,
        position=position,
        removed=removed,
    )


def call(number: int, **more: Any) -> CallRecord:
    record = CallRecord(
        id=f"{number:08}",
        run=None,
        parent=None,
        principal="local",
        server="one",
        tool="t",
        definition_hash="hash",
        started_at=float(number),
        duration_ms=1.5,
        outcome="ok",
        argument_bytes=2,
        result_bytes=3,
    )
    return replace(record, **more)


def run_of(number: int, **more: Any) -> RunRecord:
    record = RunRecord(
        id=f"{number:08}",
        principal="local",
        kind="program",
        name=None,
        code="print(1)",
        code_hash="hash",
        started_at=float(number),
        duration_ms=2.5,
        outcome="ok",
        output="1",
        output_bytes=1,
    )
    return replace(record, **more)


def putting(kept: StoredServer, *tools: StoredTool) -> Callable[[ServerRows], ServerRows]:
    return lambda before: ServerRows(kept, tools, before.names)


def noting(seen: list[ServerRows]) -> Callable[[ServerRows], ServerRows]:
    """Change nothing; note what there is."""

    def change(before: ServerRows) -> ServerRows:
        seen.append(before)
        return before

    return change


def growing(of: str, original: str) -> Callable[[ServerRows], ServerRows]:
    """Add one tool under the first name that is free."""

    def change(before: ServerRows) -> ServerRows:
        # All servers want the same plain names.
        name = choose_name("shared", original, before.names)
        new = tool(original, of, name=name, position=len(before.tools))
        return ServerRows(server(of), [*before.tools, new], before.names)

    return change


async def hammer(store: Store, of: str, rounds: int) -> None:
    for number in range(rounds):
        await store.update_server(of, growing(of, f"t{number}"))
        await store.record(calls=[call(number, id=f"{of}-{number}")])


async def main(place: str, of: str, rounds: int) -> None:
    async with opened(place if "://" in place else Path(place)) as store:
        sys.stdout.write("open\n")
        sys.stdout.flush()
        await hammer(store, of, rounds)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
