"""The store in SQL: SQLite in the user's data folder, or a PostgreSQL that several gateways share."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sqlite3
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import StaticPool

from halflap.errors import StoreBrokenError, StoreError, StoreTooNewError
from halflap.store.base import CallRecord, ServerRows, StoredCatalog, StoredServer, StoredTool
from halflap.store.migrations import MIGRATIONS, Migration

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["SqlStore"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_BUSY_SECONDS = 10
_BACKUPS = 3
_PRIVATE = 0o600
_LOCK = 0x48414C46
"""The advisory lock under which a shared store is changed."""

_metadata = sa.MetaData()
_versions = sa.Table(
    "halflap_version",
    _metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("at", sa.Double, nullable=False),
)


class _AnyText(sa.types.TypeDecorator[str]):
    r"""Text that may hold what databases refuse: NUL characters and lone surrogates.

    Servers and callers can send both. They are written as `\uXXXX`, and a backslash as two.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        del dialect
        return None if value is None else _ODD.sub(_escape, value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> str | None:
        del dialect
        return None if value is None else _ESCAPED.sub(_unescape, value)


_ODD = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(\\|u[0-9a-f]{4})")


def _escape(match: re.Match[str]) -> str:
    return "\\\\" if match[0] == "\\" else f"\\u{ord(match[0]):04x}"


def _unescape(match: re.Match[str]) -> str:
    return "\\" if match[1] == "\\" else chr(int(match[1][1:], 16))


def _table(name: str, values: type) -> Any:
    """Name a table whose columns are a value's fields; the migrations say what it really looks like."""
    return sa.table(
        name,
        *(
            sa.column(field.name, _AnyText if str(field.type).startswith("str") else None)
            for field in fields(values)
        ),
    )


_servers = _table("servers", StoredServer)
_tools = _table("tools", StoredTool)
_calls = _table("calls", CallRecord)
_KEYS = {"servers": ("name",), "tools": ("server", "original_name"), "calls": ("id",)}


class SqlStore:
    """A `Store`. All its work is done in one thread of its own, so that it never holds up the loop."""

    def __init__(self, url: str | Path | None, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._file = url if isinstance(url, Path) else None
        self._url = _url(url)
        self._migrations = migrations
        self._engine: sa.Engine | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="halflap-store")
        self._closed = False

    @property
    def place(self) -> str:
        if self._file is not None:
            return str(self._file)
        if self._in_memory:
            return "memory"
        # A password may stand in the query as well.
        return self._url.set(query={}).render_as_string(hide_password=True)

    async def open(self) -> None:
        """Create or migrate it. Refuses what a newer Halflap wrote, and what is damaged."""
        try:
            await self._run(self._open)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        disposed = asyncio.get_running_loop().run_in_executor(self._thread, self._dispose)
        # Whatever is queued is done first.
        self._thread.shutdown(wait=False)
        await disposed

    async def load_catalog(self) -> StoredCatalog:
        return await self._run(self._load_catalog)

    async def update_server(self, server: str, change: Callable[[ServerRows], ServerRows]) -> ServerRows:
        return await self._run(lambda: self._update_server(server, change))

    async def record_calls(self, records: Sequence[CallRecord]) -> None:
        if records:
            await self._run(lambda: self._upsert_all(_calls, [asdict(record) for record in records]))

    async def recent_calls(self, limit: int) -> Sequence[CallRecord]:
        query = sa.select(_calls).order_by(sa.desc("started_at"), sa.desc("id")).limit(limit)
        rows = await self._run(lambda: self._select(query))
        return [CallRecord(**row) for row in rows]

    async def _run(self, work: Callable[[], _T]) -> _T:
        if self._closed:
            raise StoreError(f"The store {self.place} is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._explained, work)

    def _explained(self, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except (exc.DatabaseError, sqlite3.Error) as error:
            words = str(getattr(error, "orig", error)).strip()
            if any(sign in words for sign in ("not a database", "malformed", "disk image")):
                raise StoreBrokenError(
                    f"The store {self.place} is damaged ({words}). Move the file away and start again: the "
                    "catalogue is made anew; a backup from before the last upgrade may lie beside it."
                ) from error
            raise StoreError(f"The store {self.place} cannot be used: {words}.") from error
        except ModuleNotFoundError as error:
            raise StoreError(
                f"The store {self.place} cannot be used: {error}. Install what it needs with "
                "`pip install 'halflap[postgres]'`."
            ) from error
        except (exc.SQLAlchemyError, OSError, ImportError) as error:
            raise StoreError(f"The store {self.place} cannot be used: {error}.") from error

    # Everything below runs in the store's own thread.

    def _open(self) -> None:
        if self._file is not None:
            _make_private(self._file)
        sqlite_options: dict[str, Any] = {
            "connect_args": {"timeout": _BUSY_SECONDS, "check_same_thread": False}
        }
        if self._in_memory:
            sqlite_options["poolclass"] = StaticPool
        self._engine = sa.create_engine(
            self._url, **(sqlite_options if self._is_sqlite else {"pool_pre_ping": True})
        )
        if self._is_sqlite:
            event.listen(self._engine, "connect", _prepare_sqlite)
            event.listen(
                self._engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE")
            )
        self._migrate()

    def _dispose(self) -> None:
        if self._engine is not None:
            self._engine.dispose()

    @property
    def _is_sqlite(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    @property
    def _in_memory(self) -> bool:
        return self._is_sqlite and self._file is None

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        if self._engine is None:
            raise StoreError(f"The store {self.place} is not open.")
        with self._engine.begin() as connection:
            yield connection

    def _migrate(self) -> None:
        reached = self._migrate_once(is_new=False)
        is_new = reached == self._migrations[0].number
        while reached is not None:
            reached = self._migrate_once(is_new=is_new)

    def _migrate_once(self, *, is_new: bool) -> int | None:
        """Take it one version further and give that; None if it is at the last. Others may do so at the same time."""
        latest = self._migrations[-1].number
        with self._transaction() as connection:
            if not self._is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            self._refuse_foreign(connection)
            _metadata.create_all(connection)
            version = connection.scalar(sa.select(sa.func.max(_versions.c.number))) or 0
            if version > latest:
                raise StoreTooNewError(
                    f"The store {self.place} was written by a newer Halflap (its version is {version}, this one "
                    f"knows {latest}). Upgrade Halflap, or point `store.path` at another file."
                )
            migration = next((one for one in self._migrations if one.number > version), None)
            if migration is None:
                return None
            if version and self._file is not None and not is_new:
                self._back_up(self._file, version)
            for statement in migration.statements:
                connection.exec_driver_sql(statement)
            connection.execute(_versions.insert().values(number=migration.number, at=time.time()))
        logger.info("the store is now at version %d: %s", migration.number, migration.about)
        return migration.number

    def _refuse_foreign(self, connection: sa.Connection) -> None:
        """Leave alone a file that belongs to another program. A server's database may be shared."""
        if self._is_sqlite:
            tables = sa.inspect(connection).get_table_names()
            if tables and _versions.name not in tables:
                raise StoreBrokenError(
                    f"{self.place} is a database of another program: it has the table {tables[0]!r} and none of "
                    "Halflap's. Point `store.path` at another file."
                )

    def _back_up(self, file: Path, version: int) -> None:
        """Copy the file as it was before this transaction, and keep the last few copies."""
        target = file.with_name(f"{file.name}.v{version}-{time.strftime('%Y%m%d-%H%M%S')}.bak")
        target.touch(mode=_PRIVATE)
        # Another connection sees the last committed state, which is the one before this migration.
        try:
            with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(target)) as copy:
                source.backup(copy)
        except sqlite3.Error:
            target.unlink()
            raise
        kept = sorted(file.parent.glob(f"{file.name}.v*.bak"), key=lambda path: path.stat().st_mtime)
        for old in kept[:-_BACKUPS]:
            old.unlink()

    def _select(self, query: sa.Select[Any]) -> list[dict[str, Any]]:
        with self._transaction() as connection:
            return [dict(row) for row in connection.execute(query).mappings()]

    def _load_catalog(self) -> StoredCatalog:
        with self._transaction() as connection:
            servers = [StoredServer(**row) for row in connection.execute(sa.select(_servers)).mappings()]
            rows = connection.execute(sa.select(_tools).order_by("server", "position")).mappings()
            tools = [_tool(dict(row)) for row in rows]
        return StoredCatalog(
            {server.name: server for server in servers},
            tools,
            {tool.name: (tool.server, tool.original_name) for tool in tools},
        )

    def _update_server(self, name: str, change: Callable[[ServerRows], ServerRows]) -> ServerRows:
        with self._transaction() as connection:
            if not self._is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
            before = self._server_rows(connection, name)
            after = change(before)
            if after.server is not None and after.server != before.server:
                self._upsert(connection, _servers, [asdict(after.server)])
            known = {tool.original_name: tool for tool in before.tools}
            self._upsert(
                connection,
                _tools,
                [_row(tool) for tool in after.tools if known.get(tool.original_name) != tool],
            )
            return after

    def _server_rows(self, connection: sa.Connection, name: str) -> ServerRows:
        row = connection.execute(sa.select(_servers).where(_servers.c.name == name)).mappings().first()
        tools = connection.execute(
            sa.select(_tools).where(_tools.c.server == name).order_by("position")
        ).mappings()
        names = connection.execute(sa.select(_tools.c.name, _tools.c.server, _tools.c.original_name))
        return ServerRows(
            None if row is None else StoredServer(**row),
            [_tool(dict(tool)) for tool in tools],
            {taken: (server, original) for taken, server, original in names},
        )

    def _upsert_all(self, table: Any, rows: list[dict[str, Any]]) -> None:
        with self._transaction() as connection:
            self._upsert(connection, table, rows)

    def _upsert(self, connection: sa.Connection, table: Any, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        insert: Any = (sqlite if self._is_sqlite else postgresql).insert(table)
        key = _KEYS[table.name]
        changed = {
            column.name: insert.excluded[column.name] for column in table.columns if column.name not in key
        }
        connection.execute(insert.on_conflict_do_update(index_elements=list(key), set_=changed), rows)


def _url(place: str | Path | None) -> sa.URL:
    if place is None:
        return sa.URL.create("sqlite")
    if isinstance(place, Path):
        return sa.URL.create("sqlite", database=str(place))
    try:
        return sa.make_url(place)
    except (exc.ArgumentError, ValueError) as error:
        # The text itself is not shown: there may be a password in it.
        raise StoreError(
            "`store.url` is not the URL of a database. Write `postgresql+psycopg://user@host/database`."
        ) from error


def _make_private(file: Path) -> None:
    """Make sure that there is a file, and that only its owner can read it."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=_PRIVATE)
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode):
        # Least of all may the rights of a folder or a device be changed.
        raise StoreError(f"The store {file} cannot be used: it is not a file.")
    if stat.S_IMODE(mode) != _PRIVATE:
        file.chmod(_PRIVATE)


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # The library's own handling of transactions commits behind our back; we begin them ourselves.
    connection.isolation_level = None
    for pragma in (f"busy_timeout = {_BUSY_SECONDS * 1000}", "journal_mode = WAL", "synchronous = NORMAL"):
        connection.execute(f"PRAGMA {pragma}").close()


def _row(tool: StoredTool) -> dict[str, Any]:
    return {
        # Not `asdict`, which would copy the definitions, however deep and large.
        **{field.name: getattr(tool, field.name) for field in fields(tool)},
        "definition": json.dumps(tool.definition),
        "accepted": json.dumps(tool.accepted),
        "removed": int(tool.removed),
    }


def _tool(row: dict[str, Any]) -> StoredTool:
    definition = json.loads(row["definition"])
    same = row["hash"] == row["accepted_hash"]
    accepted = definition if same else json.loads(row["accepted"])
    return StoredTool(
        **{**row, "definition": definition, "accepted": accepted, "removed": bool(row["removed"])}
    )
