"""Monty: programs in a part of Python, in processes of an interpreter that has no way to the outside."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from typing import TYPE_CHECKING

from halflap.core.errors import SandboxError
from halflap.sandbox.jail.canary import Listener, escapes
from halflap.sandbox.monty.canary import CANARY
from halflap.sandbox.monty.limits import Limits
from halflap.sandbox.sandbox import Readiness

if TYPE_CHECKING:
    import pydantic_monty as pm

    from halflap.config import ExecutionConfig
    from halflap.sandbox.monty.run import Run
    from halflap.sandbox.sandbox import Ending, Host, Program

__all__ = ["Monty"]

_GRACE_SECONDS = 1.0
_INSTALL = "pip install 'halflap[monty]'"
_IDLE = 2
_CLOSE_SECONDS = 5.0


class Monty:
    """A `Sandbox` of monty's processes, each used once. Needs no means that only some systems have."""

    def __init__(self, config: ExecutionConfig) -> None:
        self._limits = Limits.of(config)
        self._modules = config.modules
        self._pool: pm.Monty | None = None
        self._places = asyncio.Semaphore(config.max_programs)
        self._lock = asyncio.Lock()
        self._readiness: Readiness | None = None
        self._runs: set[Run] = set()

    @property
    def name(self) -> str:
        return "monty"

    async def ready(self) -> Readiness:
        """Start the first processes and let the canary try; what it finds holds as long as the gateway runs."""
        async with self._lock:
            if self._readiness is None:
                self._readiness = await self._try_out()
            return self._readiness

    async def _try_out(self) -> Readiness:
        try:
            version = await asyncio.to_thread(self._open)
        except ImportError as error:
            return Readiness(self.name, trouble=f"monty is not installed ({error}): {_INSTALL}")
        except (OSError, RuntimeError) as error:
            # RuntimeError is what the pool raises for a process that does not start.
            return Readiness(self.name, trouble=f"monty cannot be started: {error}")
        listener = Listener()
        ending = await self._run(CANARY, listener)
        escaped = escapes(listener)
        if ending.outcome != "ok" or escaped is not None:
            await self.close()
            told = ending.failure.traceback if ending.failure is not None else ending.detail
            return Readiness(self.name, trouble=f"{escaped or 'the canary failed:'} {told}".strip())
        layers = (
            f"monty {version}, an interpreter without files, network or processes",
            "a process for each program, with an empty environment",
            f"{self._limits.seconds} s of computing",
            f"{self._limits.memory_bytes // 1024 // 1024:,} MiB of memory",
            f"calls {self._limits.recursion:,} deep",
        )
        return Readiness(self.name, layers, notes=self._notes())

    def _notes(self) -> list[str]:
        notes = ["monty runs a part of Python: no inheritance, generators or del, and few modules"]
        if self._modules:
            notes.append(
                "`execution.modules` has no effect in monty: it has no packages. The jail, on Linux, has them"
            )
        return notes

    def _open(self) -> str:
        """Load the package and start the pool, and give the version."""
        # An extra, and nothing to load before somebody runs a program.
        pm = importlib.import_module("pydantic_monty")
        if self._pool is not None:
            # Somebody who asked before did not wait for the answer.
            return str(pm.__version__)
        pool = pm.Monty(
            min_processes=min(_IDLE, self._limits.programs),
            max_processes=self._limits.programs,
            # What a program leaves behind in a process, no other finds.
            max_checkouts_per_worker=1,
            feed_duration_limit_grace=_GRACE_SECONDS,
            request_timeout=self._limits.seconds + 2 * _GRACE_SECONDS,
        )
        pool.__enter__()
        self._pool = pool
        return str(pm.__version__)

    async def run(self, program: Program, host: Host) -> Ending:
        readiness = await self.ready()
        if readiness.trouble is not None:
            raise SandboxError(readiness.trouble)
        return await self._run(program, host)

    async def _run(self, program: Program, host: Host) -> Ending:
        async with self._places:
            if self._pool is None:
                raise SandboxError("monty was closed")
            from halflap.sandbox.monty.run import Run  # noqa: PLC0415 -- it loads the extra

            run = Run(self._pool, self._limits, program, host)
            self._runs.add(run)
            try:
                return await run.to_the_end()
            finally:
                self._runs.discard(run)

    async def close(self) -> None:
        for run in list(self._runs):
            run.kill()
        ended = [run.ended.wait() for run in self._runs]
        if ended:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await asyncio.gather(*ended)
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.__exit__, None, None, None)
