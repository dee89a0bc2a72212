"""What `halflap runs` says of a store that cannot be opened, or not be written to."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from cli.program import each, halflap
from halflap.core.errors import StoreError, StoreTooNewError
from halflap.store import open_store
from store.rows import call, run_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN = "0198c3f2a41b9e0700000000aaaa"
PURGE = ("runs", "purge", "--all", "--yes")


async def fill(file: Path) -> None:
    store = await open_store(file)
    runs = [run_of(1, id=RUN, code="print(1)", output="1\n", started_at=time.time())]
    await store.record(runs=runs, calls=[call(1, run=RUN, started_at=time.time())])
    await store.close()


async def read(file: Path) -> list[str]:
    store = await open_store(file, read_only=True)
    try:
        return [run.id for run in await store.runs(10)]
    finally:
        await store.close()


# Nothing can be opened -----------------------------------------------------------------------------------


@pytest.fixture
def unusable(tmp_path: Path) -> Path:
    (tmp_path / "data" / "halflap.db").mkdir(parents=True)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "then"),
    [
        (("runs",), "The recorded runs can't be read."),
        (("runs", "show", RUN), "The recorded runs can't be read."),
        (PURGE, "Nothing was deleted."),
    ],
    ids=["list", "show", "purge"],
)
def test_a_store_that_cannot_be_opened_is_an_error(
    unusable: Path, command: tuple[str, ...], then: str
) -> None:
    runs = each({"text": command, "json": (*command, "--json")}, unusable)
    done = runs["text"]
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error [store]: ")
    assert then in done.err
    done = runs["json"]
    assert (done.code, done.err) == (1, "")
    assert (done.json["error"], done.json["code"]) == (True, "store")


# It can be read, but not written ----------------------------------------------------------------------------


def _mount(*arguments: str) -> None:
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount, and on Linux")
    if subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """Return a home whose data is on a disk of its own, with a run in it."""
    (tmp_path / "data").mkdir()
    _mount("-t", "tmpfs", "-o", "size=2m", "none", str(tmp_path / "data"))
    try:
        asyncio.run(fill(tmp_path / "data" / "halflap.db"))
        yield tmp_path
    finally:
        subprocess.run(["umount", "-l", str(tmp_path / "data")], check=True)


def assert_read_only(home: Path) -> None:
    done = halflap("runs", home=home)
    assert (done.code, done.out.split("\t")[0]) == (0, RUN)
    assert "It can be read, but nothing is recorded now." in done.err
    shown = halflap("runs", "show", RUN[:16], "--json", home=home)
    assert (shown.code, shown.json["output"], len(shown.json["calls"])) == (0, "1\n", 1)
    assert halflap("runs", "show", "0123", home=home).code == 2
    purged = halflap(*PURGE, "--json", home=home)
    assert (purged.code, purged.json["code"]) == (1, "store")
    assert "Nothing was deleted." in purged.json["message"]


@pytest.mark.slow
def test_a_store_on_a_read_only_disk_is_read_and_not_purged(mounted: Path) -> None:
    _mount("-o", "remount,ro", str(mounted / "data"))
    assert_read_only(mounted)


@pytest.mark.slow
def test_a_store_on_a_full_disk_is_read_and_not_purged(mounted: Path) -> None:
    with (mounted / "data" / "filling").open("wb", buffering=0) as filling:
        chunk = bytes(4096)
        with contextlib.suppress(OSError):
            while filling.write(chunk):
                pass
    assert_read_only(mounted)


@pytest.mark.slow
def test_changes_that_are_only_in_the_log_are_not_passed_over(mounted: Path) -> None:
    file = mounted / "data" / "halflap.db"
    log = file.with_name("halflap.db-wal")
    with closing(sqlite3.connect(file)) as writer:
        writer.execute("UPDATE runs SET output = 'changed'")
        writer.commit()
        # As a gateway leaves them that is killed: to read the log takes a file that cannot be made now.
        left = {path: path.read_bytes() for path in (file, log)}
    for path, data in left.items():
        path.write_bytes(data)
    _mount("-o", "remount,ro", str(mounted / "data"))
    done = halflap("runs", "show", RUN, "--output", home=mounted)
    assert (done.code, done.out) == (1, "")
    assert "The recorded runs can't be read." in done.err


# Within --------------------------------------------------------------------------------------------------


def test_a_store_that_is_read_cannot_be_changed_and_makes_no_file(tmp_path: Path) -> None:
    file = tmp_path / "a ?#% b.db"
    with pytest.raises(StoreError):
        asyncio.run(read(file))
    assert not list(tmp_path.glob("*.db*"))
    asyncio.run(fill(file))
    assert asyncio.run(read(file)) == [RUN]

    async def change() -> None:
        store = await open_store(file, read_only=True)
        try:
            await store.purge(everything=True)
        finally:
            await store.close()

    with pytest.raises(StoreError, match="readonly"):
        asyncio.run(change())


NEWEST = "WHERE number = (SELECT max(number) FROM halflap_version)"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (f"UPDATE halflap_version SET number = number + 1 {NEWEST}", StoreTooNewError),
        (f"DELETE FROM halflap_version {NEWEST}", StoreError),
    ],
    ids=["newer", "older"],
)
def test_a_store_of_another_version_is_not_read(tmp_path: Path, change: str, error: type[Exception]) -> None:
    file = tmp_path / "halflap.db"
    asyncio.run(fill(file))
    with closing(sqlite3.connect(file)) as writer:
        writer.execute(change)
        writer.commit()
    with pytest.raises(error, match=r"(newer|older) Halflap"):
        asyncio.run(read(file))
