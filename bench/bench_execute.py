"""Programs over tools, compared with the same calls made directly with the `mcp` client, in one run.

The claims: a program with one call takes at most 6 ms more than the call. On a server that takes 20 ms for each,
one with 50 calls after each other takes at most 1.3 times as long as they take directly, and with 50 at the same time it
is at least 3 times as fast. Both sides use servers of the same kind, in turn, round after round, and medians are
compared. Between them is a pause, in which the next child is forked and the record is written. The programs per second
include all of that: they run without a pause.

A server that takes next to no time shows what a call costs beyond the server's own time. Calls of tools that are not
known to be read-only are written to disk before they are sent, which is a good part of it.

FastMCP's code mode runs the same program on the same server, if `make .venv/clients/fastmcp` has installed it. The goals:
one call within 2.5 times the direct call, at least FastMCP's programs per second, at most 5 ms of the gateway's processor
time for each. They are shown, not enforced.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from halflap import Gateway
from halflap.config import Config

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PAUSE_SECONDS = 0.05
ROUNDS = int(os.environ.get("HALFLAP_BENCH_ROUNDS", "15"))
ROOT = Path(__file__).parent.parent
SERVER = [str(ROOT / "tests" / "servers" / "echo.py")]
FASTMCP = Path(sys.prefix, "clients", "fastmcp", "bin", "python")
HAS_FASTMCP = FASTMCP.exists()
MAX_EXTRA_MS, MAX_RATIO, MIN_GAIN = 6.0, 1.3, 3.0
ONE = "print(await mcp__echo__echo(text='a'))"
SEQUENTIAL = "for i in range(50):\n    await mcp__echo__echo(text='a')"
READ_ONLY = "for i in range(50):\n    await mcp__echo__meta()"
SLOW_SEQUENTIAL = "for i in range(50):\n    await mcp__echo__sleep(seconds=0.02)"
PARALLEL = "import asyncio\nawait asyncio.gather(*(mcp__echo__sleep(seconds=0.02) for i in range(50)))"


async def timed(work: Callable[[], Awaitable[Any]]) -> float:
    """Return how many milliseconds something takes."""
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def measure(works: dict[str, Callable[[], Awaitable[Any]]], rounds: int) -> dict[str, float]:
    """Do all of them in turn, round after round; return the medians."""
    for work in works.values():
        await work()
    times: dict[str, list[float]] = {label: [] for label in works}
    for _ in range(rounds):
        for label, work in works.items():
            # What one still does after its answer must not delay the next.
            await asyncio.sleep(PAUSE_SECONDS)
            times[label].append(await timed(work))
    return {label: statistics.median(values) for label, values in times.items()}


async def rate(gateway: Gateway, code: str, at_once: int, seconds: float = 3.0) -> tuple[float, float]:
    """Return how many programs run in a second, and the gateway's CPU time for each in milliseconds."""
    until, done = time.perf_counter() + seconds, 0

    async def repeat() -> None:
        nonlocal done
        while time.perf_counter() < until:
            assert (await gateway.execute(code)).ok
            done += 1

    began, used = time.perf_counter(), time.process_time()
    await asyncio.gather(*(repeat() for _ in range(at_once)))
    return done / (time.perf_counter() - began), (time.process_time() - used) * 1000 / done


