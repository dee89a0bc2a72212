"""How fast history becomes knowledge, and in how much memory: one core and two, side by side.

The traces of an airline desk, repeated up to so many megabytes (`bench_backfill.py 1000` is the gigabyte of the
claim; 200 by default, to be bearable), or made-up ones where the shared data is absent. Beside it how fast the same
lines are read by `json.loads` and by `orjson.loads` alone, on one core. The claims: one core and two learn exactly the
same; no process takes more than 150 MB, and none of them takes more for all than for a quarter of it.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from halflap.backfill import Backfill, Rules
from halflap.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable

MEGABYTES = 200
MOST_MEMORY = 150
"""In MB, of any one process."""
MORE_MEMORY = 1.25
"""Times as much for four times as much to read: what is measured varies with where things come to lie."""
ROOT = Path(__file__).parent.parent
TRACES = Path(os.environ.get("HALFLAP_SHARED", ROOT.parent / "shared")) / "data" / "airline_traces.jsonl"
_MB = 1_000_000


@dataclass(frozen=True)
class Run:
    """What a run took, and what it learned."""

    seconds: float
    work: float
    """Processor time, of all processes together: on a machine that does other things too, it says more."""
    own: float
    """The memory of the process that reads, or has others read, in MB."""
    workers: float
    """That of the largest of the others."""
    learned: Any


def traces() -> tuple[str, bytes]:
    if TRACES.exists():
        return "the airline traces", TRACES.read_bytes()
    chance = random.Random(5)
    made = [
        {
            "run": "r",
            "seq": number,
            "tool": f"tool_{chance.randrange(14)}",
            "arguments": {"id": chance.randrange(10**6)},
            "result": {
                "id": chance.randrange(10**6),
                "rows": [{"name": "x" * chance.randrange(30), "price": chance.random()} for _ in range(9)],
            },
            "is_error": False,
        }
        for number in range(1_200)
    ]
    return "made-up traces", b"".join(json.dumps(record).encode() + b"\n" for record in made)


def written(folder: Path, data: bytes, megabytes: float) -> Path:
    path = folder / f"{megabytes:g}.jsonl"
    with path.open("wb") as file:
        while file.tell() < megabytes * _MB:
            file.write(data)
    return path


def reading(data: bytes, loads: Callable[[bytes], Any]) -> float:
    """Say how many MB of lines are read in a second."""
    lines = data.splitlines() * 10
    began = time.process_time()
    for line in lines:
        loads(line)
    return sum(map(len, lines)) / _MB / (time.process_time() - began)


def _run(path: str, jobs: int, lineage: bool, answer: Any) -> None:
    async def main() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await open_store(Path(folder) / "store.db")
            began = time.perf_counter()
            await Backfill(store, Rules(server="airline", lineage=lineage), jobs=jobs).run([path])
            seconds = time.perf_counter() - began
            used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
            work = sum(one.ru_utime + one.ru_stime for one in used)
            own, workers = (one.ru_maxrss * 1024 / _MB for one in used)
            learned = {one.key: one.learned.to_json() for one in await store.learned()}
            await store.close()
        answer.send(Run(seconds, work, own, workers, learned))

    asyncio.run(main())


def backfilled(path: Path, jobs: int, *, lineage: bool = True) -> Run:
    """Run it in a process of its own, whose memory is its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(str(path), jobs, lineage, theirs))
    process.start()
    theirs.close()
    run: Run = ours.recv()
    process.join()
    return run


def main() -> int:
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    what, data = traces()
    print(f"Backfill of {what}, repeated to {megabytes:g} MB (wall time; memory is the peak of a process)")
    print(
        f"  json.loads alone {reading(data, json.loads):.0f} MB/s, orjson.loads alone {reading(data, orjson.loads):.0f} MB/s"
    )
    print(
        f"  {'':<10} {'seconds':>8} {'of work':>8} {'MB/s':>6} {'reader':>9} {'worker':>9} {'for a quarter':>21}"
    )
    runs: dict[int, Run] = {}
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        part, whole = (written(Path(folder), data, size) for size in (megabytes / 4, megabytes))
        size = whole.stat().st_size / _MB
        alone = backfilled(whole, 1, lineage=False)
        for jobs in (1, 2):
            less, run = backfilled(part, jobs), backfilled(whole, jobs)
            runs[jobs] = run
            print(
                f"  {jobs} core{'s' if jobs > 1 else ' '}    {run.seconds:>8.1f} {run.work:>8.1f} {size / run.seconds:>6.1f} "
                f"{run.own:>6.0f} MB {run.workers:>6.0f} MB {less.own:>9.0f} MB {less.workers:>6.0f} MB"
            )
            for most, least in ((run.own, less.own), (run.workers, less.workers)):
                holds = holds and most <= MOST_MEMORY and most <= MORE_MEMORY * max(least, 1)
    same = runs[1].learned == runs[2].learned
    print(
        f"  two cores: {runs[1].seconds / runs[2].seconds:.2f} x as fast; what was learned is {'the same' if same else 'NOT the same'}"
    )
    print(
        f"  without following values, one core: {alone.work:.1f} s of work, {runs[1].work / alone.work:.2f} x less"
    )
    return 0 if holds and same else 1


if __name__ == "__main__":
    sys.exit(main())
