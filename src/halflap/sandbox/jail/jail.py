"""The jail: CPython with its standard library, in processes that can do nothing but compute and ask us."""

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
from halflap.sandbox.jail.server import ForkServer, Orders
from halflap.sandbox.sandbox import Ending, Readiness

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from halflap.config import ExecutionConfig
    from halflap.sandbox.jail.inmate import Inmate
    from halflap.sandbox.jail.verdict import Exit, Verdict
    from halflap.sandbox.sandbox import Host, Program

__all__ = ["Jail"]

logger = logging.getLogger(__name__)

_IDLE = 3
"""So many locked children wait for programs."""
_MOST_FORKS = 2_000
_LONGEST_LIFE_SECONDS = 3_600.0
"""After so many children or so long there is another fork server: its children share where things lie in memory."""
_REFILL_AFTER_SECONDS = 0.02
_BURY_AFTER_SECONDS = 0.005
"""The end of a process takes a processor for a while, which the answer shall have first."""
_LAST_WORDS_SECONDS = 2.0
_RETIRING_SECONDS = 0.2
_BROKEN = 70
"""What a child says with its last breath when a program has changed what the child itself uses."""
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
        self._idle: deque[Inmate] = deque()
        self._behind: set[asyncio.Task[None]] = set()
        self._grave: list[Inmate] = []
        self._burials: set[asyncio.Task[Exit]] = set()
        self._lock = asyncio.Lock()
        self._readiness: Readiness | None = None
        self._closed = False

    @property
    def name(self) -> str:
        return "jail"

    async def ready(self) -> Readiness:
        """Start the fork server and let the canary try; what it finds holds as long as the gateway runs."""
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
            inmate = await server.fork()
            try:
                verdict = await inmate.run(CANARY, listener)
            finally:
                await inmate.end()
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
        inmate = await self._take()
        # Another is forked in its place, but not while this one starts: that would take its processor.
        loop = asyncio.get_running_loop()
        loop.call_later(_REFILL_AFTER_SECONDS if self._idle else 0.0, self._refill)
        try:
            verdict = await inmate.run(program, host)
            how = await inmate.exit(_LAST_WORDS_SECONDS) if verdict.kind == "silent" else None
        except BaseException:
            await asyncio.shield(_cut_short(inmate))
            raise
        used = inmate.cpu_seconds if how is None else how.cpu_seconds
        # What it may still say is not heard, and in a moment it is killed; nobody need wait for that.
        inmate.hush()
        self._grave.append(inmate)
        loop.call_later(_BURY_AFTER_SECONDS, self._bury)
        ending = _ending(verdict, how, self._orders.cpu_seconds)
        return replace(ending, cpu_seconds=used, memory_bytes=None if how is None else how.memory_bytes)

    async def _take(self) -> Inmate:
        """Give a locked child that no program was in."""
        server = await self._current()
        while self._idle:
            inmate = self._idle.popleft()
            if inmate.is_alive:
                return inmate
            await inmate.end()
        try:
            return await server.fork()
        except OSError as error:
            raise SandboxError(f"no process could be had for the program: {error}") from error

    async def _current(self) -> ForkServer:
        """Give the fork server; another, if it is gone. One that has served long enough is replaced behind."""
        server = self._server
        assert server is not None
        if server.is_lost:
            try:
                return await self._replace(server)
            except OSError as error:
                raise SandboxError(f"the fork server could not be started again: {error}") from error
        if time.monotonic() - self._since > _LONGEST_LIFE_SECONDS or server.forked > _MOST_FORKS:
            # Not before another so long or so many, should the new one not start.
            self._since, server.forked = time.monotonic(), 0
            self._do_behind(self._replace_behind(server))
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
            self._do_behind(_retire(server, leaving))
            return fresh

    async def _replace_behind(self, server: ForkServer) -> None:
        try:
            await self._replace(server)
        except OSError as error:
            logger.warning(
                "The sandbox goes on as it is: another fork server could not be started: %s", error
            )

    def _bury(self) -> None:
        while self._grave:
            burial = asyncio.create_task(self._grave.pop().end(), name="bury")
            self._burials.add(burial)
            burial.add_done_callback(self._burials.discard)

    def _refill(self) -> None:
        if len(self._idle) < _IDLE and not self._closed:
            self._do_behind(self._fill())

    async def _fill(self) -> None:
        server = self._server
        while server is not None and not server.is_lost and len(self._idle) < _IDLE:
            try:
                inmate = await server.fork()
            except OSError:
                # The next program tries again, and says what is wrong.
                return
            if server is self._server and len(self._idle) < _IDLE and not self._closed:
                self._idle.append(inmate)
            else:
                await inmate.end()

    def _do_behind(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work, name="jail")
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def close(self) -> None:
        self._closed = True
        for task in self._behind:
            task.cancel()
        if self._behind:
            await asyncio.wait(self._behind)
        if self._server is not None:
            await self._server.close()
        for inmate in self._idle:
            await inmate.end()
        self._idle.clear()
        self._bury()
        if self._burials:
            await asyncio.wait(self._burials)


async def _cut_short(inmate: Inmate) -> None:
    """End a program whose time is up, or that nobody waits for; what it printed is still wanted."""
    await inmate.last_words()
    await inmate.end()


async def _retire(server: ForkServer, leaving: list[Inmate]) -> None:
    """Let a fork server go when its last program has ended."""
    try:
        for inmate in leaving:
            await inmate.end()
        while server.has_inmates and not server.is_lost:  # noqa: ASYNC110 -- once an hour, and nobody waits
            await asyncio.sleep(_RETIRING_SECONDS)
    finally:
        await to_its_end(server.close())


def _ending(verdict: Verdict, how: Exit | None, cpu_seconds: int) -> Ending:
    """Say how a run ended: by the program's word if it gave one, else by the kernel's."""
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
