"""The jail: CPython with its standard library, in processes that can only compute and ask the gateway."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.core.errors import SandboxError
from halflap.sandbox.bare import to_its_end
from halflap.sandbox.jail.canary import CANARY, Listener, escapes
from halflap.sandbox.jail.fork_server import ForkServer, Orders
from halflap.sandbox.sandbox import Ending, Readiness

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from halflap.config import ExecutionConfig
    from halflap.sandbox.jail.process import SandboxProcess
    from halflap.sandbox.jail.wire import Exit, Verdict
    from halflap.sandbox.sandbox import Host, Program

__all__ = ["Jail"]

logger = logging.getLogger(__name__)

_LEAST_IDLE, _MOST_IDLE = 3, 8
"""How many locked processes wait for programs; more while more programs run at a time."""
_MOST_FORKS = 2_000
_LONGEST_LIFE_SECONDS = 3_600.0
"""Then the fork server is replaced: all its processes share one memory layout."""
_REFILL_AFTER_SECONDS = 0.02
_REAP_AFTER_SECONDS = 0.005
"""Ending a process takes CPU time, which the answer should get first."""
_EXIT_SECONDS = 2.0
_RETIRING_SECONDS = 0.2
_BROKEN = 70
"""Exit status of a process whose program has broken what the process itself uses."""
_SIGNALS = {
    "SIGSYS": "it made a system call that no program needs, and was killed for it",
    "SIGKILL": "the system killed it, probably for want of memory",
    "SIGSEGV": "the interpreter crashed (SIGSEGV), as after recursion that is too deep, or os.abort()",
}


class Jail:
    """A `Sandbox` of locked processes, each used once."""

    def __init__(self, config: ExecutionConfig, *, orders: Orders | None = None) -> None:
        self._hardened = config.sandbox == "hardened"
        self._orders = orders or Orders(
            memory_bytes=config.max_memory_mb * 1024 * 1024,
            cpu_seconds=config.cpu_seconds,
            largest_frame=config.max_value_bytes,
            calls_at_once=config.max_concurrent_calls,
            modules=config.modules,
        )
        self._server: ForkServer | None = None
        self._since = 0.0
        self._idle: deque[SandboxProcess] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_filling = False
        self._running = 0
        self._exited: list[SandboxProcess] = []
        self._reaping: set[asyncio.Task[Exit]] = set()
        self._lock = asyncio.Lock()
        self._readiness: Readiness | None = None
        self._closed = False

    @property
    def name(self) -> str:
        return "jail"

    async def ready(self) -> Readiness:
        """Start the fork server and test its locks; the result holds as long as the gateway runs."""
        async with self._lock:
            if self._readiness is None:
                self._readiness = await self._try_out()
            return self._readiness

    async def _try_out(self) -> Readiness:
        if not sys.platform.startswith("linux"):
            return Readiness(self.name, trouble="the jail needs Linux")
        server = ForkServer(self._orders)
        try:
            await server.start()
            if self._hardened and server.missing:
                lacking = "; ".join(f"{layer}: {why}" for layer, why in server.missing.items())
                raise OSError(f"`execution.sandbox: hardened` wants every layer ({lacking})")  # noqa: TRY301
            listener = Listener()
            process = await server.fork()
            try:
                verdict = await process.run(CANARY, listener)
            finally:
                await process.reap()
            escaped = escapes(listener)
            if self._orders.lockdown and escaped is not None:
                told = verdict.failure.traceback if verdict.failure is not None else verdict.detail
                raise OSError(f"{escaped} {told}".strip())  # noqa: TRY301
        except OSError as error:
            await server.close()
            return Readiness(self.name, trouble=str(error))
        except BaseException:
            await server.close()
            raise
        self._server, self._since = server, time.monotonic()
        self._refill()
        notes = [
            f"module {module!r} cannot be loaded: {why}" for module, why in server.failed_modules.items()
        ]
        return Readiness(self.name, server.layers, server.missing, notes=notes)

    async def run(self, program: Program, host: Host) -> Ending:
        readiness = await self.ready()
        if readiness.trouble is not None:
            raise SandboxError(readiness.trouble)
        process = await self._take()
        # Another one is forked to replace it, but not while this one starts: that would take its CPU time.
        loop = asyncio.get_running_loop()
        loop.call_later(_REFILL_AFTER_SECONDS if self._idle else 0.0, self._refill)
        self._running += 1
        try:
            verdict = await process.run(program, host)
            how = await process.exit(_EXIT_SECONDS) if verdict.kind == "silent" else None
        except BaseException:
            await asyncio.shield(_stop(process))
            raise
        finally:
            self._running -= 1
        used = process.cpu_seconds if how is None else how.cpu_seconds
        # It is killed in a moment; the answer does not wait for that.
        process.ignore()
        self._exited.append(process)
        loop.call_later(_REAP_AFTER_SECONDS, self._reap)
        ending = _ending(verdict, how, self._orders.cpu_seconds)
        return replace(ending, cpu_seconds=used, memory_bytes=None if how is None else how.memory_bytes)

    async def _take(self) -> SandboxProcess:
        """Return a locked process that has run no program."""
        server = await self._current()
        while self._idle:
            process = self._idle.popleft()
            if process.is_alive:
                return process
            await process.reap()
        try:
            return await server.fork()
        except OSError as error:
            raise SandboxError(f"no process could be started for the program: {error}") from error

    async def _current(self) -> ForkServer:
        """Return the fork server; a new one if it is lost. An old one is replaced in the background."""
        server = self._server
        assert server is not None
        if server.is_lost:
            try:
                return await self._replace(server)
            except OSError as error:
                raise SandboxError(f"the fork server could not be started again: {error}") from error
        if time.monotonic() - self._since > _LONGEST_LIFE_SECONDS or server.forked > _MOST_FORKS:
            # If the new one does not start, try again only after as long.
            self._since, server.forked = time.monotonic(), 0
            self._start(self._replace_later(server))
        return server

    async def _replace(self, server: ForkServer) -> ForkServer:
        async with self._lock:
            if self._server is not None and self._server is not server:
                return self._server
            fresh = ForkServer(self._orders)
            await fresh.start()
            self._server, self._since = fresh, time.monotonic()
            leaving = list(self._idle)
            self._idle.clear()
            self._start(_retire(server, leaving))
            return fresh

    async def _replace_later(self, server: ForkServer) -> None:
        try:
            await self._replace(server)
        except OSError as error:
            logger.warning("The fork server is kept: a new one could not be started: %s", error)

    def _reap(self) -> None:
        while self._exited:
            task = asyncio.create_task(self._exited.pop().reap(), name="reap")
            self._reaping.add(task)
            task.add_done_callback(self._reaping.discard)

    def _refill(self) -> None:
        if not self._is_filling and not self._closed:
            self._is_filling = True
            self._start(self._fill())

    async def _fill(self) -> None:
        """Fork processes, one after the other, until as many wait as programs run now."""
        try:
            server = self._server
            while server is not None and not server.is_lost and len(self._idle) < self._most_idle:
                process = await server.fork()
                if server is self._server and not self._closed:
                    self._idle.append(process)
                else:
                    await process.reap()
                    server = self._server
        except OSError:
            # The next program tries again and reports what is wrong.
            return
        finally:
            self._is_filling = False

    @property
    def _most_idle(self) -> int:
        return min(max(_LEAST_IDLE, self._running), _MOST_IDLE)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name="jail")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        self._closed = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._server is not None:
            await self._server.close()
        for process in self._idle:
            await process.reap()
        self._idle.clear()
        self._reap()
        if self._reaping:
            await asyncio.wait(self._reaping)


async def _stop(process: SandboxProcess) -> None:
    """End a program that timed out or was cancelled; what it printed is kept."""
    await process.last_output()
    await process.reap()


async def _retire(server: ForkServer, leaving: list[SandboxProcess]) -> None:
    """Close a fork server when its last program has ended."""
    try:
        for process in leaving:
            await process.reap()
        while server.has_processes and not server.is_lost:  # noqa: ASYNC110 -- once an hour, in the background
            await asyncio.sleep(_RETIRING_SECONDS)
    finally:
        await to_its_end(server.close())


def _ending(verdict: Verdict, how: Exit | None, cpu_seconds: int) -> Ending:
    """Return how a run ended: as the program reported, otherwise as the kernel says."""
    if verdict.kind == "done":
        ending = Ending("ok", value=verdict.value)
        if verdict.failure is not None:
            ending = Ending("memory" if verdict.failure.is_exhausted else "failed", verdict.failure)
    elif verdict.kind == "misused":
        ending = Ending("misused", detail=verdict.detail)
    elif verdict.kind == "output":
        ending = Ending("output")
    elif how is None:
        ending = Ending("misused", detail="the channel was closed while the program went on")
    else:
        ending = _silent_ending(how, cpu_seconds)
    return ending


def _silent_ending(how: Exit, cpu_seconds: int) -> Ending:
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
