"""What is left when all is over: no process, no descriptor, no memory, and a gateway that serves."""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap.core.errors import SandboxError
from halflap.sandbox.sandbox import Program
from security.keeper import LOCKED, Visitor, new_jail, visit
from support import ROOT, alive, children_of, eventually, open_descriptors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from security.keeper import Got

_SET_CHILD_SUBREAPER = 36
_ALIVE = "print('here', flush=True)\nimport time\ntime.sleep(30)"
_ATTACKS = [
    "while True: pass",
    "x = 'a' * 10**10",
    "import os; os.close(3); os._exit(1)",
    "import os; os.write(3, bytes(100)); import time; time.sleep(30)",
    "import os; os._exit(0)",
    "import ctypes; ctypes.string_at(1)",
    "while True: print('x' * 1000)",
    "await call_tool('wait')",
    "import asyncio\nawait asyncio.gather(*(call_tool('echo', n=n) for n in range(100)))",
    "raise ValueError('x' * 10**6)",
]


_MODES = [
    "all-layers",
    *(pytest.param(mode, marks=pytest.mark.slow) for mode in LOCKED if mode != "all-layers"),
]


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Compare processes and descriptors before and after. Who loses its parent becomes ours, and is seen."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _own_children(), _settled_descriptors()
    yield
    clean = eventually(lambda: _own_children() <= before[0])
    libc.prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    assert clean
    assert eventually(lambda: open_descriptors() <= before[1]), (open_descriptors(), before[1])


def _settled_descriptors() -> int:
    """Count descriptors when the jails that other tests share have their next children ready."""
    count = -1
    while count != open_descriptors():
        count = open_descriptors()
        time.sleep(0.05)
    return count


def _own_children() -> set[int]:
    return {pid for pid in children_of(os.getpid()) if _parent(pid) == os.getpid()}


@pytest.mark.parametrize("mode", _MODES)
def test_after_attacks_the_gateway_serves_and_nothing_is_left(mode: str, run: Callable[[Any], Any]) -> None:
    async def attacks() -> list[Got]:
        jail = new_jail(mode)
        await jail.ready()
        await asyncio.gather(*(visit(jail, code, Visitor(), seconds=1.0) for code in _ATTACKS))
        served = [await visit(jail, "print('served')", Visitor()) for _ in range(3)]
        await jail.close()
        return served

    assert [got.output for got in run(attacks())] == [b"served\n"] * 3


@pytest.mark.slow
def test_while_the_gateway_serves_no_child_is_left_but_those_that_wait(run: Callable[[Any], Any]) -> None:
    async def attacks() -> int:
        jail = new_jail("all-layers")
        await jail.ready()
        for _ in range(3):
            await asyncio.gather(*(visit(jail, code, Visitor(), seconds=0.3) for code in _ATTACKS[:6]))
        await asyncio.sleep(0.2)
        assert jail._pool.server is not None
        assert jail._pool.server._process is not None
        found = len(children_of(jail._pool.server._process.pid))
        await jail.close()
        return found

    # The fork server, behind the one who waits for it, and three locked children for the next programs.
    assert run(attacks()) <= 4


@pytest.mark.slow
def test_a_hundred_programs_leave_no_memory_behind(run: Callable[[Any], Any]) -> None:
    async def programs() -> int:
        jail = new_jail("all-layers")
        code = "await call_tool('echo', text='x' * 500_000)\nprint('y' * 100_000)"
        for _ in range(20):
            await visit(jail, code, Visitor())
        before = _resident()
        for _ in range(80):
            await visit(jail, code, Visitor())
        grown = _resident() - before
        await jail.close()
        return grown

    assert run(programs()) < 10 << 20


@pytest.mark.slow
def test_a_flood_of_calls_does_not_grow_the_gateway(run: Callable[[Any], Any]) -> None:
    code = """
import json, socket, struct, time
channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno=3)
order = json.dumps({"name": "large", "arguments": {"size": 1_000_000}}).encode()
for number in range(1, 3000):
    channel.sendall(struct.pack("!cIQ", b"C", len(order) + 8, number) + order)
time.sleep(0.5)
"""

    async def flood() -> int:
        jail = new_jail("all-layers")
        await jail.ready()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await visit(jail, code, Visitor())
        await jail.close()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before

    # Sixteen answers of a megabyte, each once as a value and once on its way.
    assert run(flood()) < 100 * 1024


