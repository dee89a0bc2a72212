"""The SQLite file: private, backed up before each migration, and shrunk after deletions."""

from __future__ import annotations

import sqlite3
import stat
import time
from contextlib import closing
from pathlib import Path

from halflap.core.errors import StoreError

BUSY_SECONDS = 10
_BACKUPS = 3
_PRIVATE = 0o600
_INCREMENTAL = 2
_PAGES_AT_ONCE = 500
_SHORT_WAIT_MS = 200


def connect(file: Path | None) -> sqlite3.Connection:
    """Open the file, created if it is missing and readable only by its owner; None is memory."""
    if file is not None:
        _make_private(file)
    # `isolation_level`: the library would begin and commit on its own.
    connection = sqlite3.connect(file or ":memory:", timeout=BUSY_SECONDS, isolation_level=None)
    for pragma in (
        # Must come before the first page is written, which the next line does.
        f"auto_vacuum = {_INCREMENTAL}",
        "journal_mode = WAL",
        "synchronous = NORMAL",
        # Deleted data is overwritten.
        "secure_delete = ON",
    ):
        connection.execute(f"PRAGMA {pragma}").close()
    return connection


def _make_private(file: Path) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.touch(mode=_PRIVATE)
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode):
        # The permissions of a folder or a device must not change.
        raise StoreError(f"The store {file} cannot be used: it is not a file. Point `store.path` at one.")
    if stat.S_IMODE(mode) != _PRIVATE:
        file.chmod(_PRIVATE)


def back_up(file: Path, version: int) -> None:
    """Copy the file as it was before this transaction, and delete all but the latest copies."""
    target = file.with_name(f"{file.name}.v{version}-{time.strftime('%Y%m%d-%H%M%S')}.bak")
    target.touch(mode=_PRIVATE)
    # Another connection sees the state before this migration, which is not committed yet.
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
    """Return the size of the file and its write-ahead log in bytes."""
    parts = (file, file.with_name(f"{file.name}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())


def release_space(connection: sqlite3.Connection) -> bool:
    """Return some free pages to the disk; returns whether there are more."""
    # Do not wait long for other processes: it can be done another time.
    connection.execute(f"PRAGMA busy_timeout = {_SHORT_WAIT_MS}").close()
    try:
        # Each row fetched is a page freed.
        connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
        if _number(connection, "freelist_count") and _number(connection, "auto_vacuum") == _INCREMENTAL:
            return True
        # Deleted data remains in the write-ahead log until it is truncated.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}").close()


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    with closing(connection.execute(f"PRAGMA {pragma}")) as rows:
        return int(rows.fetchone()[0])
