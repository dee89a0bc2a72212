"""The store in SQL: SQLite in the user's data folder, or a PostgreSQL that several gateways share."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from halflap.core.errors import StoreError
from halflap.store import knowledge, lineage, rows, sqlite_file, traces
from halflap.store.database import Database
from halflap.store.records import Purged, ServerRows, StoredCatalog, StoredServer, StoreStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.graph.lineage import Lineage
    from halflap.learn import Learned
    from halflap.store.records import (
        Activity,
        Breach,
        CallRecord,
        DriftEvent,
        RunRecord,
        StoredShape,
        ToolKey,
        WatermarkChange,
    )
    from halflap.store.transaction import Transaction

__all__ = ["Store"]

_SALT_BYTES = 32
_ID_BYTES = 16


class Store(Database):
    """Keeps the catalogue, runs, calls and what was learned. Every method may raise `StoreError`."""

    # The catalogue

    async def load_catalog(self) -> StoredCatalog:
        return await self._read(_read_catalog)

    async def update_server(self, server: str, change: Callable[[ServerRows], ServerRows]) -> ServerRows:
        """Change one server's rows in one transaction. `change` is pure and may run more than once."""
        return await self._write(_update_server, server, change)

    # Runs and calls

    async def record(self, *, calls: Sequence[CallRecord] = (), runs: Sequence[RunRecord] = ()) -> None:
        """Write calls and runs in one transaction; existing ones are replaced.

        Once this returns, the records survive the end of this process. With SQLite, the last moments may not survive
        a power failure.
        """
        if calls or runs:
            await self._read(traces.write, calls, runs)

    async def recent_calls(
        self,
        limit: int,
        *,
        server: str | None = None,
        tool: str | None = None,
        principal: str | None = None,
        values: bool = True,
    ) -> Sequence[CallRecord]:
        """Return the newest calls, newest first; `tool` is the server's own name. Arguments and results may be large."""
        without = () if values else traces.VALUES
        return await self._read(
            traces.newest_calls, limit, without, server=server, tool=tool, principal=principal
        )

    async def call(self, identifier: str, *, principal: str | None = None) -> CallRecord | None:
        return await self._read(traces.find_call, identifier, principal)

    async def activity(
        self, since: float, span_seconds: float, spans: int, *, output_limit: int, principal: str | None
    ) -> Activity:
        """Count the calls in each span since a time. Of a run's output, the model read at most `output_limit`."""
        return await self._read(
            traces.activity, since, span_seconds, spans, output_limit=output_limit, principal=principal
        )

    async def small_results(self, max_bytes: int, limit: int) -> Sequence[CallRecord]:
        """Return the newest successful calls with a recorded result up to this size, without their arguments."""
        return await self._read(traces.small_results, max_bytes, limit)

    async def runs(
        self, limit: int, *, principal: str | None = None, before: float | None = None
    ) -> Sequence[RunRecord]:
        """Return the newest runs, newest first, without their output."""
        return await self._read(traces.newest_runs, limit, principal, before)

    async def run(self, identifier: str, *, principal: str | None = None) -> RunRecord | None:
        """Return the run whose identifier is or begins with this one; `UsageError` if several do."""
        return await self._read(traces.find_run, identifier, principal)

    async def calls_of_run(self, identifier: str, *, values: bool = True) -> Sequence[CallRecord]:
        """Return the calls of a run in their order."""
        return await self._read(traces.calls_of_run, identifier, () if values else traces.VALUES)

    async def latencies(self) -> Mapping[tuple[str, str], float]:
        """Return the median duration of recent calls in milliseconds, by server and tool."""
        return await self._read(traces.latencies)

    async def purge(
        self, *, older_than: float | None = None, keep_bytes: int | None = None, everything: bool = False
    ) -> Purged:
        """Delete runs and calls, oldest first, and free their space on disk."""
        gone = Purged()
        if everything:
            gone += await self._delete(None)
        if older_than is not None:
            gone += await self._delete(older_than)
        if keep_bytes is not None:
            limit = await self._read(traces.oldest_to_keep, keep_bytes)
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
        while some := await self._read(traces.delete_batch, before):
            gone += some
        return gone

    def _release_space(self) -> bool:
        return sqlite_file.release_space(self._connection)

    def _vacuum(self) -> None:
        self._connection.execute("VACUUM runs, calls")

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
        """Merge what an origin learned, in one transaction with how far it has read.

        `observed_calls` are recorded calls that `shapes` rest on. If any of them was learned from before, nothing is
        added and those are returned: try again without them. `sources` are watermarks of what was read; if another
        process has moved one of them, nothing is added and `StoreAheadError` is raised. `check` receives all
        watermarks in the same transaction; if it raises, nothing is added.
        """
        marks = {} if watermark is None else {origin: watermark}
        if not (shapes or observed_calls or sources or marks or lineage is not None):
            return frozenset()
        return await self._write(
            knowledge.add,
            origin,
            shapes,
            flows=lineage,
            marks=marks,
            calls=observed_calls,
            sources=sources or {},
            check=check,
        )

    async def replace_learned(
        self, origin: str, shapes: Mapping[ToolKey, Learned], lineage: Lineage | None = None
    ) -> None:
        """Replace what is stored of another installation, except where that rests on more results."""
        await self._write(knowledge.replace, origin, shapes, lineage)

    async def forget_learned(
        self,
        origin: str | None = None,
        server: str | None = None,
        tool: str | None = None,
        *,
        update_watermark: Callable[[str, str], str | None] | None = None,
    ) -> Sequence[tuple[str, ToolKey]]:
        """Delete what an origin and its sub-origins (`origin:…`) learned about tools, and return what was deleted.

        `update_watermark` receives every origin and watermark in the same transaction, and returns the new watermark or
        None to delete it. The drift of a tool goes with the last that is known about it.
        """
        return await self._write(knowledge.forget, origin, server, tool, update_watermark)

    async def drop_values(self) -> int:
        """Delete the example values kept with `learning.values`; returns from how many rows."""
        return await self._write(knowledge.drop_values)

    async def learned(self, *, server: str | None = None, tool: str | None = None) -> Sequence[StoredShape]:
        """Return what every origin learned; `tool` is the server's own name."""
        return await self._read(knowledge.read_shapes, server, tool)

    async def watermarks(self) -> Mapping[str, str]:
        """Return every origin with its watermark, empty where it has none."""
        return await self._read(knowledge.read_watermarks)

    async def unobserved_calls(self, after: str | None, limit: int) -> Sequence[CallRecord]:
        """Return calls with results that nothing was learned from yet, oldest first; `after` is a call's identifier."""
        return await self._read(traces.unobserved_calls, after, limit)

    async def add_breaches(self, breaches: Sequence[Breach]) -> None:
        """Store breaches; the times of known ones are added up."""
        if breaches:
            await self._write(knowledge.add_breaches, breaches)

    async def breaches(self) -> Sequence[Breach]:
        return await self._read(knowledge.read_breaches)

    async def add_drift(self, events: Sequence[DriftEvent]) -> None:
        """Store drift; of a known event the first time is kept."""
        if events:
            await self._write(knowledge.add_drift, events)

    async def drift(self, *, server: str | None = None, tool: str | None = None) -> Sequence[DriftEvent]:
        """Return drift, newest first."""
        return await self._read(knowledge.read_drift, server, tool)

    # Data flow

    async def lineage(self) -> Mapping[str, Lineage]:
        """Return where each origin saw values go; its tools are `ToolKey`s."""
        return await self._read(lineage.read_lineage)

    # The installation

    async def salt(self) -> bytes:
        """Return this installation's secret for digests of arguments."""
        return bytes.fromhex(await self._write(rows.random_value, "salt", _SALT_BYTES))

    async def installation_id(self) -> str:
        """Return a random identifier of this installation."""
        return await self._write(rows.random_value, "id", _ID_BYTES)

    async def add_counters(self, counters: Mapping[str, float]) -> None:
        """Add to counters that last over all runs of the gateway."""
        await self._write(rows.add_counters, counters)

    async def counters(self) -> Mapping[str, float]:
        return await self._read(rows.read_counters)

    async def status(self) -> StoreStatus:
        """Check that the store can be written to, and return its version and size."""
        return await self._write(self._status)

    def _status(self, transaction: Transaction) -> StoreStatus:
        # Writing something is the only proof that the store can be written to.
        rows.upsert(transaction, "meters", [{"name": "looked_at", "value": time.time()}])
        counts = transaction.select(
            """
            SELECT
                (SELECT count(*) FROM runs) AS runs,
                (SELECT count(*) FROM calls) AS calls,
                (SELECT count(*) FROM (SELECT DISTINCT server, tool, definition_hash FROM learned) AS t) AS learned,
                (SELECT min(started_at) FROM (
                    SELECT min(started_at) AS started_at FROM runs UNION ALL SELECT min(started_at) FROM calls
                ) AS times) AS oldest
            """
        )
        return StoreStatus(
            version=self._version(transaction), size_bytes=self._size(transaction), **counts[0]
        )

    def _size(self, transaction: Transaction) -> int:
        if self._file is not None:
            return sqlite_file.size_on_disk(self._file)
        if self._is_sqlite:
            query = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
            return int(transaction.scalar(query))
        # Not the whole database, which may be shared with other programs.
        size = "SELECT coalesce(pg_total_relation_size(to_regclass(:name)), 0)"
        return sum(transaction.scalar(size, name=name) for name in rows.TABLES)


