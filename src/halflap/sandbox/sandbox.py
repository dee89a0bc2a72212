"""What any sandbox offers, and what it gets in return."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Protocol

from halflap.core.errors import SandboxError

__all__ = [
    "DEEPEST",
    "Canary",
    "Ending",
    "Entry",
    "Failure",
    "Host",
    "Program",
    "Readiness",
    "Sandbox",
    "ToolHelp",
    "ToolRefusal",
]

DEEPEST: Final = 4
"""How deep scripts and DSPy programs can call each other."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How a script is entered: its lines run, then `main` is called, and awaited if it is async."""

    name: str
    """What `__name__` is; not `__main__`, so that an `if __name__ == "__main__"` block does not run."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """JSON, by the names of the parameters."""


class ToolHelp(NamedTuple):
    """What a program can see of a tool."""

    signature: str = ""
    positional: str | None = None
    """The parameter that a single unnamed argument is for."""


@dataclass(frozen=True, slots=True)
class Program:
    code: str
    tools: Mapping[str, ToolHelp] = field(default_factory=dict)
    """The tools that the code names."""
    entry: Entry | None = None
    """How to enter a script; a program is just its lines."""


class ToolRefusal(Exception):  # noqa: N818 -- in the program it becomes a ToolError with this message
    """A call that failed or may not be made; the message is for the program."""


class Host(Protocol):
    """What a sandbox may ask of the gateway while a program runs. Everything it sends is untrusted."""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool and return its value: JSON, `Media`, or a list of both. Raises `ToolRefusal`."""
        ...

    def output(self, data: bytes) -> bool:
        """Take what was printed; False when it is too much and the program is to be ended."""
        ...

    def show(self, block: Mapping[str, Any]) -> bool:
        """Take a content block for the model; False when it is not one."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """How a program failed by itself."""

    type: str
    message: str
    traceback: str
    hint: str | None = None
    unknown: str | None = None
    """The undefined name that caused it, if any; `a__b__c` for `a.b.c`."""
    is_exhausted: bool = False
    """Whether it ran out of memory, whatever exception that became."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended. `failed` is its own doing; other outcomes than that and `ok` were imposed on it."""

    outcome: Literal["ok", "failed", "cpu", "memory", "output", "crashed", "misused"]
    failure: Failure | None = None
    detail: str = ""
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
    """Why no program can run, if none can."""
    notes: Sequence[str] = ()


class Sandbox(ABC):
    """Runs programs where they can do no harm. Cancelling `run` ends the program."""

    name: str

    def __init__(self) -> None:
        self._starting = asyncio.Lock()
        self._readiness: Readiness | None = None

    async def ready(self) -> Readiness:
        """Start and test the confinement, once; the result holds as long as the gateway runs."""
        async with self._starting:
            if self._readiness is None:
                self._readiness = await self._start()
                if self._readiness.trouble is not None:
                    await self.close()
            return self._readiness

    async def run(self, program: Program, host: Host) -> Ending:
        readiness = self._readiness or await self.ready()
        if readiness.trouble is not None:
            raise SandboxError(readiness.trouble)
        return await self._run(program, host)

    @abstractmethod
    async def _start(self) -> Readiness: ...

    @abstractmethod
    async def _run(self, program: Program, host: Host) -> Ending: ...

    @abstractmethod
    async def close(self) -> None: ...


class Canary:
    """The host of a program that tries to break out before any other is run, and prints what it could do."""

    def __init__(self) -> None:
        self._printed = b""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        del arguments
        raise ToolRefusal(f"{name!r} is not for the canary.")

    def output(self, data: bytes) -> bool:
        self._printed += data
        return True

    def show(self, block: Mapping[str, Any]) -> bool:
        return not block

    @property
    def escapes(self) -> str | None:
        """What it could do that it should not; None if it tried and could do nothing."""
        try:
            attempts = json.loads(self._printed)
        except ValueError:
            attempts = {}
        if not attempts:
            return "the canary reported nothing"
        got = ", ".join(what for what, succeeded in attempts.items() if succeeded)
        return f"a program could {got}" if got else None
