"""No server process outlives the gateway, however either of them ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import pytest

from halflap.upstream.guardian import GuardedProcess, Guardian
from support import alive, children_of, eventually, open_descriptors

PATH = {"PATH": os.environ["PATH"]}

# A server that stops at nothing: a child in a session of its own, a daemon by double fork that ignores
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
from halflap.upstream.guardian import Guardian

async def main():
    guardian = Guardian()
    servers = [await guardian.start(command, {"PATH": sys.argv[1]}, None) for command in json.loads(sys.argv[2])]
    print(json.dumps([server.pid for server in servers]), flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


class Guarded:
    """A guardian, and what it started; all of it is stopped in the end."""

    def __init__(self) -> None:
        self.guardian = Guardian()
        self._started: list[GuardedProcess] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for process in self._started:
            await process.stop(0)
            for descriptor in (process.stdin, process.stdout, process.stderr):
                os.close(descriptor)
        await self.guardian.close()

    async def start(self, *command: str, cwd: str | None = None, **env: str) -> GuardedProcess:
        process = await self.guardian.start(command, {**PATH, **env}, cwd)
        self._started.append(process)
        return process

    @property
    def itself(self) -> asyncio.subprocess.Process:
        assert self.guardian._process is not None
        return self.guardian._process

    def children(self) -> list[int]:
        """Return the supervisors and all that runs under them."""
        return children_of(self.itself.pid)


async def said(process: GuardedProcess) -> str:
    return (await asyncio.to_thread(os.read, process.stdout, 1000)).decode()


def gateway(*commands: list[str]) -> tuple[subprocess.Popen[str], list[int]]:
    """Run a process that starts servers through a guardian; return it and all processes under it."""
    process = subprocess.Popen(
        [sys.executable, "-c", GATEWAY, os.environ["PATH"], json.dumps(commands)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert len(json.loads(process.stdout.readline())) == len(commands)
    return process, children_of(process.pid)


async def test_a_server_is_started_with_its_pipes_environment_and_folder(tmp_path: Path) -> None:
    async with Guarded() as guarded:
        script = 'read line; echo "$line $GIVEN $(pwd)"; echo trouble >&2'
        process = await guarded.start("sh", "-c", script, cwd=str(tmp_path), GIVEN="env")
        os.write(process.stdin, b"hello\n")
        await process.exited.wait()
        assert await said(process) == f"hello env {tmp_path}\n"
        assert os.read(process.stderr, 1000) == b"trouble\n"
        assert process.returncode == 0


async def test_an_exit_by_signal_has_a_negative_return_code() -> None:
    async with Guarded() as guarded:
        process = await guarded.start("sh", "-c", "kill -9 $$")
        await process.exited.wait()
        assert process.returncode == -9


@pytest.mark.parametrize(
    ("command", "cwd", "error"),
    [
        ("no-such-program", None, FileNotFoundError),
        ("/etc/passwd", None, PermissionError),
        ("cat", "/no/such/folder", FileNotFoundError),
    ],
)
async def test_a_server_that_cannot_be_started_says_why(
    command: str, cwd: str | None, error: type[OSError]
) -> None:
    async with Guarded() as guarded:
        with pytest.raises(error):
            await guarded.start(command, cwd=cwd)


async def test_stopping_a_stubborn_server_ends_all_that_it_started() -> None:
    async with Guarded() as guarded:
        process = await guarded.start("sh", "-c", STUBBORN)
        await said(process)
        assert eventually(lambda: len(guarded.children()) >= 6)
        started = guarded.children()
        await process.stop(0.1)
        assert not alive(process.pid)
    assert eventually(lambda: not any(alive(pid) for pid in started))


async def test_stopping_one_server_leaves_the_others_alone() -> None:
    async with Guarded() as guarded:
        one, other = await guarded.start("sleep", "1000"), await guarded.start("cat")
        await one.stop(0.1)
        assert alive(other.pid)
        os.write(other.stdin, b"still here\n")
        assert await said(other) == "still here\n"


async def test_a_server_that_ends_takes_its_children_along() -> None:
    async with Guarded() as guarded:
        process = await guarded.start("sh", "-c", "setsid sleep 1000 & echo $!; exit 5")
        child = int(await said(process))
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
    process, started = gateway(["sh", "-c", STUBBORN], ["cat"], ["sleep", "1002"])
    assert eventually(lambda: len(children_of(process.pid)) >= 9)
    started = children_of(process.pid)
    process.send_signal(number)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    assert eventually(lambda: not any(alive(pid) for pid in started)), [pid for pid in started if alive(pid)]


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGSTOP, marks=pytest.mark.slow)])
def test_a_gateway_killed_while_its_guardian_cannot_act_leaves_nothing(number: signal.Signals) -> None:
    process, _ = gateway(["sh", "-c", "setsid sleep 1000 & echo; cat"])
    assert eventually(lambda: len(children_of(process.pid)) >= 4)
    started = children_of(process.pid)
    os.kill(min(started), number)
    process.kill()
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    assert eventually(lambda: not any(alive(pid) for pid in started))


async def test_a_supervisor_that_is_killed_leaves_its_server_to_the_guardian() -> None:
    async with Guarded() as guarded:
        process = await guarded.start("sh", "-c", STUBBORN)
        await said(process)
        assert eventually(lambda: len(guarded.children()) >= 6)
        started = guarded.children()
        stat = await asyncio.to_thread(Path(f"/proc/{process.pid}/stat").read_text)
        os.kill(int(stat.rpartition(")")[2].split()[1]), signal.SIGKILL)
        await process.exited.wait()
        assert eventually(lambda: not any(alive(pid) for pid in started))


async def test_a_new_guardian_is_started_when_the_old_one_was_killed() -> None:
    async with Guarded() as guarded:
        one = await guarded.start("cat")
        guarded.itself.kill()
        await guarded.itself.wait()
        assert (await guarded.start("cat")).pid != one.pid


async def test_a_server_inherits_no_descriptor_and_no_ignored_signal() -> None:
    script = """
