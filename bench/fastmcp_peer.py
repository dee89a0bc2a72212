"""The same programs with FastMCP's code mode; `bench_execute.py` runs this in FastMCP's own environment.

Prints JSON: the median time of a program with one call, repeated and never seen before, and programs a second.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.experimental.transforms.code_mode import CodeMode
from fastmcp.server import create_proxy

CODE = "x = {}\nreturn await call_tool('echo', {{'text': 'a'}})"


async def main(server: str, rounds: int, seconds: float) -> dict[str, float]:
    # A client that is connected already is used for every call; a configuration would start the server for each.
    async with Client(StdioTransport(sys.executable, [server])) as upstream:
        front: FastMCP[Any] = FastMCP("peer", transforms=[CodeMode()])
        front.mount(create_proxy(upstream))
        async with Client(front) as client:

            async def program(number: int) -> None:
                result = await client.call_tool("execute", {"code": CODE.format(number)})
                assert not result.is_error

            async def timed(number: int) -> float:
                await asyncio.sleep(0.05)
                began = time.perf_counter()
                await program(number)
                return (time.perf_counter() - began) * 1000

            await program(0)
            once = statistics.median([await timed(0) for _ in range(rounds)])
            fresh = statistics.median([await timed(number) for number in range(1, rounds + 1)])
            done, until = 0, time.perf_counter() + seconds

            async def repeat() -> None:
                nonlocal done
                while time.perf_counter() < until:
                    await program(0)
                    done += 1

            began = time.perf_counter()
            await asyncio.gather(*(repeat() for _ in range(8)))
            rate = done / (time.perf_counter() - began)
    return {"one_ms": once, "fresh_ms": fresh, "per_second": rate}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))))
