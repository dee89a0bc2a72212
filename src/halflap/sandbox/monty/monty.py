"""Monty: programs in a part of Python, in processes of an interpreter that has no way to the outside."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from typing import TYPE_CHECKING

from halflap.core.environment import install_command
from halflap.core.errors import SandboxError
from halflap.sandbox.canary import Listener, escapes
from halflap.sandbox.sandbox import Ending, Host, Program, Readiness

if TYPE_CHECKING:
    import pydantic_monty as pm

    from halflap.config import ExecutionConfig
    from halflap.sandbox.monty.session import Session

__all__ = ["Monty"]

_GRACE_SECONDS = 1.0
_IDLE = 2
_CLOSE_SECONDS = 5.0
_CANARY = Program(
    """\
import json, os, pathlib

got = {}

def attempt(name, action):
    try:
        action()
    except Exception:
        got[name] = False
    else:
        got[name] = True

attempt("open a file", lambda: open("/etc/hostname").read())
attempt("write a file", lambda: open("/tmp/halflap-canary", "w").write("x"))
attempt("read a path", lambda: pathlib.Path("/").iterdir())
attempt("read the environment", lambda: os.environ["PATH"])
attempt("call into C", lambda: exec("import ctypes"))
print(json.dumps(got))
"""
)


class Monty:
    """A `Sandbox` of monty's processes, each used once."""

    name = "monty"

    def __init__(self, config: ExecutionConfig) -> None:
        self._config = config
        self._pool: pm.Monty | None = None
        self._places = asyncio.Semaphore(config.max_programs)
        self._lock = asyncio.Lock()
        self._readiness: Readiness | None = None
        self._sessions: set[Session] = set()

    async def ready(self) -> Readiness:
        """Start the first processes and run the canary; the result holds as long as the gateway runs."""
        async with self._lock:
            if self._readiness is None:
                self._readiness = await self._test()
            return self._readiness

    async def _test(self) -> Readiness:
        try:
            version = await asyncio.to_thread(self._open)
        except ImportError as error:
            return Readiness(
                self.name, trouble=f"monty is not installed ({error}): {install_command('monty')}"
            )
        except (OSError, RuntimeError) as error:
            # The pool raises RuntimeError if a process does not start.
            return Readiness(self.name, trouble=f"monty cannot be started: {error}")
        listener = Listener()
        ending = await self._run(_CANARY, listener)
        escaped = escapes(listener)
        if ending.outcome != "ok" or escaped is not None:
            await self.close()
            detail = ending.failure.traceback if ending.failure is not None else ending.detail
            return Readiness(self.name, trouble=f"{escaped or 'the canary failed:'} {detail}".strip())
        layers = (
            f"monty {version}, an interpreter without files, network or processes",
            "a process for each program, with an empty environment",
            f"{self._config.cpu_seconds} s of computing, {self._config.max_memory_mb:,} MiB of memory",
        )
        notes = ["monty runs a part of Python: no inheritance, generators or del, and few modules"]
        if self._config.modules:
            notes.append("`execution.modules` has no effect in monty: it has no packages")
        return Readiness(self.name, layers, notes=notes)

    def _open(self) -> str:
        """Load the package, start the pool, and return the version."""
        pm = importlib.import_module("pydantic_monty")
        if self._pool is None:
            pool = pm.Monty(
                min_processes=min(_IDLE, self._config.max_programs),
                max_processes=self._config.max_programs,
                # No program finds what another one left in a process.
                max_checkouts_per_worker=1,
                feed_duration_limit_grace=_GRACE_SECONDS,
                request_timeout=self._config.cpu_seconds + 2 * _GRACE_SECONDS,
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
            from halflap.sandbox.monty.session import Session  # noqa: PLC0415 -- it loads the extra

            session = Session(self._pool, self._config, program, host)
            self._sessions.add(session)
            try:
                return await session.run()
            finally:
                self._sessions.discard(session)

    async def close(self) -> None:
        for session in self._sessions:
            session.kill()
        ended = [session.ended.wait() for session in self._sessions]
        if ended:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await asyncio.gather(*ended)
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.__exit__, None, None, None)
