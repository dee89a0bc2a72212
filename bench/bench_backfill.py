"""How fast logs are learned from, and in how much memory.

The log is made by `payloads`: `bench_backfill.py 1000` writes the gigabyte of the claim, 200 MB is the default. It is read
as one file on one core and on two, and as twenty files on two. Beside it: how fast `json.loads` and `orjson.loads` alone
read the same lines on one core. Claims: all runs learn the same shapes, no process takes more than 200 MB, and a gigabyte
takes at most 20 seconds on two idle cores.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from halflap.backfill import Backfill, Rules
from halflap.store import open_store
from payloads import log_lines, write_log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DEFAULT_MB, MAX_MEMORY_MB, FILES = 200, 200, 20
MB_PER_SECOND = 50
"""The claim, on two idle cores; a slower run fails only if the processors were idle."""
_MB = 1_000_000


class Run(NamedTuple):
    seconds: float
    cpu_seconds: float
    """Of all processes together."""
    memory_mb: float
    """The peak of the largest process."""
    shapes: dict[Any, Any]


def parse_speed(lines: Sequence[bytes], loads: Callable[[bytes], Any]) -> float:
    began = time.process_time()
    for line in lines:
        loads(line)
    return sum(map(len, lines)) / _MB / (time.process_time() - began)


def _run(paths: list[str], jobs: int, answer: Any) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await open_store(Path(folder) / "store.db")
            began = time.perf_counter()
            await Backfill(store, Rules(server="bench"), jobs=jobs).run(paths)
            seconds = time.perf_counter() - began
            used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
            cpu = sum(one.ru_utime + one.ru_stime for one in used)
            shapes = {one.key: one.learned.to_json() for one in await store.learned()}
            await store.close()
        answer.send(Run(seconds, cpu, max(one.ru_maxrss for one in used) * 1024 / _MB, shapes))

    asyncio.run(main())


def backfill(paths: Sequence[Path], jobs: int) -> Run:
    """Run it in a new process, to measure its memory."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=([str(path) for path in paths], jobs, theirs))
    process.start()
    theirs.close()
    run: Run = ours.recv()
    process.join()
    return run


def main() -> int:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_MB
    some = list(islice(log_lines(), 1_000))
    print(f"Backfill of {megabytes:g} MB of varied results")
    print(
        f"  json.loads alone {parse_speed(some, json.loads):.0f} MB/s, orjson.loads {parse_speed(some, orjson.loads):.0f} MB/s"
    )
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.jsonl"
        write_log(whole, int(megabytes * _MB))
        split = [Path(folder) / f"{number}.jsonl" for number in range(FILES)]
        with whole.open("rb") as lines:
            for path in split:
                path.write_bytes(b"".join(lines.readlines(whole.stat().st_size // FILES + 1)))
        runs = {
            "one file, one process": backfill([whole], 1),
            "one file, two processes": backfill([whole], 2),
            f"{FILES} files, two processes": backfill(split, 2),
        }
    for name, run in runs.items():
        speed = megabytes / run.seconds
        print(
            f"  {name:<26} {run.seconds:>6.1f} s ({run.cpu_seconds:.1f} s CPU) {speed:>5.0f} MB/s {run.memory_mb:>5.0f} MB memory"
        )
    first, *others = runs.values()
    is_same = all(run.shapes == first.shapes for run in others)
    was_idle = all(run.cpu_seconds > 1.6 * run.seconds for run in others)
    is_fast = not was_idle or all(megabytes / run.seconds >= MB_PER_SECOND for run in others)
    print(f"  what was learned is {'the same' if is_same else 'NOT the same'}")
    return 0 if is_same and is_fast and all(run.memory_mb <= MAX_MEMORY_MB for run in runs.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
