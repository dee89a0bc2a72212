"""Runs attacks in a jail for each mode. Uses nothing of the tests, because an ordinary user runs it as well."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from halflap.sandbox.choose import Sandbox
from halflap.sandbox.functions import ToolError
from halflap.sandbox.jail.jail import Jail
from halflap.sandbox.sandbox import Host, Program
from loop_thread import LoopThread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.config import ExecutionConfig
    from halflap.sandbox.jail.fork_server import Pool
    from halflap.sandbox.sandbox import Readiness

MEGABYTE = 1 << 20

_ANY: dict[str, Any] = {
    "sandbox": "jail", "max_memory_mb": 128, "cpu_seconds": 3, "max_value_bytes": MEGABYTE,
    "max_concurrent_calls": 16, "modules": (),
}  # fmt: skip
LOCKED: dict[str, dict[str, Any]] = {
    "all-layers": {},
    "no-namespaces": {"namespaces": False},
    "seccomp-alone": {"namespaces": False, "landlock": False},
}
"""What a machine may offer, from all of it to what an ordinary container has on an old kernel."""

_UNLOCKED = {"namespaces": False, "landlock": False, "lockdown": False}
OTHERS: dict[str, dict[str, Any]] = {
    "control": _UNLOCKED,
    "tight": {"cpu_seconds": 1, "max_memory_mb": 64},
    "roomy": {"cpu_seconds": 60, "max_memory_mb": 512},
    "roomy-control": {"cpu_seconds": 60, **_UNLOCKED},
}


def new_jail(mode: str, **settings: Any) -> Sandbox:
    """Return a jail with some layers switched off."""
    given = _ANY | (LOCKED | OTHERS)[mode] | settings
    layers = {name: given.pop(name) for name in _UNLOCKED if name in given}
    return Sandbox(Jail(cast("ExecutionConfig", SimpleNamespace(**given)), **layers))


def pool_of(jail: Sandbox) -> Pool:
    (backend,) = jail._backends
    assert isinstance(backend, Jail)
    return backend._pool


def server_of(jail: Sandbox) -> int:
    """Return the pid of the process that starts the fork server of a jail."""
    server = pool_of(jail).server
    assert server is not None
    assert server._process is not None
    return server._process.pid


@dataclass(frozen=True)
class Got:
    """How an attack ended, and everything that came of it."""

    outcome: str
    error: str = ""
    """The traceback, or why else it ended."""
    output: bytes = b""
    calls: list[Any] = field(default_factory=list)
    shown: list[Any] = field(default_factory=list)

    @property
    def exception(self) -> str:
        """The name of the exception that ended it."""
        return self.error.rstrip("\n").rpartition("\n")[2].partition(":")[0]


class Visitor(Host):
    """A `Host` that records what it is asked."""

    def __init__(self, most_output: int = MEGABYTE) -> None:
        self._most = most_output
        self.heard = bytearray()
        self.calls: list[tuple[str, Any]] = []
        self.shown: list[Any] = []

    async def call(self, name: str, arguments: Mapping[str, Any], line: int | None = None) -> Any:
        """Echo the arguments, unless the name is one of these."""
        del line
        self.calls.append((name, arguments))
        if name == "wait":
            await asyncio.Event().wait()
        elif name == "refuse":
            raise ToolError("no")
        elif name == "large":
            return "x" * arguments["size"]
        elif name == "deep":
            nested: list[Any] = []
            for _ in range(arguments["depth"]):
                nested = [nested]
            return nested
        elif name == "broken":
            raise LookupError("a mistake of the host")
        return {"echo": arguments}

    def write(self, data: bytes) -> bool:
        self.heard += data
        return len(self.heard) <= self._most

    def show(self, block: Mapping[str, Any]) -> bool:
        self.shown.append(block)
        return block.get("type") == "image"


class Keeper(LoopThread):
    """The jails for each mode, on a loop in a thread."""

    def __init__(self) -> None:
        super().__init__()
        self._jails: dict[str, Sandbox] = {}

    def jail(self, mode: str) -> Sandbox:
        if mode not in self._jails:
            self._jails[mode] = new_jail(mode)
        return self._jails[mode]

    def readiness(self, mode: str) -> Readiness:
        readiness: Readiness = self.do(self.jail(mode).ready())
        return readiness

    def run(self, mode: str, code: str, *, most_output: int = MEGABYTE, seconds: float = 60.0) -> Got:
        """Run a program; one that takes too long has the outcome `timeout`."""
        got: Got = self.do(visit(self.jail(mode), code, Visitor(most_output), seconds))
        return got

    def run_all(self, mode: str, codes: Mapping[str, str], *, most_output: int = MEGABYTE) -> dict[str, Got]:
        places = asyncio.Semaphore(4)

        async def one(code: str) -> Got:
            async with places:
                return await visit(self.jail(mode), code, Visitor(most_output))

        async def every() -> list[Got]:
            return await asyncio.gather(*(one(code) for code in codes.values()))

        return dict(zip(codes, self.do(every()), strict=True))

    def close(self) -> None:
        for jail in self._jails.values():
            self.do(jail.close())
        self.stop()


async def visit(jail: Sandbox, code: str, visitor: Visitor, seconds: float = 60.0) -> Got:
    # Starting does not count as the program's time.
    await jail.ready()
    try:
        async with asyncio.timeout(seconds):
            ending = await jail.run(Program(code), visitor)
    except TimeoutError:
        return Got("timeout", output=bytes(visitor.heard), calls=visitor.calls, shown=visitor.shown)
    return Got(ending.outcome, ending.error, bytes(visitor.heard), visitor.calls, visitor.shown)
