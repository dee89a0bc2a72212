"""No server process outlives the gateway, however either of them ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from halflap.upstream.server_process import GuardedProcess
from support import alive, children_of, eventually, open_descriptors

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
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
from halflap.upstream.server_process import GuardedProcess

async def main():
    env = {"PATH": sys.argv[1]}
    servers = [await GuardedProcess.start(one, env, None, line_limit=1000) for one in json.loads(sys.argv[2])]
    print("started", flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


@asynccontextmanager
async def started(*command: str, cwd: str | None = None, **env: str) -> AsyncIterator[GuardedProcess]:
    process = await GuardedProcess.start(command, {**PATH, **env}, cwd, line_limit=1000)
    try:
        yield process
    finally:
        await process.stop(0)
        await process.close()


def running_under(process: GuardedProcess) -> list[int]:
    """Return the guardian and all that runs under it."""
    return [process._guardian.pid, *children_of(process._guardian.pid)]


async def test_a_server_is_started_with_its_pipes_environment_and_folder(tmp_path: Path) -> None:
    script = 'read line; echo "$line $GIVEN $(pwd)"; echo trouble >&2'
    async with started("sh", "-c", script, cwd=str(tmp_path), GIVEN="env") as process:
        process.stdin.write(b"hello\n")
        await process.exited.wait()
        assert await process.stdout.readline() == f"hello env {tmp_path}\n".encode()
        assert await process.stderr.readline() == b"trouble\n"
        assert process.returncode == 0


async def test_an_exit_by_signal_has_a_negative_return_code() -> None:
    async with started("sh", "-c", "kill -9 $$") as process:
        await process.exited.wait()
        assert process.returncode == -9


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
    with pytest.raises(error) as raised:
        await GuardedProcess.start([command], PATH, cwd, line_limit=1000)
    assert cwd is None or raised.value.filename == cwd


async def test_stopping_a_stubborn_server_ends_all_that_it_started() -> None:
    async with started("sh", "-c", STUBBORN) as process, started("cat") as other:
        await process.stdout.readline()
        assert eventually(lambda: len(running_under(process)) >= 6)
        running = running_under(process)
        await process.stop(0.1)
        assert not alive(process.pid)
        assert eventually(lambda: not any(alive(pid) for pid in running))
        other.stdin.write(b"still here\n")
        assert await other.stdout.readline() == b"still here\n"


async def test_a_server_that_ends_takes_its_children_along() -> None:
    async with started("sh", "-c", "setsid sleep 1000 & echo $!; exit 5") as process:
        child = int(await process.stdout.readline())
        await process.exited.wait()
        assert process.returncode == 5
        assert eventually(lambda: not alive(child))


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
        os.kill(process._guardian.pid, number)
        await process.exited.wait()
        assert eventually(lambda: not alive(process.pid))


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


@pytest.mark.slow
def test_many_servers_come_and_go_without_leaving_a_descriptor() -> None:
    async def scenario() -> None:
        for _ in range(10):
            async with started("cat"):
                pass

    asyncio.run(scenario())
    before = open_descriptors()
    asyncio.run(scenario())
    assert open_descriptors() <= before


async def test_what_an_ended_server_did_not_read_is_known() -> None:
    async with started("sh", "-c", "head -c 6 >/dev/null; sleep 0.2") as process:
        process.stdin.write(b"first\nsecond\n")
        await process.exited.wait()
        assert process.unread_input() == len(b"second\n")


async def test_a_start_that_is_cancelled_at_any_moment_leaves_nothing() -> None:
    others = children_of(os.getpid())
    for moment in range(12):
        large = {**PATH, "LARGE": "x" * 100_000}
        starting = asyncio.create_task(GuardedProcess.start(["sleep", "1000"], large, None, line_limit=1000))
        await asyncio.sleep(moment * 0.005)
        starting.cancel()
        (outcome,) = await asyncio.gather(starting, return_exceptions=True)
        if isinstance(outcome, GuardedProcess):
            await outcome.stop(0)
            await outcome.close()
    assert not [pid for pid in children_of(os.getpid()) if alive(pid) and pid not in others]
