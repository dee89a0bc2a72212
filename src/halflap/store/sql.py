"""The store in SQL: SQLite in the user's data folder, or a PostgreSQL that several gateways share."""

from __future__ import annotations

import contextlib
import operator
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from halflap.core.errors import StoreError
from halflap.store import knowledge, lineage, sqlite_file, tables, traces
from halflap.store.database import Database
from halflap.store.records import Purged, ServerRows, StoredCatalog, StoredServer, StoreStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.graph.lineage import Lineage
    from halflap.learn import Learned
    from halflap.store.records import (
        Breach,
        CallRecord,
        DriftEvent,
        RunRecord,
        StoredEdge,
        StoredShape,
        ToolKey,
        WatermarkChange,
    )

__all__ = ["SqlStore"]

_T = TypeVar("_T")

_SALT_BYTES = 32
_ID_BYTES = 16
_EDGES_VERSION = "edges"


class SqlStore(Database):
    """A `Store`."""

    async def load_catalog(self) -> StoredCatalog:
        return await self._transact(_read_catalog)

    async def update_server(self, server: str, change: Callable[[ServerRows], ServerRows]) -> ServerRows:
        def update(connection: sa.Connection) -> ServerRows:
            before = _read_server(connection, server)
            after = change(before)
            if after.server is not None and after.server != before.server:
                self._upsert(connection, tables.servers, [asdict(after.server)])
            stored = {tool.original_name: tool for tool in before.tools}
            changed = [tool for tool in after.tools if stored.get(tool.original_name) != tool]
            self._upsert(connection, tables.tools, [tables.tool_row(tool) for tool in changed])
            return after

        return await self._transact_alone(update)

    # Runs and calls

    async def record(self, *, calls: Sequence[CallRecord] = (), runs: Sequence[RunRecord] = ()) -> None:
        def write() -> None:
            self._write_rows(
                (tables.runs, [tables.run_row(record) for record in runs]),
                (tables.calls, [tables.call_row(record) for record in calls]),
            )

        if calls or runs:
            await self._run(write)

    async def recent_calls(self, limit: int) -> Sequence[CallRecord]:
        return await self._transact(lambda connection: traces.newest_calls(connection, limit))

    async def small_results(self, max_bytes: int, limit: int) -> Sequence[CallRecord]:
        return await self._transact(lambda connection: traces.small_results(connection, max_bytes, limit))

    async def runs(
        self, limit: int, *, principal: str | None = None, before: float | None = None
    ) -> Sequence[RunRecord]:
        return await self._transact(
            lambda connection: traces.newest_runs(connection, limit, principal, before)
        )

    async def run(self, identifier: str, *, principal: str | None = None) -> RunRecord | None:
        return await self._transact(lambda connection: traces.find_run(connection, identifier, principal))

    async def calls_of_run(self, identifier: str) -> Sequence[CallRecord]:
        return await self._transact(lambda connection: traces.calls_of_run(connection, identifier))

    async def latencies(self) -> Mapping[tuple[str, str], float]:
        return await self._transact(traces.latencies)

    async def purge(
        self, *, older_than: float | None = None, keep_bytes: int | None = None, everything: bool = False
    ) -> Purged:
        gone = Purged()
        if everything:
            gone += await self._delete(None)
        if older_than is not None:
            gone += await self._delete(older_than)
        if keep_bytes is not None:
            limit = await self._transact(lambda connection: traces.oldest_to_keep(connection, keep_bytes))
            if limit is not None:
                gone += await self._delete(limit)
        # Space in use by other processes is freed another time.
        with contextlib.suppress(StoreError):
            if self._file is not None:
                while await self._run(self._release_space):
                    pass
            elif gone and not self._is_sqlite:
                await self._run(self._vacuum)
        return gone

    async def _delete(self, before: float | None) -> Purged:
        """Delete in batches, so that others get their turn."""
        gone = Purged()
        while some := await self._transact(lambda connection: traces.delete_batch(connection, before)):
            gone += some
        return gone

    def _release_space(self) -> bool:
        with self._raw_connection() as connection:
            return sqlite_file.release_space(connection)

    def _vacuum(self) -> None:
        with self._opened().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM runs, calls")

    # What was learned

    async def add_learned(
        self,
        origin: str,
        shapes: Mapping[ToolKey, Learned],
        *,
        lineage: Lineage | None = None,
        watermark: str | None = None,
        observed_calls: Sequence[str] = (),
        sources: Mapping[str, WatermarkChange] | None = None,
        check: Callable[[Mapping[str, str]], None] | None = None,
    ) -> frozenset[str]:
        read = sources or {}

        def add(connection: sa.Connection) -> frozenset[str]:
            taken = knowledge.already_observed(connection, observed_calls)
            if taken:
                return taken
            knowledge.check_watermarks(connection, read, check)
            self._upsert(connection, tables.learned, knowledge.merged_rows(connection, origin, shapes))
            self._upsert_lineage(connection, origin, lineage, operator.add)
            marks = {source: change.now for source, change in read.items()}
            if watermark is not None:
                marks[origin] = watermark
            rows = [{"origin": name, "watermark": mark} for name, mark in marks.items()]
            self._upsert(connection, tables.watermarks, rows)
            knowledge.mark_observed(connection, observed_calls)
            knowledge.note_values(connection, shapes.values())
            return taken

        if shapes or observed_calls or read or watermark is not None or lineage is not None:
            return await self._transact_alone(add)
        return frozenset()

    async def replace_learned(
        self, origin: str, shapes: Mapping[ToolKey, Learned], lineage: Lineage | None = None
    ) -> None:
        def replace(connection: sa.Connection) -> None:
            rows = knowledge.rows_resting_on_more(connection, origin, shapes)
            self._upsert(connection, tables.learned, rows)
            knowledge.note_values(connection, shapes.values())
            # Counts only grow, so of two states the greater ones contain the others.
            self._upsert_lineage(connection, origin, lineage, max)

        await self._transact_alone(replace)

    def _upsert_lineage(
        self,
        connection: sa.Connection,
        origin: str,
        new: Lineage | None,
        combine: Callable[[int, int], int],
    ) -> None:
        if new is not None:
            rows = lineage.lineage_rows(connection, origin, new, combine)
            self._upsert(connection, tables.lineage, rows)

    async def forget_learned(
        self,
        origin: str | None = None,
        server: str | None = None,
        tool: str | None = None,
        *,
        update_watermark: Callable[[str, str], str | None] | None = None,
    ) -> Sequence[tuple[str, ToolKey]]:
        def forget(connection: sa.Connection) -> Sequence[tuple[str, ToolKey]]:
            gone = knowledge.forget(connection, origin, server, tool)
            lineage.forget(connection, origin, server, tool)
            if update_watermark is not None:
                rows = knowledge.changed_watermarks(connection, update_watermark)
                self._upsert(connection, tables.watermarks, rows)
            return gone

        return await self._transact_alone(forget)

    async def drop_values(self) -> int:
        def drop(connection: sa.Connection) -> int:
            rows = knowledge.rows_without_values(connection)
            self._upsert(connection, tables.learned, rows)
            return len(rows)

        return await self._transact_alone(drop) if await self._transact(knowledge.has_values) else 0

    async def learned(self, *, server: str | None = None, tool: str | None = None) -> Sequence[StoredShape]:
        return await self._transact(lambda connection: knowledge.read_shapes(connection, server, tool))

    async def watermarks(self) -> Mapping[str, str]:
        return await self._transact(knowledge.read_watermarks)

    async def unobserved_calls(self, after: str | None, limit: int) -> Sequence[CallRecord]:
        return await self._transact(lambda connection: traces.unobserved_calls(connection, after, limit))

    async def add_breaches(self, breaches: Sequence[Breach]) -> None:
        def add(connection: sa.Connection) -> None:
            self._upsert(connection, tables.breaches, knowledge.breach_rows(connection, breaches))

        if breaches:
            await self._transact_alone(add)

    async def breaches(self) -> Sequence[Breach]:
        return await self._transact(knowledge.read_breaches)

    async def add_drift(self, events: Sequence[DriftEvent]) -> None:
        def add(connection: sa.Connection) -> None:
            insert = self._insert(tables.drift).on_conflict_do_nothing()
            connection.execute(insert, [asdict(event) for event in events])

        if events:
            await self._transact_alone(add)

    async def drift(self, *, server: str | None = None, tool: str | None = None) -> Sequence[DriftEvent]:
        return await self._transact(lambda connection: knowledge.read_drift(connection, server, tool))

    # Data flow

    async def lineage(self) -> Mapping[str, Lineage]:
        return await self._transact(lineage.read_lineage)

    async def replace_edges(
        self, edges: Sequence[StoredEdge], version: str, *, tools: Sequence[tuple[str, str]] | None = None
    ) -> None:
        rows = [lineage.edge_row(edge) for edge in edges]

        def replace(connection: sa.Connection) -> None:
            lineage.delete_edges(connection, tools)
            self._upsert(connection, tables.edges, rows)
            self._upsert(connection, tables.installation, [{"name": _EDGES_VERSION, "value": version}])

        await self._transact_alone(replace)

    async def edges_version(self) -> str | None:
        return await self._transact(lambda connection: knowledge.read_value(connection, _EDGES_VERSION))

    async def edges(self) -> Sequence[StoredEdge]:
        return await self._transact(lineage.read_edges)

    # The installation

    async def salt(self) -> bytes:
        return bytes.fromhex(
            await self._transact_alone(
                lambda connection: knowledge.random_value(connection, "salt", _SALT_BYTES)
            )
        )

    async def installation_id(self) -> str:
        return await self._transact_alone(
            lambda connection: knowledge.random_value(connection, "id", _ID_BYTES)
        )

    async def add_counters(self, counters: Mapping[str, float]) -> None:
        def add(connection: sa.Connection) -> None:
            self._upsert(connection, tables.counters, knowledge.counter_rows(connection, counters))

        await self._transact_alone(add)

    async def counters(self) -> Mapping[str, float]:
        return await self._transact(knowledge.read_counters)

    async def status(self) -> StoreStatus:
        def check(connection: sa.Connection) -> StoreStatus:
            # Writing something is the only proof that the store can be written to.
            self._upsert(connection, tables.counters, [{"name": "looked_at", "value": time.time()}])
            known = sa.select(
                tables.learned.c.server, tables.learned.c.tool, tables.learned.c.definition_hash
            )
            times = [
                connection.scalar(sa.select(sa.func.min(table.c.started_at)))
                for table in (tables.runs, tables.calls)
            ]
            return StoreStatus(
                version=self._version(connection),
                size_bytes=self._size(connection),
                runs=_count(connection, tables.runs),
                calls=_count(connection, tables.calls),
                learned=_count(connection, known.distinct().subquery()),
                oldest=min((float(one) for one in times if one is not None), default=None),
            )

        return await self._transact_alone(check)

    async def _transact(self, work: Callable[[sa.Connection], _T]) -> _T:
        def transaction() -> _T:
            with self._transaction() as connection:
                return work(connection)

        return await self._run(transaction)

    async def _transact_alone(self, work: Callable[[sa.Connection], _T]) -> _T:
        """Run a transaction that reads what it changes, while no other process may change it."""

        def locked(connection: sa.Connection) -> _T:
            self._lock(connection)
            return work(connection)

        return await self._transact(locked)


def _count(connection: sa.Connection, table: Any) -> int:
    return int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)


def _read_catalog(connection: sa.Connection) -> StoredCatalog:
    servers = [StoredServer(**row) for row in connection.execute(sa.select(tables.servers)).mappings()]
    rows = connection.execute(sa.select(tables.tools).order_by("server", "position")).mappings()
    tools = [tables.read_tool(dict(row)) for row in rows]
    return StoredCatalog(
        {server.name: server for server in servers},
        tools,
        {tool.name: (tool.server, tool.original_name) for tool in tools},
    )


def _read_server(connection: sa.Connection, name: str) -> ServerRows:
    servers, tools = tables.servers, tables.tools
    row = connection.execute(sa.select(servers).where(servers.c.name == name)).mappings().first()
    own = connection.execute(sa.select(tools).where(tools.c.server == name).order_by("position")).mappings()
    names = connection.execute(sa.select(tools.c.name, tools.c.server, tools.c.original_name))
    return ServerRows(
        None if row is None else StoredServer(**row),
        [tables.read_tool(dict(tool)) for tool in own],
        {taken: (server, original) for taken, server, original in names},
    )
