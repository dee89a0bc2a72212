"""No server process outlives the gateway, however either of them ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from halflap.upstream.guardian import GuardedProcess, Guardian
from support import alive, children_of, eventually, open_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

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


def released(process: GuardedProcess) -> None:
    for descriptor in (process.stdin, process.stdout, process.stderr):
        os.close(descriptor)


def guarded(guardian: Guardian) -> list[int]:
    """Return the supervisors and all that runs under them."""
    assert guardian._process is not None
    return children_of(guardian._process.pid)


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


def test_a_server_is_started_with_its_pipes_environment_and_folder(tmp_path: Path) -> None:
    async def scenario() -> None:
        guardian = Guardian()
        script = 'read line; echo "$line $GIVEN $(pwd)"; echo trouble >&2'
        process = await guardian.start(["sh", "-c", script], {**PATH, "GIVEN": "env"}, str(tmp_path))
        os.write(process.stdin, b"hello\n")
        await process.exited.wait()
        assert os.read(process.stdout, 1000).decode() == f"hello env {tmp_path}\n"
        assert os.read(process.stderr, 1000) == b"trouble\n"
        assert process.returncode == 0
        await process.stop(0)
        released(process)
        await guardian.close()

    asyncio.run(scenario())


async def test_an_exit_by_signal_has_a_negative_return_code() -> None:
    guardian = Guardian()
    process = await guardian.start(["sh", "-c", "kill -9 $$"], PATH, None)
    await process.exited.wait()
    assert process.returncode == -9
    await process.stop(0)
    released(process)
    await guardian.close()


@pytest.mark.parametrize(
    ("command", "cwd", "error"),
    [
        (["/no/such/program"], None, FileNotFoundError),
        (["no-such-program"], None, FileNotFoundError),
        (["/etc/passwd"], None, PermissionError),
        (["cat"], "/no/such/folder", FileNotFoundError),
    ],
)
async def test_a_server_that_cannot_be_started_says_why(
    command: list[str], cwd: str | None, error: type[OSError]
) -> None:
    guardian = Guardian()
    with pytest.raises(error):
        await guardian.start(command, PATH, cwd)
    await guardian.close()


def test_stopping_a_stubborn_server_ends_all_that_it_started() -> None:
    async def scenario() -> None:
        guardian = Guardian()
        process = await guardian.start(["sh", "-c", STUBBORN], PATH, None)
        await asyncio.to_thread(os.read, process.stdout, 100)
        assert eventually(lambda: len(guarded(guardian)) >= 6)
        started = guarded(guardian)
        await process.stop(0.1)
        released(process)
        assert not alive(process.pid)
        await guardian.close()
        assert eventually(lambda: not any(alive(pid) for pid in started))

    asyncio.run(scenario())


def test_stopping_one_server_leaves_the_others_alone() -> None:
    async def scenario() -> None:
        guardian = Guardian()
        one = await guardian.start(["sleep", "1000"], PATH, None)
        other = await guardian.start(["cat"], PATH, None)
        await one.stop(0.1)
        assert alive(other.pid)
        os.write(other.stdin, b"still here\n")
        assert await asyncio.to_thread(os.read, other.stdout, 100) == b"still here\n"
        await other.stop(0)
        for process in (one, other):
            released(process)
        await guardian.close()

    asyncio.run(scenario())


def test_a_server_that_ends_takes_its_children_along() -> None:
    async def scenario() -> None:
        guardian = Guardian()
        process = await guardian.start(["sh", "-c", "setsid sleep 1000 & echo $!; exit 5"], PATH, None)
        child = int(await asyncio.to_thread(os.read, process.stdout, 100))
        await process.exited.wait()
        assert process.returncode == 5
        assert eventually(lambda: not alive(child))
        await process.stop(0)
        released(process)
        await guardian.close()

    asyncio.run(scenario())


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


def test_a_supervisor_that_is_killed_leaves_its_server_to_the_guardian() -> None:
    async def scenario() -> None:
        guardian = Guardian()
        process = await guardian.start(["sh", "-c", STUBBORN], PATH, None)
        await asyncio.to_thread(os.read, process.stdout, 100)
        assert eventually(lambda: len(guarded(guardian)) >= 6)
        started = guarded(guardian)
        fields = (await asyncio.to_thread(_stat, process.pid)).rpartition(")")[2].split()
        os.kill(int(fields[1]), signal.SIGKILL)
        await process.exited.wait()
        assert eventually(lambda: not any(alive(pid) for pid in started))
        await process.stop(0)
        released(process)
        await guardian.close()

    asyncio.run(scenario())


def _stat(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:  # noqa: PTH123 -- one line
        return file.read()


def test_a_new_guardian_is_started_when_the_old_one_was_killed() -> None:
    async def scenario() -> None:
        guardian = Guardian()
        one = await guardian.start(["cat"], PATH, None)
        assert guardian._process is not None
        guardian._process.kill()
        await guardian._process.wait()
        other = await guardian.start(["cat"], PATH, None)
        assert other.pid != one.pid
        for process in (one, other):
            await process.stop(0)
            released(process)
        await guardian.close()

    asyncio.run(scenario())


def test_a_server_inherits_no_descriptor_but_its_own_three() -> None:
    async def scenario() -> bytes:
        guardian = Guardian()
        first = await guardian.start(["cat"], PATH, None)
        script = textwrap.dedent("""
            import os
            print(sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")))
        """)
        second = await guardian.start([sys.executable, "-c", script], PATH, None)
        await second.exited.wait()
        listed = await asyncio.to_thread(os.read, second.stdout, 1000)
        for process in (first, second):
            await process.stop(0)
            released(process)
        await guardian.close()
        return listed

    assert asyncio.run(scenario()) == b"[0, 1, 2]\n"


def test_a_server_does_not_inherit_ignored_signals() -> None:
    async def scenario() -> bytes:
        guardian = Guardian()
        process = await guardian.start(["sh", "-c", "grep SigIgn /proc/self/status"], PATH, None)
        await process.exited.wait()
        ignored = await asyncio.to_thread(os.read, process.stdout, 1000)
        await process.stop(0)
        released(process)
        await guardian.close()
        return ignored

    ignored = int(asyncio.run(scenario()).split()[1], 16)
    # The C library keeps two signals to itself; nobody can set them, nor inherit anything by them.
    assert {number for number in signal.valid_signals() if ignored & 1 << (number - 1)} == set()


def test_many_servers_come_and_go_without_leaving_a_descriptor() -> None:
    async def scenario() -> None:
        guardian = Guardian()
        for _ in range(20):
            process = await guardian.start(["cat"], PATH, None)
            os.close(process.stdin)
            await process.stop(1)
            os.close(process.stdout)
            os.close(process.stderr)
        await guardian.close()

    before = open_descriptors()
    asyncio.run(scenario())
    assert open_descriptors() <= before


async def test_what_an_ended_server_did_not_read_is_known() -> None:
    guardian = Guardian()
    process = await guardian.start(["sh", "-c", "head -c 6 >/dev/null; sleep 0.2"], PATH, None)
    os.write(process.stdin, b"first\nsecond\n")
    await process.exited.wait()
    assert process.unread_input() == len(b"second\n")
    await process.stop(0)
    released(process)
    await guardian.close()


@pytest.mark.slow
def test_many_servers_with_large_environments_start_at_once() -> None:
    async def scenario() -> int:
        guardian = Guardian()
        env = {**PATH, "LARGE": "x" * 20_000}
        processes = await asyncio.gather(*(guardian.start(["cat"], env, None) for _ in range(60)))
        await asyncio.gather(*(process.stop(0) for process in processes))
        for process in processes:
            released(process)
        await guardian.close()
        return len({process.pid for process in processes})

    assert asyncio.run(scenario()) == 60


def test_cancelling_a_start_does_not_spoil_the_next() -> None:
    async def scenario() -> None:
        guardian = Guardian()
        starting = [
            asyncio.create_task(guardian.start(["cat"], {**PATH, "L": "x" * 100_000}, None)) for _ in range(8)
        ]
        await asyncio.sleep(0.05)
        for task in starting:
            task.cancel()
        done = await asyncio.gather(*starting, return_exceptions=True)
        process = await guardian.start(["cat"], PATH, None)
        os.write(process.stdin, b"hello\n")
        assert await asyncio.to_thread(os.read, process.stdout, 100) == b"hello\n"
        for one in [process, *(one for one in done if isinstance(one, GuardedProcess))]:
            await one.stop(0)
            released(one)
        await guardian.close()

    asyncio.run(scenario())


def test_a_stopped_guardian_does_not_keep_us_from_ending() -> None:
    async def scenario() -> None:
        guardian = Guardian()
        process = await guardian.start(["cat"], PATH, None)
        assert guardian._process is not None
        guardian._process.send_signal(signal.SIGSTOP)
        await process.stop(0)
        released(process)
        await guardian.close()
        assert not alive(process.pid)

    asyncio.run(scenario())


def test_a_start_that_is_cancelled_at_any_moment_leaves_nothing() -> None:
    async def scenario() -> None:
        guardian = Guardian()
        first = await guardian.start(["cat"], PATH, None)
        await first.stop(0)
        released(first)
        for moment in range(12):
            starting = asyncio.create_task(guardian.start(["sleep", "1000"], PATH, None))
            await asyncio.sleep(moment * 0.0006)
            starting.cancel()
            (outcome,) = await asyncio.gather(starting, return_exceptions=True)
            if isinstance(outcome, GuardedProcess):
                await outcome.stop(0)
                released(outcome)
        assert eventually(lambda: not guarded(guardian))
        await guardian.close()

    asyncio.run(scenario())
