"""Sandboxes: what they run, what a program may ask for meanwhile, how it ended; and which of them is used, never plain exec."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

from halflap.core.errors import SandboxError
from halflap.sandbox.functions import ToolError

if TYPE_CHECKING:
    from halflap.config import ExecutionConfig

__all__ = [
    "MAX_DEPTH",
    "Backend",
    "Ending",
    "Host",
    "Outcome",
    "Program",
    "Readiness",
    "Sandbox",
    "ToolHelp",
    "choose",
]

MAX_DEPTH: Final = 4
"""How deep scripts and DSPy programs can call each other."""


class ToolHelp(NamedTuple):
    """What a program can see of a tool."""

    signature: str = ""
    positional: str | None = None
    """The parameter that takes a single unnamed argument."""


@dataclass(frozen=True, slots=True)
class Program:
    code: str
    tools: Mapping[str, ToolHelp] = field(default_factory=dict)
    """The tools that the code names."""
    arguments: Mapping[str, Any] | None = None
    """JSON for the parameters of a script's `main`, which is called after the lines have run; None for other programs."""


class Host:
    """What a program may ask of the gateway while it runs; this one refuses everything. Its arguments are untrusted."""

    async def call(self, name: str, arguments: Mapping[str, Any], line: int | None = None) -> Any:
        """Call a tool and return its value: JSON, `Media`, or a list of both. Raises `ToolError`.

        `line` is the line of the program that awaits the call, if the sandbox knows it.
        """
        del arguments, line
        raise ToolError(f"{name!r} cannot be called.")

    def write(self, data: bytes) -> bool:
        """Take printed text; return False if it is too much, which ends the program."""
        return not data

    def show(self, block: Mapping[str, Any]) -> bool:
        """Take an image or a sound for the model; return False if it is neither, which ends the program."""
        return not block


Outcome = Literal[
    "ok", "failed", "mistaken", "timeout", "cancelled", "cpu", "memory", "output", "crashed", "misused"
]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended. `failed` is its own exception; the others were imposed on it."""

    outcome: Outcome
    error: str = ""
    """The traceback of a program that failed; for `crashed` and `misused`, what happened."""
    hint: str | None = None
    value: Any = None
    """What a script's `main` returned: untrusted JSON."""
    cpu_seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether programs can run, and which layers confine them."""

    name: str
    layers: Sequence[str] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Layers that this machine lacks, and why."""
    trouble: str | None = None
    """Why no program can run."""
    notes: Sequence[str] = ()


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
