"""Ten minutes of mixed load from several people over HTTP: no error, flat memory, and a retry hint when it is too much.

`make soak` runs it; HALFLAP_SOAK_SECONDS shortens it. Memory is that of the server and all processes below it, without
what they share. It is flat if the median of the last quarter is at most a tenth (and 16 MB) above that of the second.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench_http import SERVERS, answered, free_port, process
from http_load import Connection, Request, call, median, quantile

SECONDS = float(os.environ.get("HALFLAP_SOAK_SECONDS", "600"))
PEOPLE = ("ann", "bob", "cem", "dora")
CLIENTS_EACH, OVERLOAD = 4, 40
GROWTH, SLACK_MB = 1.1, 16
LOAD = {
    "list": Request("tools/list"),
    "search": call("search_tools", query="echo a text"),
    "inspect": call("inspect_tool", tool_name="mcp__echo__echo"),
    "call": call("call_tool", name="mcp__echo__echo", arguments={"text": "a"}),
    "program": call(
        "execute_program", code="for i in range(5):\n    print(await mcp__echo__echo(text=str(i)))"
    ),
    "new program": call("execute_program"),
    "mistake": call("execute_program", code="await mcp__echo__ecco(text='a')"),
}
"""`new program` gets other code each time, and `mistake` is to be refused."""
ENDLESS = call("execute_program", code="import asyncio\nawait asyncio.sleep(1_000)")


def memory_mb(root: int) -> float:
    """Return the private memory of a process and all below it."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        below.setdefault(parent, []).append(int(folder.name))
    processes, kilobytes = [root], 0
    for pid in processes:
        processes += below.get(pid, [])
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        kilobytes += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private"))
    return kilobytes / 1024


async def client(
    port: int, token: str, until: float, took: dict[str, list[float]], wrong: Counter[str]
) -> None:
    chance = random.Random(token)
    connection = Connection(port, token)
    await connection.open()
    while time.perf_counter() < until:
        label = chance.choice(list(LOAD))
        request = LOAD[label]
        if label == "new program":
            request = call(
                "execute_program", code=f"print({chance.random()}, await mcp__echo__echo(text='a'))"
            )
        began = time.perf_counter()
        result = await connection.send(request)
        took.setdefault(label, []).append((time.perf_counter() - began) * 1000)
        if bool(result.get("isError")) != (label == "mistake"):
            wrong[f"{label}: {json.dumps(result)[:200]}"] += 1
    connection.close()


async def overload(port: int, tokens: dict[str, str]) -> tuple[int, int]:
    """Send more endless programs than there is room for; return how many were refused, and how many with a hint."""

    async def one(number: int) -> dict[str, object]:
        connection = Connection(port, tokens[PEOPLE[number % len(PEOPLE)]])
        await connection.open()
        try:
            async with asyncio.timeout(30):
                result = await connection.send(ENDLESS)
        except TimeoutError:
            return {}
        finally:
            connection.close()
        meta: dict[str, object] = result["_meta"]["halflap"]
        return meta

    answers = await asyncio.gather(*(one(number) for number in range(OVERLOAD)))
    refused = [meta for meta in answers if meta]
    return len(refused), sum(meta["code"] == "busy" and bool(meta["retry_after"]) for meta in refused)


async def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        echo = {"command": sys.executable, "args": [str(SERVERS / "echo.py")]}
        tokens = {person: f"{person}-token-for-one-run" for person in PEOPLE}
        config = folder / "halflap.json"
        config.write_text(
            json.dumps({"mcpServers": {"echo": echo}, "http": {"tokens": tokens}, "traces": {"keep_mb": 64}})
        )
        env = {**os.environ, "HOME": name, "XDG_DATA_HOME": name, "XDG_CONFIG_HOME": name}
        halflap = str(Path(sys.executable).with_name("halflap"))
        command = (halflap, "serve", "--http", f"127.0.0.1:{port}", "--config", str(config))
        with process(*command, env=env) as pid:
            await answered(port, tokens["ann"], LOAD["program"])
            return await soak(port, tokens, pid)


async def soak(port: int, tokens: dict[str, str], pid: int) -> int:
    began = time.perf_counter()
    took: dict[str, list[float]] = {}
    wrong: Counter[str] = Counter()
    samples: list[float] = []
    clients = asyncio.gather(
        *(
            client(port, token, began + SECONDS, took, wrong)
            for token in tokens.values()
            for _ in range(CLIENTS_EACH)
        )
    )
    while not clients.done():
        await asyncio.wait([clients], timeout=SECONDS / 60)
        samples.append(memory_mb(pid))
        print(
            f"{time.perf_counter() - began:6.0f} s  {samples[-1]:6.1f} MB  {sum(map(len, took.values())):8,} answers",
            flush=True,
        )
    await clients
    for label, times in sorted(took.items()):
        times.sort()
        print(
            f"{label:12} {len(times):8,} times, p50 {median(times):7.1f} ms, p99 {quantile(times, 0.99):7.1f} ms"
        )
    quarter = len(samples) // 4
    before, after = median(samples[quarter : 2 * quarter]), median(samples[-quarter:])
    refused, hinted = await overload(port, tokens)
    print(
        f"memory {before:.1f} → {after:.1f} MB; {sum(wrong.values())} wrong answers; {refused} of {OVERLOAD} programs refused, {hinted} with a retry hint"
    )
    for what, count in wrong.most_common(5):
        print(f"  {count} times {what}")
    holds = after <= before * GROWTH + SLACK_MB and not wrong and refused and refused == hinted
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
