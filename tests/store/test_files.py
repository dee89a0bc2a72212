"""The store as a file: its permissions, backups, damage and crashes."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import StoreBrokenError
from halflap.store.migrations import MIGRATIONS, Migration
from store import rows
from store.rows import call, opened, putting, server, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

LATEST = MIGRATIONS[-1].number


def note(number: int) -> Migration:
    """Return the first, second, … migration after the existing ones."""
    return Migration(LATEST + number, f"note {number}", (f"CREATE TABLE note{number} (words TEXT)",))


def modes(folder: Path) -> dict[str, str]:
    return {path.name: oct(stat.S_IMODE(path.stat().st_mode)) for path in folder.iterdir()}


def tables(file: Path) -> set[str]:
    with closing(sqlite3.connect(file)) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


async def write(file: Path, *migrations: Migration) -> None:
    async with opened(file, [*MIGRATIONS, *migrations]) as store:
        await store.update_server("one", putting(server(), tool(), *(tool(f"t{n}") for n in range(50))))


async def test_only_the_owner_can_read_the_files_and_backups(file: Path) -> None:
    before = os.umask(0)
    try:
        async with opened(file) as store:
            await store.update_server("one", putting(server(), tool()))
            found = await asyncio.to_thread(modes, file.parent)
            assert found == dict.fromkeys(("halflap.db", "halflap.db-wal", "halflap.db-shm"), "0o600")
            assert stat.S_IMODE((await asyncio.to_thread(file.parent.stat)).st_mode) == 0o700
        await asyncio.to_thread(file.chmod, 0o644)
        await write(file, note(1))
    finally:
        os.umask(before)
    found = await asyncio.to_thread(modes, file.parent)
    assert list(found.values()) == ["0o600", "0o600"]


def test_the_last_three_backups_are_kept_each_as_it_was_before_its_migration(run: Run, file: Path) -> None:
    run(write(file))
    before = tables(file)
    for number in range(1, 6):
        run(write(file, *(note(one) for one in range(1, number + 1))))
    assert tables(file) == before | {f"note{number}" for number in range(1, 6)}
    kept = {path.name.split("-")[0]: tables(path) - before for path in file.parent.glob("*.bak")}
    assert kept == {
        f"halflap.db.v{LATEST + number}": {f"note{one}" for one in range(1, number + 1)}
        for number in (2, 3, 4)
    }


GARBAGE = b"This is my diary. Dear diary, today " * 300


@pytest.mark.parametrize("kept", [0, 50, 20_000])
def test_a_file_that_is_no_store_or_is_truncated_is_refused_and_not_touched(
    run: Run, file: Path, kept: int
) -> None:
    run(write(file))
    content = file.read_bytes()[:kept] or GARBAGE
    file.write_bytes(content)
    with pytest.raises(StoreBrokenError):
        run(write(file))
    assert file.read_bytes() == content


MIGRATION_ON_A_FULL_DISK = """
import asyncio, resource, signal, sys
from pathlib import Path
from store.rows import opened
from halflap.core.errors import StoreError
from halflap.store.migrations import MIGRATIONS, Migration
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

async def migrate():
    resource.setrlimit(resource.RLIMIT_FSIZE, (33_000, 33_000))
    more = Migration(MIGRATIONS[-1].number + 1, "", ["CREATE TABLE n (a TEXT)"])
    async with opened(Path(sys.argv[1]), [*MIGRATIONS, more]):
        pass

try:
    asyncio.run(migrate())
except StoreError as error:
    print("StoreError", error)
"""


@pytest.mark.slow
def test_a_backup_that_does_not_fit_stops_the_migration(run: Run, file: Path) -> None:
    run(write(file))
    before = tables(file)
    tests = str(Path(rows.__file__).parent.parent)
    ended = subprocess.run(
        [sys.executable, "-c", MIGRATION_ON_A_FULL_DISK, str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])},
    )
    assert (ended.stdout[:10], ended.stderr) == ("StoreError", "")
    assert tables(file) == before
    assert list(file.parent.glob("*.bak*")) == []


@pytest.mark.slow
def test_a_store_whose_writer_was_killed_opens_with_all_that_was_done(run: Run, file: Path) -> None:
    with subprocess.Popen(
        [sys.executable, rows.__file__, str(file), "one", "100000"], stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with closing(sqlite3.connect(file)) as connection:
            while not connection.execute("SELECT count(*) > 20 FROM calls").fetchone()[0]:
                pass
        writer.send_signal(signal.SIGKILL)

    async def scenario() -> None:
        async with opened(file) as store:
            calls = await store.recent_calls(100_000)
            tools = (await store.load_catalog()).tools
            # The writer adds a tool, then a call.
            assert 0 <= len(tools) - len(calls) <= 1
            assert len(calls) > 20
            await store.record(calls=[call(1)])

    run(scenario())
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
