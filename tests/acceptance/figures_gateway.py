"""A gateway over in-process MCP servers that serve given definitions and replay given results."""

from __future__ import annotations

import asyncio
import json
import resource
from collections import defaultdict, deque
from contextlib import asynccontextmanager
from itertools import islice
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types
from mcp.server.lowlevel import Server

from halflap import Gateway

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

T = TypeVar("T")
Call = tuple[str, dict[str, Any], Any]
"""A tool, its arguments and its result."""
AT_A_TIME = 64
_HOUR_MS = 3_600_000


class Replay:
    """A server that offers tools by their definitions; each call returns the next result for its arguments.

    Results are matched by arguments, because concurrent calls may arrive in any order.
    """

    def __init__(self, definitions: Iterable[Mapping[str, Any]], about: str | None = None) -> None:
        self._tools = [mcp_types.Tool.model_validate(one) for one in definitions]
        self._results: dict[tuple[str, str], deque[Any]] = defaultdict(deque)
        self.called: list[str] = []
        self.server: Server[Any] = Server(
            "replay", instructions=about, on_list_tools=self._list, on_call_tool=self._call
        )

    def add(self, tool: str, arguments: Mapping[str, Any], result: Any) -> None:
        self._results[tool, json.dumps(arguments, sort_keys=True)].append(result)

    async def _list(self, *_: object) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=self._tools, ttl_ms=_HOUR_MS)

    async def _call(self, _: object, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        self.called.append(params.name)
        waiting = self._results[params.name, json.dumps(params.arguments or {}, sort_keys=True)]
        value = waiting.popleft() if waiting else "ok"
        text = value if isinstance(value, str) else json.dumps(value)
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=text)])


@asynccontextmanager
async def opened(servers: Mapping[str, Replay], **config: Any) -> AsyncIterator[Gateway]:
    """Open a gateway over these servers, with all their tools listed and an empty store."""
    memory = {name: one.server for name, one in servers.items()}
    with TemporaryDirectory() as folder:
        settings = {"store": {"path": f"{folder}/store.db"}, **config}
        async with Gateway.open(settings, servers=memory) as gateway:
            await gateway.refresh()
            yield gateway


async def replayed(gateway: Gateway, replay: Replay, calls: Iterable[Call]) -> None:
    """Call tools of the server `replay`, so that the gateway sees the given results."""
    for some in batched(calls, AT_A_TIME):
        for tool, arguments, result in some:
            replay.add(tool, arguments, result)
        await asyncio.gather(
            *(gateway.call_tool(f"mcp__replay__{tool}", arguments) for tool, arguments, _ in some)
        )


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    waiting = iter(items)
    while some := list(islice(waiting, size)):
        yield some


async def edges_into(gateway: Gateway, tool: str) -> list[dict[str, Any]]:
    """Return the edges into a tool in the form of `halflap graph --json`, the most confident first."""
    graph = await gateway.graph()
    return [edge.to_json() for edge in graph.into(tool)]


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its exited children."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
