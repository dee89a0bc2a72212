"""Halflap over HTTP with many clients, beside a bare MCP server in the same run.

The claims: `tools/list` and `search_tools` take at most 2.5 times as long as a list and a call of the same size on a bare
server, with 1, 16 and 64 clients; and with 16 clients the slowest of a hundred programs takes less than three times as
long as the median. The bare server lists the same tools, and its one tool returns what the search returns. Both are
asked in turn, round after round; each client sends its next request when the last was answered.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

from http_load import Connection, Request, call, median, quantile, times_of

ROUNDS = int(os.environ.get("HALFLAP_BENCH_ROUNDS", "3"))
SECONDS = float(os.environ.get("HALFLAP_BENCH_SECONDS", "3"))
MOST, MOST_OF_MEDIAN = 2.5, 3.0
CLIENTS, PROGRAMS_AT_ONCE = (1, 16, 64), 16
SERVERS = Path(__file__).parent.parent / "tests" / "servers"
LIST = Request("tools/list")
SEARCH = call("search_tools", query="echo a text")
PROGRAM = call("execute_program", code="print(await mcp__echo__echo(text='a'))")

BARE = """
import json, sys
import uvicorn
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

tools = [Tool.model_validate(one) for one in json.load(open(sys.argv[1]))]
answer = CallToolResult.model_validate(json.load(open(sys.argv[2])))

async def on_list_tools(context, params):
    return ListToolsResult(tools=tools)

async def on_call_tool(context, params):
    return answer

server = Server("bare", on_list_tools=on_list_tools, on_call_tool=on_call_tool)
config = uvicorn.Config(server.streamable_http_app(), port=int(sys.argv[3]), log_level="error")
uvicorn.Server(config).run()
"""


@contextmanager
def process(*command: str, env: dict[str, str]) -> Iterator[int]:
    """Run a command as long as the block lasts; its process id is the value."""
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as started:
        try:
            yield started.pid
        finally:
            started.terminate()


async def answered(port: int, token: str, request: Request) -> dict[str, Any]:
    """Return the first answer of a server that is just starting."""
    for _ in range(300):
        connection = Connection(port, token)
        try:
            await connection.open()
            result = await connection.send(request)
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.1)
            continue
        connection.close()
        return result
    raise RuntimeError(f"Nothing answers on port {port}.")


def free_port() -> int:
    import socket  # noqa: PLC0415 -- only here

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


async def main() -> int:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        echo = {"command": sys.executable, "args": [str(SERVERS / "echo.py")]}
        settings = {"mcpServers": {"echo": echo}, "http": {"tokens": {"bench": "bench-token-for-one-run"}}}
        (folder / "halflap.json").write_text(json.dumps(settings))
        env = {
            **os.environ,
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
        }
        ours, bare, token = free_port(), free_port(), "bench-token-for-one-run"
        halflap = str(Path(sys.executable).with_name("halflap"))
        serve = (halflap, "serve", "--http", f"127.0.0.1:{ours}", "--config", str(folder / "halflap.json"))
        stack.enter_context(process(*serve, env=env))
        await answered(ours, token, PROGRAM)
        (folder / "tools.json").write_text(json.dumps((await answered(ours, token, LIST))["tools"]))
        (folder / "answer.json").write_text(json.dumps(await answered(ours, token, SEARCH)))
        files = (str(folder / "tools.json"), str(folder / "answer.json"))
        stack.enter_context(process(sys.executable, "-c", BARE, *files, str(bare), env=env))
        await answered(bare, token, LIST)

        found: dict[tuple[str, int, str], list[float]] = {}
        for _ in range(ROUNDS):
            for clients in CLIENTS:
                for label, request in (("tools/list", LIST), ("search_tools", SEARCH)):
                    for whose, port in (("bare", bare), ("halflap", ours)):
                        took = await times_of(port, token, request, clients, SECONDS)
                        found.setdefault((label, clients, whose), []).extend(took)
        programs = sorted(await times_of(ours, token, PROGRAM, PROGRAMS_AT_ONCE, SECONDS * ROUNDS))

    holds = True
    print(f"{'':13} clients    bare   halflap  ratio")
    for label in ("tools/list", "search_tools"):
        for clients in CLIENTS:
            theirs, own = (median(found[label, clients, whose]) for whose in ("bare", "halflap"))
            holds &= own <= MOST * theirs
            print(f"{label:13} {clients:7} {theirs:6.1f}  {own:6.1f} ms  {own / theirs:.2f} (at most {MOST})")
    middle, slow = median(programs), quantile(programs, 0.99)
    holds &= slow <= MOST_OF_MEDIAN * middle
    rate = len(programs) / (SECONDS * ROUNDS)
    print(
        f"execute_program, {PROGRAMS_AT_ONCE} clients: p50 {middle:.1f} ms, p99 {slow:.1f} ms, {slow / middle:.2f} (at most {MOST_OF_MEDIAN}); {rate:.0f} a second"
    )
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
