"""Which sandbox programs run in: the configured one, or the best that this machine supports; never plain exec."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.core.errors import SandboxError
from halflap.sandbox.sandbox import Ending, Host, Program, Readiness, Sandbox

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig

__all__ = ["choose"]


def choose(config: ExecutionConfig, *, platform: str = sys.platform) -> Sandbox:
    """Return the sandbox; it is loaded and started when it is first asked whether it is ready."""
    if config.sandbox == "off":
        return _NoSandbox("`execution.sandbox` is `off`")
    if config.sandbox == "monty" or (config.sandbox == "auto" and not platform.startswith("linux")):
        return _monty(config)
    return _JailOrMonty(config) if config.sandbox == "auto" else _jail(config)


def _jail(config: ExecutionConfig) -> Sandbox:
    from halflap.sandbox.jail.jail import Jail  # noqa: PLC0415 -- only if it is used

    return Jail(config)


def _monty(config: ExecutionConfig) -> Sandbox:
    from halflap.sandbox.monty.monty import Monty  # noqa: PLC0415 -- only if it is used

    return Monty(config)


class _NoSandbox:
    """Runs nothing, and reports why."""

    name = "none"

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def ready(self) -> Readiness:
        return Readiness(self.name, trouble=self._reason)

    async def run(self, program: Program, host: Host) -> Ending:
        del program, host
        raise SandboxError(self._reason)

    async def close(self) -> None:
        """Do nothing."""


class _JailOrMonty:
    """The jail; if it does not work on this machine, monty, which is reported."""

    def __init__(self, config: ExecutionConfig) -> None:
        self._config = config
        self._sandbox: Sandbox = _jail(config)
        self._readiness: Readiness | None = None
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        return "auto" if self._readiness is None else self._sandbox.name

    async def ready(self) -> Readiness:
        """Try the jail, then monty; the result holds as long as the gateway runs."""
        async with self._lock:
            if self._readiness is None:
                self._readiness = await self._choose()
            return self._readiness

    async def _choose(self) -> Readiness:
        jail = await self._sandbox.ready()
        if jail.trouble is None:
            return jail
        await self._sandbox.close()
        self._sandbox = _monty(self._config)
        monty = await self._sandbox.ready()
        if monty.trouble is None:
            why = f"the jail cannot be used here ({jail.trouble}): programs run in monty"
            return replace(monty, missing={"jail": jail.trouble, **monty.missing}, notes=[why, *monty.notes])
        await self._sandbox.close()
        self._sandbox = _NoSandbox(f"the jail: {jail.trouble}; monty: {monty.trouble}")
        return await self._sandbox.ready()

    async def run(self, program: Program, host: Host) -> Ending:
        await self.ready()
        return await self._sandbox.run(program, host)

    async def close(self) -> None:
        await self._sandbox.close()
