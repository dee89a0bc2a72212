"""A call with learning on, beside one with it off, in one run.

The claim: the median call takes at most 2 % and 50 µs longer. Both gateways talk to a server of the same kind that
takes next to no time, in turn, calling without pause for longer than it takes until results are looked at and
written; what is left of it is done before the other's turn. The tools are read-only, so that nothing is written
before a call is sent. `one` returns a structured result of usual width, `many` a text of 20 KB that is JSON; of the
latter no values are recorded, since to redact them takes longer than the call, now and then. Whatever else the
machine does only ever adds to a time, so of each gateway's turns the quietest third is compared.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from halflap import Gateway
from halflap.config import Config

ROUNDS = int(os.environ.get("HALFLAP_BENCH_ROUNDS", "9"))
SECONDS = 1.5
SHARE, EXTRA_US = 0.02, 50.0
SERVER = Path(__file__).parent.parent / "tests" / "servers" / "records.py"


def config(*, learning: bool) -> Config:
    return Config.from_mapping(
        {
            "servers": [{"name": "records", "command": sys.executable, "args": [str(SERVER)]}],
            "learning": {"enabled": learning},
            "tools": {"read_only": ["mcp__records__*"]},
            "traces": {"per_tool": {"mcp__records__many": "metadata"}},
        }
    )


async def block(gateway: Gateway, name: str) -> list[float]:
    """Make calls after each other for a while; give how long each took, in microseconds."""
    times: list[float] = []
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        began = time.perf_counter()
        await gateway.call(name, number=len(times))
        times.append((time.perf_counter() - began) * 1e6)
    # Nothing of this is to go on while the other is measured.
    await gateway.inspect(name)
    await gateway.recent_calls(1)
    return times


async def main() -> int:
    fine = True
    async with AsyncExitStack() as stack:
        gateways: dict[str, Gateway] = {}
        for label, learning in (("off", False), ("on", True)):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            settings = replace(config(learning=learning), data_dir=folder)
            gateways[label] = await stack.enter_async_context(Gateway.open(settings))
            await gateways[label].tools()
        for tool in ("one", "many"):
            turns: dict[str, list[list[float]]] = {label: [] for label in gateways}
            for gateway in gateways.values():
                await block(gateway, f"mcp__records__{tool}")
            for turn in range(ROUNDS):
                # Each goes first as often as the other.
                order: list[Any] = list(gateways.items())
                for label, gateway in order if turn % 2 else reversed(order):
                    turns[label].append(await block(gateway, f"mcp__records__{tool}"))
            times = {label: quietest(each) for label, each in turns.items()}
            off, on = (statistics.median(times[label]) for label in ("off", "on"))
            most = off * (1 + SHARE) + EXTRA_US
            fine = fine and on <= most
            print(
                f"{tool:5} p50 off {off:7.0f} µs, on {on:7.0f} µs ({on - off:+.0f} µs, allowed {most - off:+.0f}); "
                f"p95 off {quantile(times['off']):7.0f} µs, on {quantile(times['on']):7.0f} µs"
            )
        known = await gateways["on"].inspect("mcp__records__one")
        print(f"learned of {known['observations']} results, confidence {known['confidence']}")
    print("holds" if fine else "DOES NOT HOLD")
    return 0 if fine else 1


def quietest(turns: list[list[float]]) -> list[float]:
    best = sorted(turns, key=statistics.median)[: max(1, len(turns) // 3)]
    return [each for turn in best for each in turn]


def quantile(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
