"""The store as a SQLite file: private, with a copy from before each upgrade, and no larger than it must be."""

from __future__ import annotations

import sqlite3
import stat
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

from halflap.core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "BUSY_SECONDS",
    "arrange_space",
    "back_up",
    "make_private",
    "only_immutable",
    "prepare",
    "reader",
    "release_space",
    "size_on_disk",
]

BUSY_SECONDS = 10
_BACKUPS = 3
_PRIVATE = 0o600
_INCREMENTAL = 2
_PAGES_AT_ONCE = 500
_SHORT_WAIT_MS = 200


def make_private(file: Path) -> None:
    """Make sure that there is a file, and that only its owner can read it."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=_PRIVATE)
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode):
        # Least of all may the rights of a folder or a device be changed.
        raise StoreError(f"The store {file} cannot be used: it is not a file. Point `store.path` at one.")
    if stat.S_IMODE(mode) != _PRIVATE:
        file.chmod(_PRIVATE)


def prepare(connection: sqlite3.Connection, _record: object = None) -> None:
    """Set up a connection."""
    # The library's own handling of transactions commits behind our back; we begin them ourselves.
    connection.isolation_level = None
    for pragma in (
        f"busy_timeout = {BUSY_SECONDS * 1000}",
        # Before the first page is written, which the next line does.
        f"auto_vacuum = {_INCREMENTAL}",
        "journal_mode = WAL",
        "synchronous = NORMAL",
        # What is taken out is overwritten, not only forgotten.
        "secure_delete = ON",
    ):
        connection.execute(f"PRAGMA {pragma}").close()


def reader(file: Path, *, immutable: bool) -> sqlite3.Connection:
    """Connect to a file that is not to be changed."""
    # It may be that it cannot even be locked; then nobody may be writing to it.
    options = "mode=ro&immutable=1" if immutable else "mode=ro"
    return sqlite3.connect(
        f"file:{quote(str(file.absolute()))}?{options}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )


def only_immutable(file: Path) -> bool:
    """Say whether a file can be read only as one that nobody changes.

    To read along with others, SQLite needs a file beside it, which it may not be able to make. Without it, what is
    in the log of changes would be missed: if there is any, it is an error.
    """
    try:
        with closing(reader(file, immutable=False)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except sqlite3.OperationalError:
        log = file.with_name(f"{file.name}-wal")
        if not file.is_file() or (log.exists() and log.stat().st_size):
            raise
        return True
    return False


def back_up(file: Path, version: int) -> None:
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


def size_on_disk(file: Path) -> int:
    """Say how many bytes the file takes, with the log of changes beside it."""
    parts = (file, file.with_name(f"{file.name}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())


def arrange_space(connection: sqlite3.Connection) -> None:
    """Have a file from before there were traces give back its space from now on, if nobody else uses it."""
    if _number(connection, "auto_vacuum") == _INCREMENTAL:
        return
    with _impatient(connection):
        connection.execute(f"PRAGMA auto_vacuum = {_INCREMENTAL}").close()
        connection.execute("VACUUM").close()


def release_space(connection: sqlite3.Connection) -> bool:
    """Give a part of the free space back to the disk; says whether there is more to do."""
    with _impatient(connection):
        # Read to the end: each row is a page that is given back.
        connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
        if _number(connection, "freelist_count") and _number(connection, "auto_vacuum") == _INCREMENTAL:
            return True
        # What was taken out is still in the log of changes until that is emptied.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return False


@contextmanager
def _impatient(connection: sqlite3.Connection) -> Iterator[None]:
    """Do what can as well be done another time without waiting for others."""
    connection.execute(f"PRAGMA busy_timeout = {_SHORT_WAIT_MS}").close()
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}").close()


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    with closing(connection.execute(f"PRAGMA {pragma}")) as rows:
        return int(rows.fetchone()[0])
