"""A tool under the contract beside the same function as a bare tool, in one run.

The claim: under 5 % more process time for a result of 10 KB. The bare tool is the same typed function, registered with
`MCPServer.tool`, which derives a schema from its type and sends text and structured content, too. Blocks of calls take
turns; whatever else the machine does only adds to a time, so of each tool's blocks the quietest third is compared. The
same from a client's call to its result is shown beside it: there, most of the time is the client's, which holds every
result against its schema.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from mcp import Client
from mcp.server.mcpserver import MCPServer
from pydantic import Field

from halflap.contract import Contract, invariant, produces, unit
from halflap.contract.mcp import contract_tools

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ROUNDS = int(os.environ.get("HALFLAP_BENCH_ROUNDS", "15"))
CALLS = 100
MOST = 1.05


@dataclass
class Row:
    customer_id: Annotated[str, produces("customer"), Field(min_length=1)]
    name: str
    total_revenue: Annotated[int, unit("USD cents"), Field(ge=0)]
    order_count: int
    last_order_date: str


@dataclass
class Rows:
    customers: list[Row]
    period: str


ROWS = Rows(
    [
        Row(f"CUST-{at:03}", f"Customer number {at}", at * 1_000, at, f"2026-06-{at % 28 + 1:02}")
        for at in range(80)
    ],
    "quarter",
)


def servers() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("bench", log_level="ERROR")
    tool = contract_tools(server, Contract(source="bench"))

    @server.tool()
    async def bare() -> Rows:
        return ROWS

    @tool(invariants=[invariant("customers[].total_revenue", lambda cents: cents >= 0)])
    async def kept() -> Rows:
        return ROWS

    return server


async def compared(call: Callable[[str], Awaitable[Any]]) -> float:
    """Give how much the tool under the contract takes of what the bare one does."""
    times: dict[str, list[float]] = {"bare": [], "kept": []}
    for _ in range(ROUNDS):
        for name, found in times.items():
            began = time.process_time()
            for _ in range(CALLS):
                await call(name)
            found.append(time.process_time() - began)
    quiet = {name: sum(sorted(found)[: max(1, ROUNDS // 3)]) for name, found in times.items()}
    for name, total in quiet.items():
        print(f"  {name}: {total / max(1, ROUNDS // 3) / CALLS * 1e6:.0f} µs a call")
    return quiet["kept"] / quiet["bare"]


async def main() -> int:
    server = servers()
    size = len((await server.call_tool("kept", {})).model_dump_json(include={"structured_content"}))
    print(f"contract: a result of {size / 1000:.1f} KB, {ROUNDS} rounds of {CALLS} calls")
    alone = await compared(lambda name: server.call_tool(name, {}))
    print(f"  the tool: {alone:.3f} of the bare one (at most {MOST})")
    async with Client(server) as client:
        whole = await compared(lambda name: client.call_tool(name, {}))
    print(f"  with a client: {whole:.3f} of the bare one")
    return 0 if alone <= MOST else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