async def fastmcp() -> dict[str, float] | None:
    """Run the same program with FastMCP, if it is installed."""
    if not HAS_FASTMCP:
        return None
    script = str(Path(__file__).parent / "fastmcp_peer.py")
    process = await asyncio.create_subprocess_exec(
        str(FASTMCP), script, SERVER[0], str(ROUNDS * 2), "3", stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    output, _ = await process.communicate()
    figures: dict[str, float] = json.loads(output.splitlines()[-1])
    return figures


def private_kilobytes(below: int) -> list[int]:
    """Return the private memory of the locked children, which are two levels below the processes that we started."""
    parents, sizes = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            rollup = (folder / "smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        sizes[int(folder.name)] = sum(int(line.split()[1]) for line in rollup if line.startswith("Private"))
    servers = {pid for pid, parent in parents.items() if parents.get(parent) == below}
    return [sizes[pid] for pid, parent in parents.items() if parent in servers and pid in sizes]


async def main() -> int:
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        entry = {"name": "echo", "command": sys.executable, "args": SERVER, "max_concurrent_calls": 64}
        settings = {
            "servers": [entry],
            "execution": {"max_concurrent_calls": 64},
            "tools": {"read_only": ["mcp__echo__meta"]},
        }
        config = replace(Config.from_mapping(settings), data_dir=Path(folder))
        gateway = await stack.enter_async_context(Gateway.open(config))
        parameters = StdioServerParameters(command=sys.executable, args=SERVER)
        client = await stack.enter_async_context(Client(stdio_client(parameters)))

        def program(code: str) -> Callable[[], Awaitable[Any]]:
            async def run() -> None:
                execution = await gateway.execute(code)
                assert execution.ok, execution.text

            return run

        def direct(tool: str, count: int, **arguments: Any) -> Callable[[], Awaitable[Any]]:
            async def call() -> None:
                for _ in range(count):
                    assert not (await client.call_tool(tool, arguments)).is_error

            return call

        quick = await measure({"program": program(ONE), "direct": direct("echo", 1, text="a")}, ROUNDS * 4)
        fifty = await measure(
            {
                "program": program(SEQUENTIAL),
                "read-only": program(READ_ONLY),
                "direct": direct("echo", 50, text="a"),
            },
            ROUNDS,
        )
        slow = await measure(
            {
                "program": program(SLOW_SEQUENTIAL),
                "direct": direct("sleep", 50, seconds=0.02),
                "parallel": program(PARALLEL),
            },
            max(3, ROUNDS // 3),
        )
        empty = await measure({"program": program("pass")}, ROUNDS * 4)
        numbers = itertools.count()

        async def unseen() -> None:
            await program(f"x = {next(numbers)}\n{ONE}")()

        fresh = await measure({"program": unseen}, ROUNDS * 2)
        extra = quick["program"] - quick["direct"]
        ratio = slow["program"] / slow["direct"]
        each = {label: (fifty[label] - fifty["direct"]) / 50 for label in ("program", "read-only")}
        gain = slow["direct"] / slow["parallel"]
        print(f"medians of {ROUNDS * 4}, {ROUNDS} and {max(3, ROUNDS // 3)} rounds, measured in turn")
        print(f"  a program without a call        {empty['program']:8.2f} ms")
        print(
            f"  one call                        {quick['program']:8.2f} ms, directly {quick['direct']:.2f} ms: "
            f"{quick['program'] / quick['direct']:.1f} x (goal 2.5), {extra:.2f} ms more (at most {MAX_EXTRA_MS:g})"
        )
        print(
            f"  50 after each other             {fifty['program']:8.1f} ms, directly {fifty['direct']:.1f} ms: "
            f"{each['program']:.2f} ms more for each, {each['read-only']:.2f} if known to be read-only"
        )
        print(
            f"  50 after each other, 20 ms each {slow['program']:8.1f} ms, directly {slow['direct']:.1f} ms: "
            f"{ratio:.2f} x (at most {MAX_RATIO:g})"
        )
        print(
            f"  50 together, 20 ms each         {slow['parallel']:8.1f} ms: {gain:.1f} x as fast as directly after "
            f"each other (at least {MIN_GAIN:g})"
        )
        print(f"  one call, never seen before     {fresh['program']:8.2f} ms: it is checked first")
        for label, code in (("without a call", "print(sum(range(100)))"), ("with one call", ONE)):
            (alone, _), (eight, cpu) = await rate(gateway, code, 1), await rate(gateway, code, 8)
            print(
                f"  programs per second {label:14}{alone:6.0f} one at a time, {eight:.0f} eight at a time, "
                f"{cpu:.1f} ms of CPU each in the gateway (goal 5)"
            )
        if (other := await fastmcp()) is not None:
            print(
                f"  FastMCP's code mode             {other['one_ms']:8.2f} ms for one call, {other['fresh_ms']:.2f} ms "
                f"never seen before, {other['per_second']:.0f} per second eight at a time"
            )
        if sizes := private_kilobytes(os.getpid()):
            print(f"  private memory of a waiting one {statistics.median(sizes) / 1024:8.1f} MiB")
    return 0 if extra <= MAX_EXTRA_MS and ratio <= MAX_RATIO and gain >= MIN_GAIN else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
