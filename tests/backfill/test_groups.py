"""Many small files, and a run that is killed."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from backfill.logs import KEY, SHOP, backfill, found_in, lines, observations, trace, traces
from halflap.backfill import Rules
from halflap.backfill.found import NOTHING_FOUND
from halflap.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def write(folder: Path, **files: bytes) -> None:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.jsonl").write_bytes(data)


def test_files_give_the_same_together_and_one_by_one(run: Run, tmp_path: Path) -> None:
    files = {
        "plain": traces(0, 5),
        "document": json.dumps([trace(7), trace(8, "text")], indent=1).encode(),
        "packed": gzip.compress(traces(20, 29)),
        "paired": lines({"type": "function_call", "call_id": "c", "name": "get_order", "arguments": "{}"})
        + lines({"type": "function_call_output", "call_id": "c", "output": "{}"}),
        "odd": b'{"level": "info"}\nbad\n' + lines(trace(31)),
    }
    write(tmp_path / "logs", **files)
    each = [found_in(gzip.decompress(data) if name == "packed" else data) for name, data in files.items()]
    whole = NOTHING_FOUND
    for found in each:
        whole = whole.merge(found)

    async def main() -> None:
        store = await open_store(None)
        summary = await backfill(store, tmp_path / "logs")
        assert [one.learned for one in await store.learned()] == [whole.shapes[KEY]]
        told = {source.name.rpartition("/")[2].partition(".")[0]: source.found for source in summary.sources}
        for name, found in zip(files, each, strict=True):
            assert told[name].observations == found.observations
            assert (told[name].bad, told[name].other) == (found.bad, found.other)
        await store.close()

    run(main())


def test_a_refused_file_does_not_stop_the_others(run: Run, tmp_path: Path) -> None:
    write(tmp_path / "logs", a=traces(0, 3), b=lines(trace(50, tool="bare")), c=traces(60, 64))

    async def main() -> None:
        store = await open_store(None)
        summary = await backfill(store, tmp_path / "logs", rules=Rules())
        assert sorted(source.state for source in summary.sources) == ["counted", "counted", "refused"]
        assert await observations(store) == 7
        assert (await backfill(store, tmp_path / "logs", rules=SHOP)).observations == 1
        await store.close()

    run(main())


def marks(place: Path) -> list[Any]:
    """Say how far everything is read, by what is on the disk."""
    with (
        contextlib.suppress(sqlite3.Error),
        contextlib.closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True)) as it,
    ):
        return sorted(it.execute("SELECT origin, watermark FROM watermarks"))
    return []


@pytest.mark.slow
def test_a_killed_run_loses_and_doubles_nothing(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    write(
        folder,
        large=traces(0, 150_000),
        **{f"s{one}": traces(one, one + 40) for one in range(200_000, 200_300)},
    )
    code = (
        "import asyncio, pathlib, sys\n"
        "from halflap.backfill import Backfill, Rules, passes, work\n"
        "from halflap.store import open_store\n"
        "passes._SECONDS_BETWEEN_WRITES = work._SECONDS_BEFORE_WRITING = 0.05\n"
        "async def main():\n"
        "    store = await open_store(pathlib.Path(sys.argv[1]))\n"
        "    await Backfill(store, Rules(server='shop')).run([sys.argv[2]])\n"
        "asyncio.run(main())\n"
    )
    place = tmp_path / "s.db"
    for _ in range(4):
        before = marks(place)
        with subprocess.Popen(
            [sys.executable, "-c", code, str(place), str(folder)],
            start_new_session=True,
            stderr=subprocess.DEVNULL,
        ) as process:
            # Something was stored, and more is under way.
            while process.poll() is None and marks(place) == before:
                time.sleep(0.01)
            os.killpg(process.pid, signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL

    async def main() -> None:
        store = await open_store(place)
        assert 0 < await observations(store) < 150_000 + 300 * 40
        await backfill(store, folder)
        assert await observations(store) == 150_000 + 300 * 40
        await store.close()

    run(main())
