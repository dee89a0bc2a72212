"""No server process outlives the gateway, however either of them ends."""

from __future__ import annotations

import asyncio
import gc
import json
import math
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import anyio
import pytest

from halflap.upstream.server_process import ServerProcess, server_process
from support import alive, children_of, eventually, open_descriptors

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

PATH = {"PATH": os.environ["PATH"]}

# A server that stops at nothing: a child in a separate session, a daemon by double fork that ignores
# SIGTERM, and it ignores the end of its input and SIGTERM itself.
STUBBORN = """
setsid sleep 1000 &
(setsid sh -c 'trap "" TERM; sleep 1001' &)
trap "" TERM
echo ready
while true; do sleep 1; done
"""

GATEWAY = """
import asyncio, json, sys
from contextlib import AsyncExitStack
from halflap.upstream.server_process import server_process

async def main():
    async with AsyncExitStack() as servers:
        for command in json.loads(sys.argv[2]):
            process = server_process(command, {"PATH": sys.argv[1]}, None, line_limit=1000)
            await servers.enter_async_context(process)
        print("started", flush=True)
        await asyncio.sleep(1000)

asyncio.run(main())
"""


def started(*command: str, cwd: str | None = None, **env: str) -> AbstractAsyncContextManager[ServerProcess]:
    return server_process(command, {**PATH, **env}, cwd, line_limit=1000)


def running_under(process: ServerProcess) -> list[int]:
    """Return the guardian and all that runs under it."""
    return [process.guardian.pid, *children_of(process.guardian.pid)]


def server_of(process: ServerProcess) -> int:
    assert eventually(lambda: bool(children_of(process.guardian.pid)))
    return children_of(process.guardian.pid)[0]


async def test_a_server_is_started_with_its_pipes_environment_and_folder(tmp_path: Path) -> None:
    script = 'read line; echo "$line $GIVEN $(pwd)"; echo trouble >&2'
    async with started("sh", "-c", script, cwd=str(tmp_path), GIVEN="env") as process:
        process.stdin.write(b"hello\n")
        assert await process.exit_code() == 0
        assert await process.stdout.readline() == f"hello env {tmp_path}\n".encode()
        assert await process.stderr.readline() == b"trouble\n"


@pytest.mark.parametrize(
    ("command", "cwd", "error"),
    [
        ("no-such-program", None, FileNotFoundError),
        ("/etc/passwd", None, PermissionError),
        ("cat", "/no/such/folder", FileNotFoundError),
        ("null\0byte", None, OSError),
    ],
)
async def test_a_server_that_cannot_be_started_says_why(
    command: str, cwd: str | None, error: type[OSError]
) -> None:
    async with started(command, cwd=cwd) as process:
        with pytest.raises(error) as raised:
            await process.exit_code()
    assert cwd is None or raised.value.filename == cwd


async def test_stopping_a_stubborn_server_ends_all_that_it_started() -> None:
    async with started("sh", "-c", STUBBORN) as process, started("cat") as other:
        await process.stdout.readline()
        assert eventually(lambda: len(running_under(process)) >= 6)
        running = running_under(process)
        await process.stop()
        assert eventually(lambda: not any(alive(pid) for pid in running))
        other.stdin.write(b"still here\n")
        assert await other.stdout.readline() == b"still here\n"


async def test_a_server_that_ends_takes_its_children_along() -> None:
    async with started("sh", "-c", "setsid sleep 1000 & echo $!; kill -9 $$") as process:
        child = int(await process.stdout.readline())
        assert await process.exit_code() == -9
        assert not alive(child)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGSEGV, marks=pytest.mark.slow),
    ],
)
def test_however_the_gateway_ends_no_process_is_left(number: signal.Signals) -> None:
    commands = [["sh", "-c", STUBBORN], ["cat"], ["sleep", "1002"]]
    command = [sys.executable, "-c", GATEWAY, os.environ["PATH"], json.dumps(commands)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        # A guardian for each, and what the first one starts.
        assert eventually(lambda: len(children_of(process.pid)) >= 9)
        running = children_of(process.pid)
        process.send_signal(number)
        process.wait()
    assert eventually(lambda: not any(alive(pid) for pid in running)), [pid for pid in running if alive(pid)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_guardian_that_is_killed_does_not_leave_its_server(number: signal.Signals) -> None:
    async with started("cat") as process:
        server = server_of(process)
        os.kill(process.guardian.pid, number)
        await process.exit_code()
        assert eventually(lambda: not alive(server))


async def test_a_server_inherits_no_descriptor_and_no_ignored_signal() -> None:
    script = """
import os
print(sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")))
"""
    # Python itself ignores some signals.
    async with (
        started("sh", "-c", "grep SigIgn /proc/self/status") as shell,
        started(sys.executable, "-c", script) as python,
    ):
        ignored = int((await shell.stdout.readline()).split()[1], 16)
        assert await python.stdout.readline() == b"[0, 1, 2]\n"
    # The C library keeps two signals to itself; nothing can be inherited by them.
    assert {number for number in signal.valid_signals() if ignored & 1 << (number - 1)} == set()


async def test_what_an_ended_server_did_not_read_is_known() -> None:
    async with started("sh", "-c", "head -c 6 >/dev/null; sleep 0.2") as process:
        process.stdin.write(b"first\nsecond\n")
        await process.exit_code()
        assert process.unread_input() == len(b"second\n")


@pytest.mark.parametrize("times_out", [True, False])
def test_a_start_that_is_cancelled_at_any_moment_leaves_nothing(*, times_out: bool) -> None:
    """Neither a process, nor a pipe, nor anything that asyncio complains about."""

    async def scenario(moment: float) -> None:
        starting = asyncio.create_task(start(moment if times_out else math.inf))
        await asyncio.sleep(moment)
        starting.cancel()
        await asyncio.wait([starting])

    async def start(limit: float) -> None:
        with anyio.move_on_after(limit):
            async with started("sleep", "1000", LARGE="x" * 100_000):
                await asyncio.sleep(math.inf)

    others, descriptors = children_of(os.getpid()), open_descriptors()
    for moment in range(15):
        asyncio.run(scenario(moment * 0.01))
    gc.collect()
    assert open_descriptors() == descriptors
    assert [pid for pid in children_of(os.getpid()) if pid not in others] == []
