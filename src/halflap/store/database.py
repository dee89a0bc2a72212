"""The database of the store: opened, migrated, and used in a dedicated thread."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.pool import StaticPool

from halflap.core.errors import StoreBrokenError, StoreError, StoreTooNewError
from halflap.store import sqlite_file
from halflap.store.migrations import MIGRATIONS, Migration
from halflap.store.tables import KEYS, metadata, versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Database"]

logger = logging.getLogger(__name__)

_P = ParamSpec("_P")
_T = TypeVar("_T")

_LOCK = 0x48414C46
"""PostgreSQL's advisory lock for changes."""


class Database:
    """SQLite or PostgreSQL. All work is done in one thread, so that it never blocks the loop."""

    def __init__(self, url: str | Path | None, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._file = url if isinstance(url, Path) else None
        self._url = _url(url)
        self._migrations = migrations
        self._engine: sa.Engine | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="halflap-store")
        self._closed = False
        self.trouble: str | None = None
        """Why this store in memory is used instead of the configured one, if so."""

    @property
    def location(self) -> str:
        """The file or URL, without any password."""
        if self._file is not None:
            return str(self._file)
        if self._in_memory:
            return "memory"
        # The query may contain a password too.
        return self._url.set(query={}).render_as_string(hide_password=True)

    async def open(self, *, read_only: bool = False) -> None:
        """Create or migrate the database. Refuses one that is damaged or was written by a newer Halflap.

        With `read_only`, one written by an older Halflap is refused too, since it cannot be migrated.
        """
        try:
            await self._run(self._open_read_only if read_only else self._open)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connections after finishing what is queued."""
        if self._closed:
            return
        self._closed = True
        disposed = asyncio.get_running_loop().run_in_executor(self._thread, self._dispose)
        self._thread.shutdown(wait=False)
        await disposed

    async def _read(
        self, work: Callable[Concatenate[sa.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Run work in a transaction."""

        def transaction() -> _T:
            with self._opened().begin() as connection:
                return work(connection, *args, **kwargs)

        return await self._run(transaction)

    async def _write(
        self, work: Callable[Concatenate[sa.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Run work in a transaction that reads what it changes, while no other process may change it."""

        def locked(connection: sa.Connection) -> _T:
            self._lock(connection)
            return work(connection, *args, **kwargs)

        return await self._read(locked)

    async def _run(self, work: Callable[[], _T]) -> _T:
        if self._closed:
            raise StoreError(f"The store {self.location} is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._explained, work)

    def _explained(self, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except (exc.DatabaseError, sqlite3.Error) as error:
            words = str(getattr(error, "orig", error)).strip()
            if any(sign in words for sign in ("not a database", "malformed", "disk image")):
                raise StoreBrokenError(
                    f"The store {self.location} is damaged ({words}), so nothing was done. Move the file away and start "
                    "again: servers are listed again, and what was recorded or accepted before stays in the moved "
                    "file. There may be a backup from before the last upgrade beside it."
                ) from error
            raise StoreError(f"The store {self.location} cannot be used: {words}.") from error
        except ModuleNotFoundError as error:
            raise StoreError(
                f"The store {self.location} cannot be used: {error}. Install what it needs with "
                "`pip install 'halflap[postgres]'`."
            ) from error
        except (exc.SQLAlchemyError, OSError, ImportError) as error:
            raise StoreError(f"The store {self.location} cannot be used: {error}.") from error

    # Everything below runs in the store's own thread.

    def _open(self) -> None:
        if self._file is not None:
            sqlite_file.make_private(self._file)
        sqlite_options: dict[str, Any] = {
            "connect_args": {"timeout": sqlite_file.BUSY_SECONDS, "check_same_thread": False}
        }
        if self._in_memory:
            sqlite_options["poolclass"] = StaticPool
        self._engine = sa.create_engine(
            self._url, **(sqlite_options if self._is_sqlite else {"pool_pre_ping": True})
        )
        if self._is_sqlite:
            event.listen(self._engine, "connect", sqlite_file.prepare)
            event.listen(
                self._engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE")
            )
        self._migrate()

    def _open_read_only(self) -> None:
        if self._file is None:
            raise StoreError(
                f"The store {self.location} is not a file, and only a file can be opened for reading alone."
            )
        file, immutable = self._file, sqlite_file.only_immutable(self._file)
        self._engine = sa.create_engine(
            "sqlite://", creator=lambda: sqlite_file.reader(file, immutable=immutable)
        )
        event.listen(self._engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        with self._opened().begin() as connection:
            self._refuse_foreign(connection)
            version = self._version(connection)
            if version < self._migrations[-1].number:
                raise StoreError(
                    f"The store {self.location} was written by an older Halflap and has to be upgraded. "
                    "Make its file and folder writable."
                )

    def _version(self, connection: sa.Connection) -> int:
        latest = self._migrations[-1].number
        version: int = connection.scalar(sa.select(sa.func.max(versions.c.number))) or 0
        if version > latest:
            raise StoreTooNewError(
                f"The store {self.location} was written by a newer Halflap (its version is {version}, this one "
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
            raise StoreError(f"The store {self.location} is not open.")
        return self._engine

    @contextmanager
    def _raw_connection(self) -> Iterator[Any]:
        """Yield the driver's own connection, outside of any transaction."""
        connection = self._opened().raw_connection()
        try:
            yield connection.driver_connection
        finally:
            connection.close()

    def _size(self, connection: sa.Connection) -> int:
        """Return the size of the store in bytes."""
        if self._file is not None:
            return sqlite_file.size_on_disk(self._file)
        if self._is_sqlite:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar() or 0
            return int(pages * (connection.exec_driver_sql("PRAGMA page_size").scalar() or 0))
        # Not the whole database, which may be shared with other programs.
        sizes = (
            sa.func.coalesce(sa.func.pg_total_relation_size(sa.func.to_regclass(name)), 0) for name in KEYS
        )
        return sum(int(connection.scalar(sa.select(size)) or 0) for size in sizes)

    def _migrate(self) -> None:
        reached = self._migrate_once(is_new=False)
        is_new = reached == self._migrations[0].number
        while reached is not None:
            reached = self._migrate_once(is_new=is_new)

    def _migrate_once(self, *, is_new: bool) -> int | None:
        """Migrate to the next version and return it; None at the latest. Other processes may migrate at the same time."""
        with self._opened().begin() as connection:
            self._lock(connection)
            self._refuse_foreign(connection)
            metadata.create_all(connection)
            version = self._version(connection)
            migration = next((one for one in self._migrations if one.number > version), None)
            if migration is None:
                return None
            if version and self._file is not None and not is_new:
                sqlite_file.back_up(self._file, version)
            for statement in migration.statements:
                connection.exec_driver_sql(statement)
            if migration.change is not None:
                migration.change(connection)
            connection.execute(versions.insert().values(number=migration.number, at=time.time()))
        logger.info("the store is now at version %d: %s", migration.number, migration.about)
        return migration.number

    def _lock(self, connection: sa.Connection) -> None:
        """Block other writers until the transaction ends. SQLite does so by itself."""
        if not self._is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))

    def _refuse_foreign(self, connection: sa.Connection) -> None:
        """Raise if the file belongs to another program. A PostgreSQL database may be shared."""
        if self._is_sqlite:
            tables = sa.inspect(connection).get_table_names()
            if tables and versions.name not in tables:
                raise StoreBrokenError(
                    f"{self.location} is a database of another program: it has the table {tables[0]!r} and none of "
                    "Halflap's. Point `store.path` at another file."
                )


def _url(location: str | Path | None) -> sa.URL:
    if location is None:
        return sa.URL.create("sqlite")
    if isinstance(location, Path):
        return sa.URL.create("sqlite", database=str(location))
    try:
        return sa.make_url(location)
    except (exc.ArgumentError, ValueError) as error:
        # Not shown, since it may contain a password.
        raise StoreError(
            "`store.url` is not the URL of a database. Write `postgresql+psycopg://user@host/database`."
        ) from error
