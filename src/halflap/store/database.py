"""The database of the store, SQLite or PostgreSQL: opened, migrated, and used in a dedicated thread."""

from __future__ import annotations

import asyncio
import functools
import logging
import sqlite3
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import urlsplit

from halflap.core.environment import install_command
from halflap.core.errors import StoreBrokenError, StoreError, StoreTooNewError
from halflap.store import sqlite_file
from halflap.store.migrations import MIGRATIONS, Migration
from halflap.store.sql import Transaction

logger = logging.getLogger(__name__)

_P = ParamSpec("_P")
_T = TypeVar("_T")
_D = TypeVar("_D", bound="Database")

_LOCK = 0x48414C46
"""PostgreSQL's advisory lock for changes."""


def transactional(
    work: Callable[Concatenate[_D, Transaction, _P], _T],
) -> Callable[Concatenate[_D, _P], Coroutine[Any, Any, _T]]:
    """Turn a method that works in a transaction into a coroutine that runs it in the store's thread."""

    @functools.wraps(work)
    async def method(self: _D, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await self.transact(lambda transaction: work(self, transaction, *args, **kwargs))

    return method


def exclusive(
    work: Callable[Concatenate[_D, Transaction, _P], _T],
) -> Callable[Concatenate[_D, _P], Coroutine[Any, Any, _T]]:
    """Do the same for a method that changes what it read: no other process may write meanwhile."""

    @functools.wraps(work)
    def locked(self: _D, transaction: Transaction, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        self._lock(transaction)
        return work(self, transaction, *args, **kwargs)

    return transactional(locked)


class Database:
    """SQLite or PostgreSQL. One thread with one connection does all work, so it never blocks the event loop."""

    def __init__(self, location: Path | str | None, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._file = location if isinstance(location, Path) else None
        self._url = _check_url(location) if isinstance(location, str) else None
        self._is_sqlite = self._url is None
        self._migrations = migrations
        self._connection: Any = None
        self._identity: tuple[int, int] | None = None
        """Device and inode of the open file. SQLite would continue to write to one that was moved or deleted."""
        self._driver_error: type[Exception] = sqlite3.Error
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="halflap-store")
        self._closed = False
        self.trouble: str | None = None
        """Why this store in memory is used instead of the configured one, if so."""

    @property
    def location(self) -> str:
        """The file or URL, without any password."""
        if self._url is None:
            return "memory" if self._file is None else str(self._file)
        parts = urlsplit(self._url)
        user, _, host = parts.netloc.rpartition("@")
        user = user.partition(":")[0]
        return f"postgresql://{user}{'@' if user else ''}{host}{parts.path}"

    async def open(self) -> None:
        """Create or migrate the database. Refuses one that is damaged or was written by a newer Halflap."""
        try:
            await self._in_thread(self._open)
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the connection after finishing what is queued."""
        if self._closed:
            return
        self._closed = True
        disconnected = asyncio.get_running_loop().run_in_executor(self._thread, self._disconnect)
        self._thread.shutdown(wait=False)
        await disconnected

    async def transact(self, work: Callable[[Transaction], _T]) -> _T:
        """Run work in a transaction."""

        def in_transaction() -> _T:
            with self._transaction() as transaction:
                return work(transaction)

        return await self._in_thread(in_transaction)

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        if self._closed:
            raise StoreError(f"The store {self.location} is closed.")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._explained, work)

    # Everything below runs in the store's own thread.

    def _explained(self, work: Callable[[], _T]) -> _T:
        try:
            return work()
        except ModuleNotFoundError as error:
            raise StoreError(
                f"The store {self.location} cannot be used: {error}. Install what it needs with "
                f"`{install_command('postgres')}`."
            ) from error
        except (self._driver_error, OSError, ImportError) as error:
            words = str(error).strip()
            if any(sign in words for sign in ("not a database", "malformed", "disk image")):
                raise StoreBrokenError(
                    f"The store {self.location} is damaged ({words}), so nothing was done. Move the file away and start "
                    "again: servers are listed again, and what was recorded or accepted before stays in the moved "
                    "file. There may be a backup from before the last upgrade in the same folder."
                ) from error
            raise StoreError(f"The store {self.location} cannot be used: {words}.") from error

    def _open(self) -> None:
        self._connect()
        with self._transaction() as transaction:
            self._lock(transaction)
            self._refuse_foreign(transaction)
            self._migrate(transaction)

    def _connect(self) -> None:
        if self._url is None:
            self._connection = sqlite_file.connect(self._file)
            self._identity = self._identify()
            return
        psycopg = import_module("psycopg")
        self._driver_error = psycopg.Error
        self._connection = psycopg.connect(self._url, autocommit=True)

    def _identify(self) -> tuple[int, int] | None:
        try:
            state = None if self._file is None else self._file.stat()
        except FileNotFoundError:
            state = None
        return None if state is None else (state.st_dev, state.st_ino)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[Transaction]:
        if self._identify() != self._identity:
            raise StoreError(
                f"The store {self.location} was moved or replaced. Put it back, or restart Halflap."
            )
        try:
            self._connection.execute("BEGIN IMMEDIATE" if self._is_sqlite else "BEGIN")
        except self._driver_error:
            if self._is_sqlite or not self._connection.closed:
                raise
            # The database server was restarted, or closed an idle connection.
            self._connect()
            self._connection.execute("BEGIN")
        try:
            yield Transaction(self._connection, is_sqlite=self._is_sqlite)
            self._connection.execute("COMMIT")
        except BaseException:
            # A database that failed may have rolled back already.
            with suppress(self._driver_error):
                self._connection.execute("ROLLBACK")
            raise

    def _lock(self, transaction: Transaction) -> None:
        """Block other writers until the transaction ends. SQLite's transactions do so anyway."""
        if not self._is_sqlite:
            transaction.select("SELECT pg_advisory_xact_lock(:key)", key=_LOCK)

    def _version(self, transaction: Transaction) -> int:
        first, latest = self._migrations[0].number, self._migrations[-1].number
        version = int(transaction.scalar("SELECT max(number) FROM halflap_version") or 0)
        if version > latest:
            raise StoreTooNewError(
                f"The store {self.location} was written by a newer Halflap (its version is {version}, this one "
                f"supports {latest}). Upgrade Halflap, or point `store.path` at another file."
            )
        if 0 < version < first:
            raise StoreBrokenError(
                f"The store {self.location} is from before the first release (its version is {version}, and {first} "
                "is the first that can be read). Move the file away and start again."
            )
        return version

    def _migrate(self, transaction: Transaction) -> None:
        """Bring the tables to the latest version, after a backup, all or nothing."""
        transaction.run(
            "CREATE TABLE IF NOT EXISTS halflap_version (number INTEGER PRIMARY KEY, at DOUBLE PRECISION NOT NULL)"
        )
        version = self._version(transaction)
        pending = [migration for migration in self._migrations if migration.number > version]
        if pending and version and self._file is not None:
            sqlite_file.back_up(self._file, version)
        for number, about, statements in pending:
            for statement in statements:
                transaction.run(statement)
            insert = "INSERT INTO halflap_version (number, at) VALUES (:number, :at)"
            transaction.run(insert, number=number, at=time.time())
            logger.info("the store is now at version %d: %s", number, about)

    def _refuse_foreign(self, transaction: Transaction) -> None:
        """Raise if the file belongs to another program. A PostgreSQL database may be shared."""
        if self._is_sqlite:
            tables = transaction.select("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            names = [row["name"] for row in tables]
            if names and "halflap_version" not in names:
                raise StoreBrokenError(
                    f"{self.location} is a database of another program: it has the table {names[0]!r} and none of "
                    "Halflap's. Point `store.path` at another file."
                )


def _check_url(url: str) -> str:
    """Return the URL in the form of PostgreSQL's own library."""
    scheme, separator, rest = url.partition("://")
    try:
        is_valid = scheme in {"postgresql", "postgresql+psycopg"} and urlsplit(url).port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        # Not shown, since it may contain a password.
        raise StoreError(
            "`store.url` is not the URL of a PostgreSQL database. Write `postgresql://user@host/database`."
        )
    return f"postgresql{separator}{rest}"
