"""A server that leaves processes behind: a child in a session of its own, and a daemon that ignores SIGTERM.

The pids go to the file given by `--pids`: the server's, the child's, the daemon's, one per line.
"""

import argparse
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

SLEEP = ["sleep", "1000"]
Context = ServerRequestContext[dict[str, Any]]


def start_child() -> int:
    child = subprocess.Popen(
        SLEEP,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    return child.pid


def start_daemon() -> int:
    """Fork twice with setsid in between, so that the daemon's parent is gone when it starts."""
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        os.setsid()
        if os.fork() == 0:
            # What is ignored stays ignored in the program that takes over.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            os.write(writer, str(os.getpid()).encode())
            os.execvp(SLEEP[0], SLEEP)
        os._exit(0)
    os.close(writer)
    os.waitpid(middle, 0)
    with os.fdopen(reader) as pipe:
        return int(pipe.read())


async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    ok = types.Tool(name="ok", description="Say ok.", input_schema={"type": "object", "properties": {}})
    return types.ListToolsResult(tools=[ok])


async def call_tool(_: Context, __: types.CallToolRequestParams) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text="ok")])


async def serve() -> None:
    server = Server("spawner", version="1.0.0", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pids", type=Path, required=True, metavar="FILE")
    file: Path = parser.parse_args().pids
    pids = [os.getpid(), start_child(), start_daemon()]
    # Renamed into place, so that whoever waits for the file never reads half of it.
    partial = file.with_name(file.name + ".partial")
    partial.write_text("".join(f"{pid}\n" for pid in pids), encoding="utf-8")
    partial.rename(file)
    anyio.run(serve)


if __name__ == "__main__":
    main()
