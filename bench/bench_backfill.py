"""How fast logs are learned from, and in how much memory.

The log is made by `payloads`, a gigabyte unless another number of megabytes is given. It is read with two processes, as one
file and as twenty. Claims: both learn the same shapes, no process takes more than 200 MB, and a gigabyte takes at most 20
seconds on two idle cores. Smaller logs are slower per byte: processes have to start, and in the first 100 MB values are
followed from results into arguments. Beside it: how fast `json.loads` and `orjson.loads` alone read the same lines on one
core.
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

DEFAULT_MB, MAX_SECONDS, MAX_MEMORY_MB, FILES = 1_000, 20, 200, 20
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


def _run(paths: list[str], answer: Any) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await open_store(Path(folder) / "store.db")
            began = time.perf_counter()
            await Backfill(store, Rules(server="bench"), jobs=2).run(paths)
            seconds = time.perf_counter() - began
            used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
            cpu = sum(one.ru_utime + one.ru_stime for one in used)
            shapes = {one.key: one.learned.to_json() for one in await store.learned()}
            await store.close()
        answer.send(Run(seconds, cpu, max(one.ru_maxrss for one in used) * 1024 / _MB, shapes))

    asyncio.run(main())


def backfill(paths: Sequence[Path]) -> Run:
    """Run it in a new process, to measure its memory."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=([str(path) for path in paths], theirs))
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
            for number, path in enumerate(split, start=1):
                with path.open("wb") as file:
                    while lines.tell() < number * whole.stat().st_size / FILES:
                        file.write(lines.readline())
        runs = {"one file": backfill([whole]), f"{FILES} files": backfill(split)}
    for name, run in runs.items():
        speed = megabytes / run.seconds
        print(
            f"  {name:<9} {run.seconds:>6.1f} s ({run.cpu_seconds:.1f} s CPU) {speed:>5.0f} MB/s {run.memory_mb:>5.0f} MB memory"
        )
    one, other = runs.values()
    is_same = one.shapes == other.shapes
    print(f"  what was learned is {'the same' if is_same else 'NOT the same'}")
    # A run that had to share the processors says nothing about the claim.
    idle = [run for run in (one, other) if run.cpu_seconds > 1.6 * run.seconds]
    is_fast = all(run.seconds <= MAX_SECONDS * max(1.0, megabytes / DEFAULT_MB) for run in idle)
    return 0 if is_same and is_fast and all(run.memory_mb <= MAX_MEMORY_MB for run in runs.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
