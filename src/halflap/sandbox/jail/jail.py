"""The jail: CPython with its standard library, in processes that can only compute and ask the gateway."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from halflap.core.errors import SandboxError
from halflap.sandbox.jail.fork_server import Pool
from halflap.sandbox.jail.process import SandboxProcess
from halflap.sandbox.sandbox import Ending, Host, Program, Readiness

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig

_PROFILE = "halflap.sandbox.jail.inside.child"
_MIN_IDLE, _MAX_IDLE = 3, 8
"""How many locked processes wait for programs; more while more programs run at the same time."""
_RECYCLE_DELAY_SECONDS = 0.005
"""Ending a process and forking another takes CPU time, which the answer of the program needs first."""
_CANARY = Program(
    """\
import ctypes, os, socket

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_long
escapes = []

def attempt(name, action):
    try:
        outcome = action()
    except OSError:
        return
    if outcome is None or outcome >= 0:
        escapes.append(name)

def main():
    attempt("open a file", lambda: os.close(os.open("/", os.O_RDONLY)))
    attempt("open a file past Python", lambda: libc.open(b"/", 0))
    attempt("make a socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close())
    attempt("make a datagram pair", lambda: libc.socketpair(1, 2, 0, (ctypes.c_int * 2)()))
    attempt("connect to the outside", lambda: socket.socket(socket.AF_UNIX).connect("/tmp/halflap-canary"))
    attempt("start a process", lambda: os._exit(0) if (pid := os.fork()) == 0 else pid)
    attempt("send a signal", lambda: os.kill(os.getppid(), 0))
    attempt("send a signal to itself", lambda: libc.kill(os.getpid(), 0))
    attempt("make memory executable", lambda: libc.mmap(None, 4096, 5, 34, -1, 0))
    return escapes
""",
    arguments={},
)
"""A script that tries to break out before any program runs, and returns what worked."""


class Jail:
    """Locked processes, each used once."""

    name = "jail"

    def __init__(self, config: ExecutionConfig, **layers: bool) -> None:
        """Create it; tests can switch off `namespaces`, `landlock`, or everything (`lockdown`)."""
        self._config = config
        self._has_locks = layers.get("lockdown", True)
        orders: dict[str, Any] = {
            "memory_bytes": config.max_memory_mb * 1024 * 1024,
            "cpu_seconds": config.cpu_seconds,
            "max_value_bytes": config.max_value_bytes,
            "max_concurrent_calls": config.max_concurrent_calls,
            "modules": list(config.modules),
            # Where modules are found; programs never see it.
            "path": [entry for entry in sys.path if entry] if config.modules else [],
            **layers,
        }
        self._pool = Pool(_PROFILE, lambda: orders)
        self._running = 0

    async def start(self) -> Readiness:
        if not sys.platform.startswith("linux"):
            return Readiness(self.name, trouble="the jail needs Linux")
        try:
            report = (await self._pool.start()).report
            canary = await self._take()
        except OSError as error:
            return Readiness(self.name, trouble=str(error))
        ending = await canary.run(_CANARY, Host())
        canary.close()
        trouble = _escapes(ending) if self._has_locks else None
        if self._config.sandbox == "hardened" and (missing := report["missing"]):
            reasons = "; ".join(f"{layer}: {why}" for layer, why in missing.items())
            trouble = f"`execution.sandbox: hardened` needs every layer ({reasons})"
        self._refill()
        notes = [f"module {name!r} cannot be loaded: {why}" for name, why in report["failed_modules"].items()]
        return Readiness(self.name, report["layers"], report["missing"], trouble, notes)

    async def run(self, program: Program, host: Host) -> Ending:
        try:
            process = await self._take()
        except OSError as error:
            raise SandboxError(f"no process could be started for the program: {error}") from error
        self._running += 1
        if not self._pool.idle:
            self._refill()
        try:
            return await process.run(program, host)
        finally:
            self._running -= 1
            asyncio.get_running_loop().call_later(_RECYCLE_DELAY_SECONDS, self._recycle, process)

    async def _take(self) -> SandboxProcess:
        """Return a locked process that has run no program. Raises `OSError`."""
        process = SandboxProcess(await self._pool.take(), self._config)
        try:
            await process.locked()
        except BaseException:
            process.close()
            raise
        return process

    def _recycle(self, process: SandboxProcess) -> None:
        process.close()
        self._refill()

    def _refill(self) -> None:
        self._pool.refill(min(max(_MIN_IDLE, self._running), _MAX_IDLE))

    async def close(self) -> None:
        await self._pool.close()


def _escapes(canary: Ending) -> str | None:
    """Return what is wrong with a jail in which the canary ran."""
    if canary.value == []:
        return None
    escapes = ", ".join(canary.value) if isinstance(canary.value, list) else ""
    return f"a program could {escapes}" if escapes else f"the canary failed: {canary.error}"
