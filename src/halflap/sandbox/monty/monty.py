"""Monty: programs in a part of Python, in processes of an interpreter that has no way to the outside."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING

from halflap.core.environment import install_command
from halflap.core.errors import SandboxError
from halflap.sandbox.sandbox import DEEPEST, Canary, Ending, Host, Program, Readiness, Sandbox

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


class Monty(Sandbox):
    """Processes of monty, each used once."""

    name = "monty"

    def __init__(self, config: ExecutionConfig) -> None:
        super().__init__()
        self._config = config
        self._pool: pm.Monty | None = None
        self._sessions: set[Session] = set()

    async def _start(self) -> Readiness:
        try:
            version = await asyncio.to_thread(self._open)
        except ImportError as error:
            return Readiness(
                self.name, trouble=f"monty is not installed ({error}): {install_command('monty')}"
            )
        except (OSError, RuntimeError) as error:
            # The pool raises RuntimeError if a process does not start.
            return Readiness(self.name, trouble=f"monty cannot be started: {error}")
        canary = Canary()
        ending = await self._run(_CANARY, canary)
        if ending.outcome != "ok" or canary.escapes is not None:
            detail = ending.failure.traceback if ending.failure is not None else ending.detail
            return Readiness(self.name, trouble=f"{canary.escapes or 'the canary failed:'} {detail}".strip())
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
                # A program waits for the scripts that it calls, so each depth has its own.
                max_processes=self._config.max_programs * (DEEPEST + 1),
                # No program finds what another one left in a process.
                max_checkouts_per_worker=1,
                feed_duration_limit_grace=_GRACE_SECONDS,
                request_timeout=self._config.cpu_seconds + 2 * _GRACE_SECONDS,
            )
            pool.__enter__()
            self._pool = pool
        return str(pm.__version__)

    async def _run(self, program: Program, host: Host) -> Ending:
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
        if self._sessions:
            await asyncio.wait([session.driven for session in self._sessions], timeout=_CLOSE_SECONDS)
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.__exit__, None, None, None)
