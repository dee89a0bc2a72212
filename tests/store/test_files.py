"""The store as a file: who can read it, what is kept beside it, and what becomes of it in bad times."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.core.errors import StoreBrokenError, StoreError, StoreTooNewError
from halflap.store import open_store
from halflap.store.migrations import MIGRATIONS, Migration
from halflap.store.store import Store
from store import rows
from store.rows import call, opened, putting, server, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def permissive_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


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


@pytest.mark.parametrize("name", ["per%20cent?#.db", "a'b\"c é.db"])
def test_the_file_has_exactly_the_name_that_was_given(run: Run, tmp_path: Path, name: str) -> None:
    run(write(tmp_path / "data" / name))
    assert [path.name for path in (tmp_path / "data").iterdir()] == [name]


@pytest.mark.usefixtures("permissive_umask")
async def test_only_the_owner_can_read_the_files_and_backups(file: Path) -> None:
    async with opened(file) as store:
        await store.update_server("one", putting(server(), tool()))
        found = await asyncio.to_thread(modes, file.parent)
        assert found == dict.fromkeys(("halflap.db", "halflap.db-wal", "halflap.db-shm"), "0o600")
        assert stat.S_IMODE((await asyncio.to_thread(file.parent.stat)).st_mode) == 0o700
    await asyncio.to_thread(file.chmod, 0o644)
    await write(file, note(1))
    found = await asyncio.to_thread(modes, file.parent)
    assert list(found.values()) == ["0o600", "0o600"]


def test_a_backup_holds_what_was_there_before_the_migration(run: Run, file: Path) -> None:
    run(write(file))
    before = tables(file)
    run(write(file, note(1)))
    (backup,) = file.parent.glob("*.bak")
    assert tables(backup) == before
    assert tables(file) == before | {"note1"}
    assert backup.name.startswith(f"halflap.db.v{LATEST}-")


def test_the_last_three_backups_are_kept(run: Run, file: Path) -> None:
    run(write(file))
    for number in range(1, 6):
        run(write(file, *(note(one) for one in range(1, number + 1))))
    kept = {path.name.split("-")[0] for path in file.parent.glob("*.bak")}
    assert kept == {f"halflap.db.v{LATEST + number}" for number in (2, 3, 4)}


GARBAGE = b"This is my diary. Dear diary, today " * 300


def spoiled(file: Path, content: bytes) -> Path:
    file.parent.mkdir()
    file.write_bytes(content)
    return file


def test_a_file_that_is_no_store_is_not_touched(run: Run, file: Path) -> None:
    spoiled(file, GARBAGE)
    with pytest.raises(StoreBrokenError):
        run(open_store(file))
    assert file.read_bytes() == GARBAGE
    assert [path.name for path in file.parent.iterdir()] == ["halflap.db"]


@pytest.mark.parametrize("kept", [50, 20_000])
def test_a_truncated_file_is_refused_and_not_touched(run: Run, file: Path, kept: int) -> None:
    run(write(file))
    content = file.read_bytes()[:kept]
    file.write_bytes(content)

    async def scenario() -> None:
        async with opened(file) as store:
            await store.load_catalog()

    with pytest.raises(StoreBrokenError):
        run(scenario())
    assert file.read_bytes() == content


@pytest.mark.parametrize("error", [StoreBrokenError, StoreTooNewError])
def test_a_gateway_does_not_replace_a_store_that_it_cannot_use(
    run: Run, file: Path, error: type[StoreError]
) -> None:
    if error is StoreBrokenError:
        spoiled(file, GARBAGE)
    else:
        run(write(file, note(1)))

    async def scenario() -> None:
        async with Gateway.open({"store": {"path": str(file)}}):
            pass

    with pytest.raises(error):
        run(scenario())


def test_the_database_of_another_program_is_refused(run: Run, file: Path) -> None:
    file.parent.mkdir()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    with pytest.raises(StoreBrokenError, match="photos"):
        run(open_store(file))
    assert tables(file) == {"photos"}


def test_a_folder_in_the_place_of_the_file_keeps_its_rights(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    with pytest.raises(StoreError):
        run(open_store(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


async def test_a_gateway_whose_store_cannot_be_made_continues_in_memory_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    settings = {"store": {"path": str(tmp_path / "file" / "halflap.db")}}
    async with Gateway.open(settings) as gateway:
        assert await gateway.tools() == ()
        assert "cannot be used" in (gateway.store_trouble or "")
        assert gateway.parts.store.location == "memory"
    assert caplog.records


UNPRIVILEGED = """
import asyncio, os, sys
from pathlib import Path
from halflap.store import open_store
from halflap.core.errors import StoreError

async def main():
    # Loads all that is needed, which the user that we become may not be able to read.
    await (await open_store(None)).close()
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    await open_store(Path(sys.argv[1]))

try:
    asyncio.run(main())
except StoreError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_to_is_an_error_with_the_reason() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o555)
        ended = subprocess.run(
            [sys.executable, "-c", UNPRIVILEGED, str(Path(folder, "halflap.db"))],
            capture_output=True,
            text=True,
            check=False,
        )
    assert ended.stderr == ""
    assert ended.stdout.startswith("StoreError The store ")
    assert "denied" in ended.stdout


FULL = """
import asyncio, resource, signal, sys
from pathlib import Path
from store.rows import putting, server, tool
from halflap.core.errors import StoreError
from halflap.store import open_store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

async def main():
    store = await open_store(Path(sys.argv[1]))
    await store.update_server("one", putting(server(), tool()))
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    big = {"description": "x" * 1_000_000}
    try:
        await store.update_server("one", putting(server(), tool(), tool("big", definition=big)))
    finally:
        print([kept.original_name for kept in (await store.load_catalog()).tools])
        await store.close()

try:
    asyncio.run(main())
except StoreError as error:
    print(type(error).__name__, error)
"""


def on_a_full_disk(file: Path) -> str:
    tests = str(Path(rows.__file__).parent.parent)
    ended = subprocess.run(
        [sys.executable, "-c", FULL, str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])},
    )
    assert ended.stderr == ""
    return ended.stdout


def test_a_disk_that_gets_full_costs_only_what_did_not_fit(file: Path) -> None:
    kept, error = on_a_full_disk(file).splitlines()
    assert kept == "['t']"
    assert error.startswith(f"StoreError The store {file} cannot be used: ")


@pytest.mark.slow
def test_a_backup_that_does_not_fit_stops_the_migration(run: Run, file: Path) -> None:
    run(write(file))
    before = tables(file)
    script = """
import asyncio, resource, signal, sys
from pathlib import Path
from halflap.core.errors import StoreError
from halflap.store.migrations import MIGRATIONS, Migration
from halflap.store.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (33_000, 33_000))
try:
    more = Migration(MIGRATIONS[-1].number + 1, "", ["CREATE TABLE n (a TEXT)"])
    asyncio.run(Store(Path(sys.argv[1]), [*MIGRATIONS, more]).open())
except StoreError as error:
    print("StoreError", error)
"""
    ended = subprocess.run(
        [sys.executable, "-c", script, str(file)], capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    assert ended.stdout.startswith("StoreError")
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


async def test_opening_that_is_cancelled_leaves_no_thread_behind(file: Path) -> None:
    store = Store(file)
    opening = asyncio.create_task(store.open())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    with pytest.raises(StoreError, match="is closed"):
        await store.load_catalog()
