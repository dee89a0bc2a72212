"""The store: SQLite in the user's data folder, or a PostgreSQL that several gateways share."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Collection, Mapping

from halflap.store import sqlite_file
from halflap.store.database import exclusive, transactional
from halflap.store.knowledge import KnowledgeStore
from halflap.store.records import ServerRows, StoredCatalog, StoredServer, StoredTool, StoreStatus
from halflap.store.sql import KEYS, Row, Transaction, row_of, upsert
from halflap.store.traces import TraceStore

_SALT_BYTES = 32
_ID_BYTES = 16


class Store(TraceStore, KnowledgeStore):
    """Keeps the catalogue, runs, calls and what was learned. Every method may raise `StoreError`."""

    # The catalogue

    @transactional
    def load_catalog(self, transaction: Transaction) -> StoredCatalog:
        servers = [StoredServer(**row) for row in transaction.select("SELECT * FROM servers")]
        rows = transaction.select("SELECT * FROM tools ORDER BY server, position")
        tools = [_read_tool(row) for row in rows]
        return StoredCatalog(
            {server.name: server for server in servers},
            tools,
            {tool.name: (tool.server, tool.original_name) for tool in tools},
        )

    @exclusive
    def update_server(
        self, transaction: Transaction, server: str, change: Callable[[ServerRows], ServerRows]
    ) -> ServerRows:
        """Change one server's rows in one transaction; removed tools that `change` leaves out are deleted.

        `change` is pure and may run more than once.
        """
        before = _read_server(transaction, server)
        after = change(before)
        if after.server is not None and after.server != before.server:
            upsert(transaction, "servers", [row_of(after.server)])
        stored = {tool.original_name: tool for tool in before.tools}
        changed = [tool for tool in after.tools if stored.get(tool.original_name) != tool]
        upsert(transaction, "tools", [_tool_row(tool) for tool in changed])
        kept = {tool.original_name for tool in after.tools}
        transaction.run_many(
            "DELETE FROM tools WHERE server = :server AND original_name = :name",
            [{"server": server, "name": name} for name in stored if name not in kept],
        )
        return after

    @exclusive
    def forget_removed(self, transaction: Transaction, before: float, names: Collection[str] = ()) -> int:
        """Delete tools last offered before a time, except those with recorded calls or one of these names."""
        found = transaction.select(
            """
            SELECT server, original_name, name FROM tools WHERE removed = 1 AND last_seen < :before AND NOT EXISTS (
                SELECT 1 FROM calls WHERE calls.server = tools.server AND calls.tool = tools.original_name
            )
            """,
            before=before,
        )
        gone = [row for row in found if row.pop("name") not in names]
        transaction.run_many(
            "DELETE FROM tools WHERE server = :server AND original_name = :original_name", gone
        )
        return len(gone)

    # The installation

    async def salt(self) -> bytes:
        """Return this installation's secret for digests of arguments."""
        return bytes.fromhex(await self._random_value("salt", _SALT_BYTES))

    async def installation_id(self) -> str:
        """Return a random identifier of this installation."""
        return await self._random_value("id", _ID_BYTES)

    @exclusive
    def _random_value(self, transaction: Transaction, name: str, size: int) -> str:
        """Return a value that is generated once, in hexadecimal."""
        value = secrets.token_hex(size)
        upsert(transaction, "installation", [{"name": name, "value": value}], replace=False)
        return str(transaction.scalar("SELECT value FROM installation WHERE name = :name", name=name))

    @transactional
    def add_counters(self, transaction: Transaction, counters: Mapping[str, float]) -> None:
        """Add to counters that last over all runs of the gateway."""
        transaction.run_many(
            "INSERT INTO meters (name, value) VALUES (:name, :value) "
            "ON CONFLICT (name) DO UPDATE SET value = meters.value + excluded.value",
            [{"name": name, "value": float(value)} for name, value in counters.items()],
        )

    @transactional
    def counters(self, transaction: Transaction) -> Mapping[str, float]:
        rows = transaction.select("SELECT name, value FROM meters ORDER BY name")
        return {row["name"]: row["value"] for row in rows}

    @transactional
    def check_writable(self, transaction: Transaction) -> None:
        _touch(transaction)

    @exclusive
    def status(self, transaction: Transaction) -> StoreStatus:
        """Check that the store can be written to, and return its version and size."""
        _touch(transaction)
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
        return sum(transaction.scalar(size, name=name) for name in KEYS)


def _touch(transaction: Transaction) -> None:
    """Write something, which is the only proof that the store can be written to."""
    upsert(transaction, "meters", [{"name": "looked_at", "value": time.time()}])


def _read_server(transaction: Transaction, name: str) -> ServerRows:
    servers = transaction.select("SELECT * FROM servers WHERE name = :name", name=name)
    tools = transaction.select("SELECT * FROM tools WHERE server = :name ORDER BY position", name=name)
    names = transaction.select("SELECT name, server, original_name FROM tools")
    return ServerRows(
        StoredServer(**servers[0]) if servers else None,
        [_read_tool(tool) for tool in tools],
        {row["name"]: (row["server"], row["original_name"]) for row in names},
    )


def _tool_row(tool: StoredTool) -> Row:
    definition, accepted = json.dumps(tool.definition), json.dumps(tool.accepted)
    return {**row_of(tool), "definition": definition, "accepted": accepted}


def _read_tool(row: Row) -> StoredTool:
    definition = json.loads(row["definition"])
    is_same = row["hash"] == row["accepted_hash"]
    accepted = definition if is_same else json.loads(row["accepted"])
    return StoredTool(
        **{**row, "definition": definition, "accepted": accepted, "removed": bool(row["removed"])}
    )
