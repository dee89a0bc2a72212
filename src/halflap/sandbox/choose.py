"""Which sandbox programs run in: the configured one, or the best that this machine supports; never plain exec."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.core.errors import SandboxError
from halflap.sandbox.sandbox import Readiness

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig
    from halflap.sandbox.sandbox import Ending, Host, Program, Sandbox

__all__ = ["JailOrMonty", "NoSandbox", "choose"]


def choose(config: ExecutionConfig, *, platform: str = sys.platform) -> Sandbox:
    """Return the sandbox; it is loaded and started when it is first asked whether it is ready."""
    if config.sandbox == "off":
        return NoSandbox("`execution.sandbox` is `off`")
    if config.sandbox == "monty" or (config.sandbox == "auto" and not platform.startswith("linux")):
        return _monty(config)
    if config.sandbox in {"jail", "hardened"}:
        return _jail(config)
    return JailOrMonty(config)


def _jail(config: ExecutionConfig) -> Sandbox:
    from halflap.sandbox.jail.jail import Jail  # noqa: PLC0415 -- only if it is used

    return Jail(config)


def _monty(config: ExecutionConfig) -> Sandbox:
    from halflap.sandbox.monty.monty import Monty  # noqa: PLC0415 -- only if it is used

    return Monty(config)


async def _ready(sandbox: Sandbox) -> Readiness:
    """Return whether it is ready; close it if that is cancelled."""
    try:
        return await sandbox.ready()
    except BaseException:
        await sandbox.close()
        raise


class NoSandbox:
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


class JailOrMonty:
    """The jail; if it does not work on this machine, monty, which is reported."""

    def __init__(self, config: ExecutionConfig) -> None:
        self._config = config
        self._chosen: Sandbox | None = None
        self._readiness: Readiness | None = None
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        return "auto" if self._chosen is None else self._chosen.name

    async def ready(self) -> Readiness:
        """Try the jail, then monty; the result holds as long as the gateway runs."""
        async with self._lock:
            if self._readiness is None:
                self._chosen, self._readiness = await self._choose()
            return self._readiness

    async def _choose(self) -> tuple[Sandbox, Readiness]:
        jail = _jail(self._config)
        first = await _ready(jail)
        if first.trouble is None:
            return jail, first
        await jail.close()
        monty = _monty(self._config)
        second = await _ready(monty)
        if second.trouble is None:
            why = f"the jail cannot be used here ({first.trouble}): programs run in monty"
            missing = {"jail": first.trouble, **second.missing}
            return monty, replace(second, missing=missing, notes=[why, *second.notes])
        await monty.close()
        none = NoSandbox(f"the jail: {first.trouble}; monty: {second.trouble}")
        return none, await none.ready()

    async def run(self, program: Program, host: Host) -> Ending:
        await self.ready()
        assert self._chosen is not None
        return await self._chosen.run(program, host)

    async def close(self) -> None:
        if self._chosen is not None:
            await self._chosen.close()