def _killed(mode: str, which: str, run: Callable[[Any], Any]) -> tuple[Got, Got]:
    async def killed() -> tuple[Got, Got]:
        jail = new_jail(mode)
        await jail.ready()
        visitor = Visitor()
        running = asyncio.create_task(visit(jail, _ALIVE, visitor))
        while not visitor.heard:
            await asyncio.sleep(0.01)
        assert jail._pool.server is not None
        assert jail._pool.server._process is not None
        outer = jail._pool.server._process.pid
        victim = outer
        if which == "inner":
            victim = next(pid for pid in children_of(outer) if _parent(pid) == outer)
        os.kill(victim, signal.SIGKILL)
        ended = await running
        after = await visit(jail, "print('served')", Visitor())
        await jail.close()
        return ended, after

    result: tuple[Got, Got] = run(killed())
    return result


@pytest.mark.slow
@pytest.mark.skipif(
    os.getuid() != 0, reason="only as root has the fork server a user, and so a limit, of its own"
)
def test_want_of_processes_ends_one_run_and_no_other(run: Callable[[Any], Any]) -> None:
    async def wanting() -> tuple[list[Got | BaseException], bytes]:
        jail = new_jail("no-namespaces")
        most = resource.getrlimit(resource.RLIMIT_NPROC)
        # The fork server and three more.
        resource.setrlimit(resource.RLIMIT_NPROC, (4, most[1]))
        await jail.ready()
        resource.setrlimit(resource.RLIMIT_NPROC, most)
        waiting = (visit(jail, "await call_tool('wait')", Visitor(), seconds=1.0) for _ in range(5))
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        after = await visit(jail, "print('served')", Visitor())
        await jail.close()
        return ended, after.output

    ended, after = run(wanting())
    refused = [one for one in ended if isinstance(one, SandboxError)]
    others = [one.outcome for one in ended if not isinstance(one, BaseException)]
    # Of the three, one may already have waited for the next program.
    assert (len(refused) >= 2, set(others), after) == (True, {"timeout"}, b"served\n"), ended


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
    except OSError:
        return 0


@pytest.mark.parametrize(
    ("mode", "which"),
    [
        ("all-layers", "outer"),
        *(pytest.param(mode, "outer", marks=pytest.mark.slow) for mode in LOCKED if mode != "all-layers"),
        pytest.param("all-layers", "inner", marks=pytest.mark.slow),
    ],
)
def test_a_fork_server_that_is_killed_ends_the_run_and_the_next_one_works(
    mode: str, which: str, run: Callable[[Any], Any]
) -> None:
    ended, after = _killed(mode, which, run)
    assert (ended.outcome, "sandbox was lost" in ended.detail) == ("crashed", True), ended
    assert after.output == b"served\n"


@pytest.mark.parametrize("mode", _MODES)
def test_a_gateway_that_is_killed_leaves_no_process(mode: str) -> None:
    gateway = subprocess.Popen(
        [sys.executable, "-m", "security.gateway", mode],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}"},
    )
    with gateway:
        assert gateway.stdout is not None
        assert gateway.stdout.readline() == b"running\n"
        left = children_of(gateway.pid)
        assert len(left) >= 2
        gateway.kill()
    assert eventually(lambda: not any(map(alive, left)))


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


@pytest.mark.slow
def test_runs_can_be_given_up_at_any_moment(run: Callable[[Any], Any]) -> None:
    async def given_up() -> bytes:
        jail = new_jail("all-layers")
        # The first while the jail starts, those after it while they begin, and each twice.
        for delay in (0.0, 0.1, 0.5, *(step / 1000 for step in range(15))):
            running = asyncio.create_task(jail.run(Program("await call_tool('wait')"), Visitor()))
            await asyncio.sleep(delay)
            running.cancel()
            await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait([running])
        after = (await visit(jail, "print('served')", Visitor())).output
        await jail.close()
        return after

    assert run(given_up()) == b"served\n"
