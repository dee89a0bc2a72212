"""Which sandbox programs run in: the configured one, or the best that this machine supports; never plain exec."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from halflap.core.errors import SandboxError
from halflap.sandbox.sandbox import Ending, Host, Program, Readiness

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig


class Backend(Protocol):
    """A way to confine programs."""

    name: str

    async def start(self) -> Readiness:
        """Start and test the confinement."""
        ...

    async def run(self, program: Program, host: Host) -> Ending:
        """Run a program to its end; cancelling this ends it."""
        ...

    async def close(self) -> None: ...


class Sandbox:
    """Runs programs in the first of several backends that works here."""

    def __init__(self, *backends: Backend) -> None:
        self._backends = backends
        self._chosen: Backend | None = None
        self._readiness: Readiness | None = None
        self._starting = asyncio.Lock()

    @property
    def name(self) -> str:
        return "none" if self._readiness is None else self._readiness.name

    async def ready(self) -> Readiness:
        """Start and test the confinement, once; the result holds as long as the gateway runs."""
        async with self._starting:
            if self._readiness is None:
                self._readiness = await self._start()
            return self._readiness

    async def _start(self) -> Readiness:
        troubles: dict[str, str] = {}
        readiness = Readiness("none", trouble="`execution.sandbox` is `off`")
        for backend in self._backends:
            readiness = await backend.start()
            if readiness.trouble is None:
                self._chosen = backend
                notes = [f"{name} cannot be used here ({trouble})" for name, trouble in troubles.items()]
                return replace(
                    readiness, missing=troubles | dict(readiness.missing), notes=[*notes, *readiness.notes]
                )
            await backend.close()
            troubles[backend.name] = readiness.trouble
        if len(troubles) > 1:
            return Readiness("none", trouble="; ".join(f"{name}: {why}" for name, why in troubles.items()))
        return readiness

    async def run(self, program: Program, host: Host) -> Ending:
        """Run a program to its end; cancelling this ends it."""
        readiness = self._readiness or await self.ready()
        if self._chosen is None:
            raise SandboxError(readiness.trouble or "")
        return await self._chosen.run(program, host)

    async def close(self) -> None:
        for backend in self._backends:
            await backend.close()


def choose(config: ExecutionConfig, *, platform: str = sys.platform) -> Sandbox:
    """Return the sandbox; it starts when it is first asked whether it is ready."""
    backends: list[Backend] = []
    if config.sandbox in {"jail", "hardened"} or (config.sandbox == "auto" and platform.startswith("linux")):
        from halflap.sandbox.jail.jail import Jail  # noqa: PLC0415 -- only if it is used

        backends.append(Jail(config))
    if config.sandbox in {"monty", "auto"}:
        from halflap.sandbox.monty import Monty  # noqa: PLC0415 -- only if it is used

        backends.append(Monty(config))
    return Sandbox(*backends)
