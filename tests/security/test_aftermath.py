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
from security.keeper import LOCKED, Visitor, new_jail, pool_of, server_of, visit
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
    """Compare processes and descriptors before and after. Orphans become our children, so they are seen."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _own_children(), _settled_descriptors()
    yield
    clean = eventually(lambda: _own_children() <= before[0])
    libc.prctl(_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    assert clean
    assert eventually(lambda: open_descriptors() <= before[1]), (open_descriptors(), before[1])


def _settled_descriptors() -> int:
    """Count descriptors once the jails that other tests share have their next children ready."""
    count = -1
    while count != open_descriptors():
        count = open_descriptors()
        time.sleep(0.05)
    return count


def _own_children() -> set[int]:
    return {pid for pid in children_of(os.getpid()) if _parent(pid) == os.getpid()}


@pytest.mark.parametrize("mode", _MODES)
def test_after_attacks_and_the_loss_of_its_fork_server_the_gateway_serves_and_nothing_is_left(
    mode: str, run: Callable[[Any], Any]
) -> None:
    async def attacks() -> tuple[bytes, int, Got, bytes]:
        jail = new_jail(mode)
        await jail.ready()
        await asyncio.gather(*(visit(jail, code, Visitor(), seconds=1.0) for code in _ATTACKS))
        served = await visit(jail, "print('served')", Visitor())
        server = server_of(jail)
        # What is left are the children that wait, and perhaps the fork server below the process that waits for it.
        while len(children_of(server)) > pool_of(jail).idle + 1:
            await asyncio.sleep(0.02)
        visitor = Visitor()
        running = asyncio.create_task(visit(jail, _ALIVE, visitor))
        while not visitor.heard:
            await asyncio.sleep(0.01)
        os.kill(server, signal.SIGKILL)
        ended = await running
        after = await visit(jail, "print('served')", Visitor())
        await jail.close()
        return served.output, server, ended, after.output

    served, server, ended, after = run(attacks())
    assert (served, after) == (b"served\n", b"served\n")
    assert not alive(server)
    assert (ended.outcome, "sandbox was lost" in ended.error) == ("crashed", True), ended


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