import os
print(sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")))
"""
    async with Guarded() as guarded:
        await guarded.start("cat")
        # Python itself ignores some signals.
        shell = await guarded.start("sh", "-c", "grep SigIgn /proc/self/status")
        python = await guarded.start(sys.executable, "-c", script)
        for process in (shell, python):
            await process.exited.wait()
        ignored = int((await said(shell)).split()[1], 16)
        assert await said(python) == "[0, 1, 2]\n"
    # The C library keeps two signals to itself; nothing can be inherited by them.
    assert {number for number in signal.valid_signals() if ignored & 1 << (number - 1)} == set()


def test_many_servers_come_and_go_without_leaving_a_descriptor() -> None:
    async def scenario() -> None:
        async with Guarded() as guarded:
            for _ in range(20):
                await (await guarded.start("cat")).stop(0)

    before = open_descriptors()
    asyncio.run(scenario())
    assert open_descriptors() <= before


async def test_what_an_ended_server_did_not_read_is_known() -> None:
    async with Guarded() as guarded:
        process = await guarded.start("sh", "-c", "head -c 6 >/dev/null; sleep 0.2")
        os.write(process.stdin, b"first\nsecond\n")
        await process.exited.wait()
        assert process.unread_input() == len(b"second\n")


@pytest.mark.slow
async def test_many_servers_with_large_environments_start_at_once() -> None:
    async with Guarded() as guarded:
        started = await asyncio.gather(*(guarded.start("cat", LARGE="x" * 20_000) for _ in range(60)))
        assert len({process.pid for process in started}) == 60


async def test_cancelling_a_start_does_not_spoil_the_next() -> None:
    async with Guarded() as guarded:
        starting = [asyncio.create_task(guarded.start("cat", L="x" * 100_000)) for _ in range(8)]
        await asyncio.sleep(0.05)
        for task in starting:
            task.cancel()
        await asyncio.wait(starting)
        process = await guarded.start("cat")
        os.write(process.stdin, b"hello\n")
        assert await said(process) == "hello\n"


async def test_a_stopped_guardian_does_not_keep_us_from_ending() -> None:
    async with Guarded() as guarded:
        process = await guarded.start("cat")
        guarded.itself.send_signal(signal.SIGSTOP)
    assert not alive(process.pid)


async def test_a_start_that_is_cancelled_at_any_moment_leaves_nothing() -> None:
    async with Guarded() as guarded:
        await (await guarded.start("cat")).stop(0)
        for moment in range(12):
            starting = asyncio.create_task(guarded.guardian.start(["sleep", "1000"], PATH, None))
            await asyncio.sleep(moment * 0.0006)
            starting.cancel()
            (outcome,) = await asyncio.gather(starting, return_exceptions=True)
            if isinstance(outcome, GuardedProcess):
                await outcome.stop(0)
                for descriptor in (outcome.stdin, outcome.stdout, outcome.stderr):
                    os.close(descriptor)
        assert eventually(lambda: not guarded.children())
