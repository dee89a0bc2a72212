"""A database that the store is in: opened, migrated, and worked on in one thread of its own."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.dialects import sqlite
from sqlalchemy.pool import StaticPool

from halflap.core.errors import StoreBrokenError, StoreError, StoreTooNewError
from halflap.store import files
from halflap.store.migrations import MIGRATIONS, Migration
from halflap.store.tables import KEYS, metadata, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Database"]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_LOCK = 0x48414C46
"""The advisory lock under which a shared store is changed."""


class Database:
    """SQLite or PostgreSQL. All work is done in one thread, so that it never holds up the loop."""

    def __init__(self, url: str | Path | None, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._file = url if isinstance(url, Path) else None
        self._url = _url(url)
        self._migrations = migrations
        self._engine: sa.Engine | None = None
        self._upserts: dict[str, Any] = {}
        self._statements: dict[str, tuple[str, Callable[[dict[str, Any]], tuple[Any, ...]]]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="halflap-store")
        self._closed = False

    @property
    def place(self) -> str:
        """Where it is, fit to be shown: no password."""
        if self._file is not None:
            return str(self._file)
        if self._in_memory:
            return "memory"
        # A password may stand in the query as well.
        return self._url.set(query={}).render_as_string(hide_password=True)

    async def open(self, *, read_only: bool = False) -> None:
        """Create or migrate it. Refuses what a newer Halflap wrote, and what is damaged.

        A file that is to be read alone is left as it is; then what an older Halflap wrote is refused, too.
        """
        try:
            await self._run(self._open_to_read if read_only else self._open)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let go of it; whatever is queued is done first."""
        if self._closed:
            return
        self._closed = True
        disposed = asyncio.get_running_loop().run_in_executor(self._thread, self._dispose)
        self._thread.shutdown(wait=False)
        await disposed

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
                    f"The store {self.place} is damaged ({words}), so nothing was done. Move the file away and start "
                    "again: the catalogue is made anew, and what was recorded or accepted before is in the file that "
                    "was moved; a backup from before the last upgrade may lie beside it."
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
            files.make_private(self._file)
        sqlite_options: dict[str, Any] = {
            "connect_args": {"timeout": files.BUSY_SECONDS, "check_same_thread": False}
        }
        if self._in_memory:
            sqlite_options["poolclass"] = StaticPool
        self._engine = sa.create_engine(
            self._url, **(sqlite_options if self._is_sqlite else {"pool_pre_ping": True})
        )
        if self._is_sqlite:
            event.listen(self._engine, "connect", files.prepare)
            event.listen(
                self._engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE")
            )
        self._migrate()
        if self._file is not None:
            # Somebody else may be using it; then the next start does it.
            with suppress(sqlite3.OperationalError), self._plain() as connection:
                files.arrange_space(connection)

    def _open_to_read(self) -> None:
        if self._file is None:
            raise StoreError(f"The store {self.place} is not a file, which alone can be opened to be read.")
        file, immutable = self._file, files.only_immutable(self._file)
        self._engine = sa.create_engine("sqlite://", creator=lambda: files.reader(file, immutable=immutable))
        event.listen(self._engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        with self._transaction() as connection:
            self._refuse_foreign(connection)
            version = self._version(connection)
            if version < self._migrations[-1].number:
                raise StoreError(
                    f"The store {self.place} was written by an older Halflap, and cannot be upgraded as it is: it can only be "
                    "read. Make its file and folder writable."
                )

    def _version(self, connection: sa.Connection) -> int:
        latest = self._migrations[-1].number
        version: int = connection.scalar(sa.select(sa.func.max(versions.c.number))) or 0
        if version > latest:
            raise StoreTooNewError(
                f"The store {self.place} was written by a newer Halflap (its version is {version}, this one "
                f"knows {latest}). Upgrade Halflap, or point `store.path` at another file."
            )
        return version

    def _dispose(self) -> None:
        if self._engine is not None:
            self._engine.dispose()

    @property
    def _is_sqlite(self) -> bool:
        return self._url.get_backend_name() == "sqlite"

    @property
    def _in_memory(self) -> bool:
        return self._is_sqlite and self._file is None

    def _opened(self) -> sa.Engine:
        if self._engine is None:
            raise StoreError(f"The store {self.place} is not open.")
        return self._engine

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with self._opened().begin() as connection:
            yield connection

    @contextmanager
    def _plain(self) -> Iterator[Any]:
        """Give the database library's own connection, outside of any transaction."""
        connection = self._opened().raw_connection()
        try:
            yield connection.driver_connection
        finally:
            connection.close()

    def _migrate(self) -> None:
        reached = self._migrate_once(is_new=False)
        is_new = reached == self._migrations[0].number
        while reached is not None:
            reached = self._migrate_once(is_new=is_new)

    def _migrate_once(self, *, is_new: bool) -> int | None:
        """Take it one version further and give that; None if it is at the last. Others may do so at the same time."""
        with self._transaction() as connection:
            self._lock(connection)
            self._refuse_foreign(connection)
            metadata.create_all(connection)
            version = self._version(connection)
            migration = next((one for one in self._migrations if one.number > version), None)
            if migration is None:
                return None
            if version and self._file is not None and not is_new:
                files.back_up(self._file, version)
            for statement in migration.statements:
                connection.exec_driver_sql(statement)
            if migration.change is not None:
                migration.change(connection)
            connection.execute(versions.insert().values(number=migration.number, at=time.time()))
        logger.info("the store is now at version %d: %s", migration.number, migration.about)
        return migration.number

    def _lock(self, connection: sa.Connection) -> None:
        """Be the only one who changes a shared store until the transaction ends; SQLite sees to it itself."""
        if not self._is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))

    def _refuse_foreign(self, connection: sa.Connection) -> None:
        """Leave alone a file that belongs to another program. A server's database may be shared."""
        if self._is_sqlite:
            tables = sa.inspect(connection).get_table_names()
            if tables and versions.name not in tables:
                raise StoreBrokenError(
                    f"{self.place} is a database of another program: it has the table {tables[0]!r} and none of "
                    "Halflap's. Point `store.path` at another file."
                )

    def _upsert(self, connection: sa.Connection, table: Any, rows: list[dict[str, Any]]) -> None:
        if rows:
            connection.execute(self._upsert_into(table), rows)

    def _upsert_into(self, table: Any) -> Any:
        if table.name not in self._upserts:
            # Once: to put it together takes as long as to execute it.
            insert: Any = self._insert(table)
            key = KEYS[table.name]
            changed = {
                column.name: insert.excluded[column.name]
                for column in table.columns
                if column.name not in key
            }
            self._upserts[table.name] = insert.on_conflict_do_update(index_elements=list(key), set_=changed)
        return self._upserts[table.name]

    def _put(self, *tables: tuple[Any, list[dict[str, Any]]]) -> None:
        """Write rows in a transaction of their own, where somebody waits for it."""
        if not self._is_sqlite:
            with self._transaction() as connection:
                for table, rows in tables:
                    self._upsert(connection, table, rows)
            return
        # Straight into the file: what the library does around the same statements takes longer than they do.
        with self._plain() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                for table, rows in tables:
                    if rows:
                        text, values_of = self._statement(table)
                        connection.executemany(text, [values_of(row) for row in rows])
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise

    def _statement(self, table: Any) -> tuple[str, Callable[[dict[str, Any]], tuple[Any, ...]]]:
        """Give the text of an upsert, and what makes a row's values of its columns."""
        if table.name not in self._statements:
            compiled = self._upsert_into(table).compile(dialect=self._opened().dialect)
            names = compiled.positiontup
            written = [table.c[name].type.bind_processor(self._opened().dialect) for name in names]

            def values_of(row: dict[str, Any]) -> tuple[Any, ...]:
                return tuple(
                    row[name] if write is None else write(row[name])
                    for name, write in zip(names, written, strict=True)
                )

            self._statements[table.name] = str(compiled), values_of
        return self._statements[table.name]

    def _insert(self, table: Any) -> Any:
        if self._is_sqlite:
            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 -- it is large, and seldom the one

        return postgresql.insert(table)


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
