"""What any sandbox offers, and what it gets in return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

__all__ = [
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


class Sandbox(Protocol):
    """Runs programs where they can do no harm. Cancelling `run` ends the program."""

    @property
    def name(self) -> str: ...

    async def ready(self) -> Readiness:
        """Start if necessary, test the confinement, and return the result."""
        ...

    async def run(self, program: Program, host: Host) -> Ending: ...

    async def close(self) -> None: ...