def _read_catalog(transaction: Transaction) -> StoredCatalog:
    servers = [StoredServer(**row) for row in transaction.select("SELECT * FROM servers")]
    stored = transaction.select("SELECT * FROM tools ORDER BY server, position")
    tools = [rows.read_tool(row) for row in stored]
    return StoredCatalog(
        {server.name: server for server in servers},
        tools,
        {tool.name: (tool.server, tool.original_name) for tool in tools},
    )


def _read_server(transaction: Transaction, name: str) -> ServerRows:
    servers = transaction.select("SELECT * FROM servers WHERE name = :name", name=name)
    tools = transaction.select("SELECT * FROM tools WHERE server = :name ORDER BY position", name=name)
    names = transaction.select("SELECT name, server, original_name FROM tools")
    return ServerRows(
        StoredServer(**servers[0]) if servers else None,
        [rows.read_tool(tool) for tool in tools],
        {row["name"]: (row["server"], row["original_name"]) for row in names},
    )


def _update_server(
    transaction: Transaction, name: str, change: Callable[[ServerRows], ServerRows]
) -> ServerRows:
    before = _read_server(transaction, name)
    after = change(before)
    if after.server is not None and after.server != before.server:
        rows.upsert(transaction, "servers", [rows.row_of(after.server)])
    stored = {tool.original_name: tool for tool in before.tools}
    changed = [tool for tool in after.tools if stored.get(tool.original_name) != tool]
    rows.upsert(transaction, "tools", [rows.tool_row(tool) for tool in changed])
    return after
