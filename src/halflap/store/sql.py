"""The store in SQL: SQLite in the user's data folder, or a PostgreSQL that several gateways share."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa

from halflap.core.errors import StoreError
from halflap.store import condition, files, flows, knowledge, tables, traces
from halflap.store.base import LIVE, Breach, Purged, ServerRows, StoredCatalog, StoredServer
from halflap.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.graph.lineage import Lineage
    from halflap.learn import Learned
    from halflap.store.base import (
        Advance,
        CallRecord,
        Condition,
        DriftEvent,
        RunRecord,
        StoredEdge,
        StoredShape,
        ToolKey,
    )

__all__ = ["SqlStore"]

_T = TypeVar("_T")

_SALT_BYTES = 32
_ID_BYTES = 16
_EDGES = "edges"


class SqlStore(Database):
    """A `Store`."""

    async def load_catalog(self) -> StoredCatalog:
        return await self._run(self._load_catalog)

    async def update_server(self, server: str, change: Callable[[ServerRows], ServerRows]) -> ServerRows:
        return await self._run(lambda: self._update_server(server, change))

    # Runs and calls ----------------------------------------------------------------------------------

    async def record(self, *, calls: Sequence[CallRecord] = (), runs: Sequence[RunRecord] = ()) -> None:
        if calls or runs:
            await self._run(lambda: self._record(calls, runs))

    async def record_calls(self, records: Sequence[CallRecord]) -> None:
        await self.record(calls=records)

    async def record_runs(self, records: Sequence[RunRecord]) -> None:
        await self.record(runs=records)

    async def breaches(self) -> Sequence[Breach]:
        return await self._ask(_breaches)

    async def add_breaches(self, breaches: Sequence[Breach]) -> None:
        if breaches:
            await self._run(lambda: self._add_breaches(breaches))

    async def recent_calls(self, limit: int) -> Sequence[CallRecord]:
        return await self._ask(lambda connection: traces.newest_calls(connection, limit))

    async def short_results(self, most_bytes: int, limit: int) -> Sequence[CallRecord]:
        return await self._ask(lambda connection: traces.short_results(connection, most_bytes, limit))

    async def runs(
        self, limit: int, *, principal: str | None = None, before: float | None = None
    ) -> Sequence[RunRecord]:
        return await self._ask(lambda connection: traces.newest_runs(connection, limit, principal, before))

    async def run(self, identifier: str, *, principal: str | None = None) -> RunRecord | None:
        return await self._ask(lambda connection: traces.find_run(connection, identifier, principal))

    async def calls_of_run(self, identifier: str) -> Sequence[CallRecord]:
        return await self._ask(lambda connection: traces.calls_of_run(connection, identifier))

    # What was learned --------------------------------------------------------------------------------

    async def add_learned(
        self,
        origin: str,
        shapes: Mapping[ToolKey, Learned],
        *,
        lineage: Lineage | None = None,
        watermark: str | None = None,
        observed_calls: Sequence[str] = (),
        sources: Mapping[str, Advance] | None = None,
        look: Callable[[Mapping[str, str]], None] | None = None,
    ) -> frozenset[str]:
        read = sources or {}

        def add(connection: sa.Connection) -> frozenset[str]:
            taken = knowledge.taken(connection, observed_calls)
            if taken:
                return taken
            knowledge.expect(connection, read, look)
            self._upsert(connection, tables.learned, knowledge.merged_rows(connection, origin, shapes))
            if lineage is not None:
                self._upsert(connection, tables.lineage, flows.added_rows(connection, origin, lineage))
            marks = {source: advance.now for source, advance in read.items()}
            if watermark is not None:
                marks[origin] = watermark
            rows = [{"origin": name, "watermark": mark} for name, mark in marks.items()]
            self._upsert(connection, tables.watermarks, rows)
            knowledge.mark_observed(connection, observed_calls)
            knowledge.note_values(connection, shapes.values())
            return taken

        if shapes or observed_calls or read or watermark is not None or lineage is not None:
            return await self._ask_alone(add)
        return frozenset()

    async def replace_learned(
        self, origin: str, shapes: Mapping[ToolKey, Learned], lineage: Lineage | None = None
    ) -> None:
        def put(connection: sa.Connection) -> None:
            self._upsert(connection, tables.learned, knowledge.newer_rows(connection, origin, shapes))
            knowledge.note_values(connection, shapes.values())
            if lineage is not None:
                self._upsert(connection, tables.lineage, flows.grown_rows(connection, origin, lineage))

        await self._ask_alone(put)

    async def forget_learned(
        self,
        origin: str | None = None,
        server: str | None = None,
        tool: str | None = None,
        *,
        remark: Callable[[str, str], str | None] | None = None,
    ) -> Sequence[tuple[str, ToolKey]]:
        def forget(connection: sa.Connection) -> Sequence[tuple[str, ToolKey]]:
            gone = knowledge.forget(connection, origin, server, tool)
            flows.forget(connection, origin, server, tool)
            if remark is not None:
                self._upsert(connection, tables.watermarks, knowledge.remark(connection, remark))
            return gone

        return await self._ask_alone(forget)

    async def drop_values(self) -> int:
        def drop(connection: sa.Connection) -> int:
            rows = knowledge.unvalued_rows(connection)
            self._upsert(connection, tables.learned, rows)
            return len(rows)

        return await self._ask_alone(drop) if await self._ask(knowledge.has_values) else 0

    async def learned(self, *, server: str | None = None, tool: str | None = None) -> Sequence[StoredShape]:
        return await self._ask(lambda connection: knowledge.shapes_of(connection, server, tool))

    async def lineage(self) -> Mapping[str, Lineage]:
        return await self._ask(flows.lineage_of)

    async def put_edges(
        self, edges: Sequence[StoredEdge], mark: str, *, of: Sequence[tuple[str, str]] | None = None
    ) -> None:
        rows = [flows.row_of_edge(edge) for edge in edges]

        def put(connection: sa.Connection) -> None:
            for statement in flows.without_edges_of(of):
                connection.execute(statement)
            self._upsert(connection, tables.edges, rows)
            self._upsert(connection, tables.installation, [{"name": _EDGES, "value": mark}])

        await self._ask_alone(put)

    async def edges_mark(self) -> str | None:
        return await self._ask(lambda connection: knowledge.kept(connection, _EDGES))

    async def add_meters(self, meters: Mapping[str, float]) -> None:
        await self._ask_alone(
            lambda connection: self._upsert(connection, tables.meters, flows.meter_rows(connection, meters))
        )

    async def meters(self) -> Mapping[str, float]:
        return await self._ask(flows.meters_of)

    async def condition(self) -> Condition:
        def look(connection: sa.Connection) -> Condition:
            self._upsert(connection, tables.meters, condition.looked_rows())
            size = None if self._file is None else files.size_on_disk(self._file)
            return condition.condition_of(connection, self._version(connection), size)

        return await self._ask_alone(look)

    async def edges(self) -> Sequence[StoredEdge]:
        return await self._ask(flows.edges_of)

    async def latencies(self) -> Mapping[tuple[str, str], float]:
        return await self._ask(flows.latencies_of)

    async def watermark(self, origin: str) -> str | None:
        return (await self.origins()).get(origin) or None

    async def origins(self) -> Mapping[str, str]:
        return await self._ask(knowledge.watermarks_of)

    async def unobserved_calls(self, after: str | None, limit: int) -> Sequence[CallRecord]:
        return await self._ask(lambda connection: traces.unobserved_calls(connection, after, limit))

    async def salt(self) -> bytes:
        made = await self._ask_alone(lambda connection: knowledge.kept_value(connection, "salt", _SALT_BYTES))
        return bytes.fromhex(made)

    async def installation(self) -> str:
        return await self._ask_alone(lambda connection: knowledge.kept_value(connection, "id", _ID_BYTES))

    async def add_drift(self, events: Sequence[DriftEvent]) -> None:
        def add(connection: sa.Connection) -> None:
            insert = self._insert(tables.drift).on_conflict_do_nothing()
            connection.execute(insert, [asdict(event) for event in events])

        if events:
            await self._ask_alone(add)

    async def drift(self, *, server: str | None = None, tool: str | None = None) -> Sequence[DriftEvent]:
        return await self._ask(lambda connection: knowledge.drift_of(connection, server, tool))

    # Taking out --------------------------------------------------------------------------------------

    async def purge(
        self, *, older_than: float | None = None, keep_bytes: int | None = None, everything: bool = False
    ) -> Purged:
        gone = Purged()
        if everything:
            gone += await self._delete(None)
        if older_than is not None:
            gone += await self._delete(older_than)
        if keep_bytes is not None:
            limit = await self._ask(lambda connection: traces.oldest_to_keep(connection, keep_bytes))
            if limit is not None:
                gone += await self._delete(limit)
        await self._release_space(some_went=bool(gone))
        return gone

    async def _delete(self, before: float | None) -> Purged:
        """Take out what began before a time, or all, a little at a time, so that others get their turn."""
        gone = Purged()
        while some := await self._ask(lambda connection: traces.delete_some(connection, before)):
            gone += some
        return gone

    async def _release_space(self, *, some_went: bool) -> None:
        """Give the space back. What is in use by others is given back another time."""
        with contextlib.suppress(StoreError):
            # Of a file also if nothing went: the last time, somebody may have been in the way.
            if self._file is not None:
                while await self._run(self._release_some):
                    pass
            elif some_went and not self._is_sqlite:
                await self._run(self._vacuum)

    async def _ask(self, question: Callable[[sa.Connection], _T]) -> _T:
        def work() -> _T:
            with self._transaction() as connection:
                return question(connection)

        return await self._run(work)

    async def _ask_alone(self, question: Callable[[sa.Connection], _T]) -> _T:
        """Ask for what changes something that others may be changing, too."""

        def work(connection: sa.Connection) -> _T:
            self._lock(connection)
            return question(connection)

        return await self._ask(work)

    # Everything below runs in the store's own thread.

    def _record(self, calls: Sequence[CallRecord], runs: Sequence[RunRecord]) -> None:
        self._put(
            (tables.runs, [tables.row_of_run(record) for record in runs]),
            (tables.calls, [tables.row_of_call(record) for record in calls]),
        )

    def _add_breaches(self, breaches: Sequence[Breach]) -> None:
        with self._transaction() as connection:
            self._lock(connection)
            known = {_key(one): one for one in _breaches(connection)}
            self._upsert(
                connection, tables.breaches, [asdict(_again(known.get(_key(one)), one)) for one in breaches]
            )

    def _release_some(self) -> bool:
        with self._plain() as connection:
            return files.release_space(connection)

    def _vacuum(self) -> None:
        with self._opened().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM runs, calls")

    def _load_catalog(self) -> StoredCatalog:
        with self._transaction() as connection:
            servers = [
                StoredServer(**row) for row in connection.execute(sa.select(tables.servers)).mappings()
            ]
            rows = connection.execute(sa.select(tables.tools).order_by("server", "position")).mappings()
            tools = [tables.read_tool(dict(row)) for row in rows]
        return StoredCatalog(
            {server.name: server for server in servers},
            tools,
            {tool.name: (tool.server, tool.original_name) for tool in tools},
        )

    def _update_server(self, name: str, change: Callable[[ServerRows], ServerRows]) -> ServerRows:
        with self._transaction() as connection:
            self._lock(connection)
            before = _server_rows(connection, name)
            after = change(before)
            if after.server is not None and after.server != before.server:
                self._upsert(connection, tables.servers, [asdict(after.server)])
            known = {tool.original_name: tool for tool in before.tools}
            self._upsert(
                connection,
                tables.tools,
                [tables.row_of_tool(tool) for tool in after.tools if known.get(tool.original_name) != tool],
            )
            return after


def _breaches(connection: sa.Connection) -> list[Breach]:
    rows = connection.execute(sa.select(tables.breaches).order_by("first_at")).mappings()
    return [Breach(**row) for row in rows]


def _key(one: Breach) -> tuple[str, ...]:
    return one.server, one.tool, one.definition_hash, one.path


def _again(known: Breach | None, one: Breach) -> Breach:
    if known is None:
        return one
    return replace(
        one,
        first_at=min(known.first_at, one.first_at),
        last_at=max(known.last_at, one.last_at),
        times=known.times + one.times,
        origin=LIVE if LIVE in {known.origin, one.origin} else one.origin,
    )


def _server_rows(connection: sa.Connection, name: str) -> ServerRows:
    servers, tools = tables.servers, tables.tools
    row = connection.execute(sa.select(servers).where(servers.c.name == name)).mappings().first()
    own = connection.execute(sa.select(tools).where(tools.c.server == name).order_by("position")).mappings()
    names = connection.execute(sa.select(tools.c.name, tools.c.server, tools.c.original_name))
    return ServerRows(
        None if row is None else StoredServer(**row),
        [tables.read_tool(dict(tool)) for tool in own],
        {taken: (server, original) for taken, server, original in names},
    )
