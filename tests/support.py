"""Helpers for all tests: test servers, real servers, waiting, and skips with a reason."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args

import pytest
from blockbuster import blockbuster_ctx

from halflap.core import codes
from halflap.core.errors import HalflapError
from halflap.core.values import CallContext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator

    from halflap import Gateway

ROOT = Path(__file__).parent.parent
SERVERS = ROOT / "tests" / "servers"
NODE_SERVERS = ROOT / "tests" / "real" / "node_modules" / ".bin"
SHARED = Path(os.environ.get("HALFLAP_SHARED", ROOT.parent / "shared"))
THOROUGH = bool(os.environ.get("HALFLAP_THOROUGH"))
"""Set by `make test-all`."""
HALFLAP = str(Path(sys.executable).with_name("halflap"))
PATIENCE = 120.0
"""Seconds that a busy machine may take for something that is normally immediate."""


def _codes(error: type[HalflapError]) -> list[str]:
    return [error.code, *(code for inner in error.__subclasses__() for code in _codes(inner))]


_OTHER = (codes.RaisedCode, codes.ConfigCode, codes.CheckCode, codes.RunCode, codes.HttpCode, codes.OtherCode)
CODES = [*_codes(HalflapError), *(code for family in _OTHER for code in get_args(family))]
"""Every error code."""


def examples(most: int) -> int:
    """Return the number of examples for a property test: a tenth in `make test`."""
    return most if THOROUGH else max(10, most // 10)


def some(cases: Iterable[Any], *, every: int) -> list[Any]:
    """Return all cases of a rule that has many; all but one in `every` are marked `slow`."""
    return [case if number % every == 0 else _slow(case) for number, case in enumerate(cases)]


def _slow(case: Any) -> pytest.ParameterSet:
    if isinstance(case, pytest.ParameterSet):
        return case._replace(marks=[*case.marks, pytest.mark.slow])
    # As in `parametrize`, a plain tuple has a value per argument; a named tuple is one value.
    return pytest.param(*(case if type(case) is tuple else (case,)), marks=pytest.mark.slow)


def python_server(name: str, script: str, *arguments: str, **settings: Any) -> dict[str, Any]:
    """Configure one of the servers in tests/servers."""
    return {"name": name, "command": sys.executable, "args": [str(SERVERS / script), *arguments], **settings}


MISSING = "missing: "
"""Prefix of the reason for a skip that fails the run in CI; see conftest.py."""


def skip_missing(what: str) -> NoReturn:
    """Skip because the shared data, the jail or Node is missing. In CI this fails the run."""
    pytest.skip(MISSING + what)


def node_program(name: str) -> str:
    """Return the path of a real server from npm."""
    program = NODE_SERVERS / name
    if shutil.which("node") is None or not program.exists():
        skip_missing(f"Node and the npm package of {name}; `make test` installs it if there is npm")
    return str(program)


def shared_data(name: str) -> Path:
    """Return the path of a file of the shared data, which is not part of the project."""
    path = SHARED / "data" / name
    if not path.exists():
        skip_missing(f"the shared data file {name}, which is not part of the project")
    return path


@contextmanager
def listening(kind: str) -> Iterator[str]:
    """Run echo.py over `http` or `sse` on a free port; yield its URL."""
    command = [sys.executable, str(SERVERS / "echo.py"), f"--{kind}", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def alive(pid: int) -> bool:
    """Return whether a process is running, and not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def open_descriptors() -> int:
    """Count the open descriptors of this process."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@contextmanager
def little_work(seconds: float = 10.0) -> Iterator[None]:
    """Assert that the block takes less CPU time than this, which does not depend on how busy the machine is."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


async def under_way(gateway: Gateway, tool: str, context: CallContext | None = None) -> asyncio.Task[Any]:
    """Start a call of the tool `sleep` that outlasts any test; return once the server is working on it."""
    begun = asyncio.Event()

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        del progress, total, message
        begun.set()

    given = replace(context or CallContext(), progress=progressed)
    call = asyncio.create_task(gateway.call_tool(tool, {"seconds": 1_000, "progress": True}, given))
    call.add_done_callback(lambda _: begun.set())
    await begun.wait()
    return call


async def comes(holds: Callable[[], Awaitable[bool]], seconds: float = PATIENCE) -> bool:
    """Wait until an async condition holds; return whether it does."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if await holds():
            return True
        await asyncio.sleep(0.02)
    return await holds()


def run_unblocked(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on an event loop where blocking calls from our code raise."""
    with blockbuster_ctx("halflap") as blocking:
        # Starts a process on the event loop, as asyncio itself does.
        blocking.functions["os.read"].can_block_in("halflap/upstream/server_process.py", {"__init__"})
        return asyncio.run(coroutine)


def eventually(holds: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """Wait until a condition holds; return whether it does."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return True
        time.sleep(0.02)
    return holds()


def children_of(pid: int) -> list[int]:
    """Return all living descendants of a process."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if fields[0] not in {"Z", "X"}:
                    parents[int(entry.name)] = int(fields[1])
    found: list[int] = []
    grown = True
    while grown:
        new = [
            child
            for child, parent in parents.items()
            if (parent == pid or parent in found) and child not in found
        ]
        grown = bool(new)
        found += new
    return found
