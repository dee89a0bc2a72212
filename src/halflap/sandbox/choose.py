"""Which sandbox programs run in: the configured one, or the best that this machine supports; never plain exec."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.core.errors import SandboxError
from halflap.sandbox.sandbox import Ending, Host, Program, Readiness, Sandbox

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig

__all__ = ["choose"]


def choose(config: ExecutionConfig, *, platform: str = sys.platform) -> Sandbox:
    """Return the sandbox; it is started when it is first asked whether it is ready."""
    if config.sandbox == "off":
        return _NoSandbox()
    if config.sandbox == "monty" or (config.sandbox == "auto" and not platform.startswith("linux")):
        return _monty(config)
    return _JailOrMonty(config) if config.sandbox == "auto" else _jail(config)


def _jail(config: ExecutionConfig) -> Sandbox:
    from halflap.sandbox.jail.jail import Jail  # noqa: PLC0415 -- only if it is used

    return Jail(config)


def _monty(config: ExecutionConfig) -> Sandbox:
    from halflap.sandbox.monty.monty import Monty  # noqa: PLC0415 -- only if it is used

    return Monty(config)


class _NoSandbox(Sandbox):
    name = "none"

    async def _start(self) -> Readiness:
        return Readiness(self.name, trouble="`execution.sandbox` is `off`")

    async def _run(self, program: Program, host: Host) -> Ending:
        del program, host
        raise SandboxError("`execution.sandbox` is `off`")

    async def close(self) -> None:
        """Do nothing."""


class _JailOrMonty(Sandbox):
    """The jail; if it does not work on this machine, monty, which is reported."""

    name = "auto"

    def __init__(self, config: ExecutionConfig) -> None:
        super().__init__()
        self._config = config
        self._chosen = _jail(config)

    async def _start(self) -> Readiness:
        jail = await self._chosen.ready()
        self.name = self._chosen.name
        if jail.trouble is None:
            return jail
        self._chosen = _monty(self._config)
        monty = await self._chosen.ready()
        if monty.trouble is not None:
            self.name = "none"
            return Readiness(self.name, trouble=f"the jail: {jail.trouble}; monty: {monty.trouble}")
        self.name = self._chosen.name
        why = f"the jail cannot be used here ({jail.trouble}): programs run in monty"
        return replace(monty, missing={"jail": jail.trouble, **monty.missing}, notes=[why, *monty.notes])

    async def _run(self, program: Program, host: Host) -> Ending:
        return await self._chosen.run(program, host)

    async def close(self) -> None:
        await self._chosen.close()
