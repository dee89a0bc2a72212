"""What `halflap runs` says of a store that cannot be opened, or not be written to."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from cli.program import halflap
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


@pytest.mark.slow
def test_a_store_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data" / "halflap.db").mkdir(parents=True)
    for command, then in {
        ("runs",): "The recorded runs can't be read.",
        PURGE: "Nothing was deleted.",
    }.items():
        done = halflap(*command, home=tmp_path)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith("Error [store]: ")
        assert then in done.err
    assert_refused(tmp_path)


def mount(*arguments: str) -> None:
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount, and on Linux")
    if subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode:
        pytest.skip("nothing can be mounted here")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """Return a home whose data is on a disk of its own, with a run in it."""
    (tmp_path / "data").mkdir()
    mount("-t", "tmpfs", "-o", "size=2m", "none", str(tmp_path / "data"))
    try:
        asyncio.run(fill(tmp_path / "data" / "halflap.db"))
        yield tmp_path
    finally:
        subprocess.run(["umount", "-l", str(tmp_path / "data")], check=True)


def assert_refused(home: Path) -> None:
    for command in (("runs",), ("runs", "show", RUN), PURGE):
        done = halflap(*command, "--json", home=home)
        assert (done.code, done.json["code"]) == (1, "store")


@pytest.mark.slow
def test_a_store_on_a_read_only_disk_is_reported(mounted: Path) -> None:
    mount("-o", "remount,ro", str(mounted / "data"))
    assert_refused(mounted)


@pytest.mark.slow
def test_a_store_on_a_full_disk_is_reported(mounted: Path) -> None:
    with (mounted / "data" / "filling").open("wb", buffering=0) as filling:
        chunk = bytes(4096)
        with contextlib.suppress(OSError):
            while filling.write(chunk):
                pass
    assert_refused(mounted)
