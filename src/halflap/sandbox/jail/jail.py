"""The jail: CPython with its standard library, in processes that can only compute and ask the gateway."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.core.errors import SandboxError
from halflap.sandbox.canary import Listener, escapes
from halflap.sandbox.jail.pool import Pool
from halflap.sandbox.jail.process import SandboxProcess
from halflap.sandbox.sandbox import Ending, Host, Program, Readiness

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig
    from halflap.sandbox.jail.fork_server import Exit

__all__ = ["Jail"]

_PROFILE = "halflap.sandbox.jail.inside.child"
_LEAST_IDLE, _MOST_IDLE = 3, 8
"""How many locked processes wait for programs; more while more programs run at a time."""
_REFILL_AFTER_SECONDS = 0.02
_CLOSE_AFTER_SECONDS = 0.005
"""Ending a process takes CPU time, which the answer should get first."""
_EXIT_SECONDS = 2.0
_BROKEN = 70
"""Exit status of a process whose program has broken what the process itself uses."""
_SIGNALS = {
    "SIGSYS": "it made a system call that no program needs, and was killed for it",
    "SIGKILL": "the system killed it, probably for want of memory",
    "SIGSEGV": "the interpreter crashed (SIGSEGV), as after recursion that is too deep, or os.abort()",
}
_CANARY = Program(
    """\
import ctypes, json, os, socket

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_long
got = {}

def attempt(name, action):
    try:
        outcome = action()
    except OSError:
        got[name] = False
    else:
        got[name] = outcome is None or outcome >= 0

attempt("open a file", lambda: os.close(os.open("/", os.O_RDONLY)))
attempt("open a file past Python", lambda: libc.open(b"/", 0))
attempt("make a socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close())
attempt("make a datagram pair", lambda: libc.socketpair(1, 2, 0, (ctypes.c_int * 2)()))
attempt("connect to the outside", lambda: socket.socket(socket.AF_UNIX).connect("/tmp/halflap-canary"))
attempt("start a process", lambda: os._exit(0) if (pid := os.fork()) == 0 else pid)
attempt("send a signal", lambda: os.kill(os.getppid(), 0))
attempt("send a signal to itself", lambda: libc.kill(os.getpid(), 0))
attempt("make memory executable", lambda: libc.mmap(None, 4096, 5, 34, -1, 0))
print(json.dumps(got))
"""
)
"""Tries to break out, before any other program is run."""


class Jail:
    """A `Sandbox` of locked processes, each used once."""

    name = "jail"

    def __init__(self, config: ExecutionConfig, **layers: bool) -> None:
        """Create it; tests can switch off `namespaces`, `landlock`, or all of it (`lockdown`)."""
        self._config = config
        self._orders: dict[str, Any] = {
            "memory_bytes": config.max_memory_mb * 1024 * 1024,
            "cpu_seconds": config.cpu_seconds,
            "largest_frame": config.max_value_bytes,
            "modules": list(config.modules),
            # Where modules are found; programs never see it.
            "path": [entry for entry in sys.path if entry] if config.modules else [],
            **layers,
        }
        self._pool = Pool(_PROFILE, lambda: self._orders)
        self._leaving: set[SandboxProcess] = set()
        """Their programs are done; they are closed in a moment."""
        self._running = 0
        self._lock = asyncio.Lock()
        self._readiness: Readiness | None = None

    async def ready(self) -> Readiness:
        """Start the fork server and test its locks; the result holds as long as the gateway runs."""
        async with self._lock:
            if self._readiness is None:
                self._readiness = await self._try_out()
            return self._readiness

    async def _try_out(self) -> Readiness:
        if not sys.platform.startswith("linux"):
            return Readiness(self.name, trouble="the jail needs Linux")
        try:
            report = (await self._pool.start()).report
            await self._test(report["missing"])
        except OSError as error:
            await self._pool.close()
            return Readiness(self.name, trouble=str(error))
        self._refill()
        notes = [f"module {name!r} cannot be loaded: {why}" for name, why in report["failed_modules"].items()]
        return Readiness(self.name, report["layers"], report["missing"], notes=notes)

    async def _test(self, missing: Mapping[str, str]) -> None:
        """Raise `OSError` unless every lock holds."""
        if self._config.sandbox == "hardened" and missing:
            lacking = "; ".join(f"{layer}: {why}" for layer, why in missing.items())
            raise OSError(f"`execution.sandbox: hardened` wants every layer ({lacking})")
        listener = Listener()
        process = await self._take()
        try:
            ending = await process.run(_CANARY, listener)
        finally:
            process.close()
        escaped = escapes(listener)
        if escaped is not None and self._orders.get("lockdown", True):
            failure = None if ending is None else ending.failure
            raise OSError(f"{escaped} {'' if failure is None else failure.traceback}".strip())

    async def run(self, program: Program, host: Host) -> Ending:
        readiness = await self.ready()
        if readiness.trouble is not None:
            raise SandboxError(readiness.trouble)
        try:
            process = await self._take()
        except OSError as error:
            raise SandboxError(f"no process could be started for the program: {error}") from error
        # Another one is forked to replace it, but not while this one starts: that would take its CPU time.
        loop = asyncio.get_running_loop()
        loop.call_later(_REFILL_AFTER_SECONDS if self._pool.idle else 0.0, self._refill)
        self._running += 1
        try:
            ending = await process.run(program, host)
            how = await process.child.exited(_EXIT_SECONDS) if ending is None else None
        except BaseException:
            await asyncio.shield(process.stop())
            raise
        finally:
            self._running -= 1
        used = process.cpu_seconds if how is None else how.cpu_seconds
        # It is killed in a moment; the answer does not wait for that.
        process.ignore()
        self._leaving.add(process)
        loop.call_later(_CLOSE_AFTER_SECONDS, self._dismiss, process)
        if ending is None:
            ending = _silent_ending(how, self._config.cpu_seconds)
        return replace(ending, cpu_seconds=used, memory_bytes=None if how is None else how.memory_bytes)

    def _dismiss(self, process: SandboxProcess) -> None:
        self._leaving.discard(process)
        process.close()

    async def _take(self) -> SandboxProcess:
        """Return a locked process that has run no program; raise `OSError` if there can be none."""
        while True:
            is_last = not self._pool.idle
            child = await self._pool.take()
            process = SandboxProcess(child, self._config.max_value_bytes, self._config.max_concurrent_calls)
            try:
                await process.locked()
            except BaseException as error:
                process.close()
                # One that waited may have died meanwhile.
                if is_last or not isinstance(error, OSError):
                    raise
            else:
                return process

    def _refill(self) -> None:
        self._pool.refill(min(max(_LEAST_IDLE, self._running), _MOST_IDLE))

    async def close(self) -> None:
        for process in self._leaving:
            process.close()
        await self._pool.close()


def _silent_ending(how: Exit | None, cpu_seconds: int) -> Ending:
    """Return how a program ended that did not say so, according to the kernel."""
    if how is None:
        return Ending("misused", detail="the channel was closed while the program went on")
    if how.code is None:
        return Ending("crashed", detail="the sandbox was lost; the next program gets a new one")
    if how.code == _BROKEN:
        return Ending("crashed", detail="the program broke what Python itself needs, and could not go on")
    if how.code >= 0:
        return Ending("crashed", detail=f"the process ended itself with status {how.code}, past Python")
    name = signal.Signals(-how.code).name
    if name == "SIGXCPU" or (name == "SIGKILL" and (how.cpu_seconds or 0) >= cpu_seconds):
        return Ending("cpu")
    return Ending("crashed", detail=_SIGNALS.get(name, f"the interpreter crashed ({name})"))
