"""Time from starting the program to its first answer to `tools/list`, beside a bare MCP server.

The claim: with 1, 5 and 25 servers configured, one of which hangs, Halflap answers within one and a half times the time
of a server that has one tool and nothing behind it. Every variant is measured in turn, round after round,
and the medians are compared, so that a slow machine is slow for all.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROUNDS = int(os.environ.get("HALFLAP_BENCH_ROUNDS", "9"))
MOST = 1.5
SERVERS = Path(__file__).parent.parent / "tests" / "servers"
HALFLAP = str(Path(sys.executable).with_name("halflap"))

BARE = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("bare")

@server.tool()
def ok() -> str:
    return "ok"

server.run()
"""


def answer_seconds(command: list[str], environment: dict[str, str]) -> float:
    """Start a server, greet it, ask for its tools; give the time until they are there."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def send(message: dict[str, Any]) -> None:
            assert process.stdin is not None
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()

        greeting = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "0"},
        }
        send({"id": 1, "method": "initialize", "params": greeting})
        assert "result" in json.loads(process.stdout.readline())
        send({"method": "notifications/initialized"})
        send({"id": 2, "method": "tools/list"})
        assert json.loads(process.stdout.readline())["result"]["tools"]
        seconds = time.perf_counter() - began
        process.stdin.close()
        process.wait()
    return seconds


def configuration(folder: Path, count: int) -> Path:
    """Write a configuration of so many servers, of which the last hangs."""
    servers: dict[str, Any] = {
        f"server{number}": {
            "command": sys.executable,
            "args": [str(SERVERS / "legacy.py")],
            "protocol": "legacy",
        }
        for number in range(count - 1)
    }
    servers["hanging"] = {"command": sys.executable, "args": [str(SERVERS / "unwilling.py"), "silent"]}
    path = folder / f"servers{count}.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = folder / "bare.py"
        bare.write_text(BARE)
        variants: dict[str, tuple[list[str], dict[str, str]]] = {
            "bare mcp server": ([sys.executable, str(bare)], dict(os.environ))
        }
        for count in (1, 5, 25):
            environment = {**os.environ, "HALFLAP_DATA_DIR": str(folder / f"data{count}")}
            command = [HALFLAP, "serve", "--config", str(configuration(folder, count))]
            variants[f"halflap, {count} server{'s' if count > 1 else ''}, one hangs"] = (command, environment)
        for command, environment in variants.values():
            answer_seconds(command, environment)
        times: dict[str, list[float]] = {label: [] for label in variants}
        for _ in range(ROUNDS):
            for label, (command, environment) in variants.items():
                times[label].append(answer_seconds(command, environment))
    base = statistics.median(times["bare mcp server"])
    print(
        f"Start to first answer to tools/list, median of {ROUNDS} rounds, measured in turn (at most {MOST:g} x)"
    )
    worst = 0.0
    for label, seconds in times.items():
        ratio = statistics.median(seconds) / base
        worst = max(worst, ratio)
        print(f"  {label:<34} {statistics.median(seconds) * 1000:7.0f} ms   {ratio:5.2f} x")
    return 0 if worst <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
