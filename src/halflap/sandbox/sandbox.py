"""What a sandbox gets to run, what it may ask for meanwhile, and how it says that a program ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Protocol

from halflap.sandbox.functions import ToolError

__all__ = [
    "DEEPEST",
    "Backend",
    "Ending",
    "Host",
    "Outcome",
    "Program",
    "Readiness",
    "ToolHelp",
    "canary_trouble",
]

DEEPEST: Final = 4
"""How deep scripts and DSPy programs can call each other."""


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
    arguments: Mapping[str, Any] | None = None
    """JSON for the parameters of a script's `main`, which is called after the lines have run. A program is just its lines."""


class Host:
    """What a sandbox may ask of the gateway while a program runs; this one grants nothing. What it sends is untrusted."""

    async def call(self, name: str, arguments: Mapping[str, Any], line: int | None = None) -> Any:
        """Call a tool and return its value: JSON, `Media`, or a list of both. Raises `ToolError`.

        `line` is where the program waits for it, if the sandbox knows that.
        """
        del arguments, line
        raise ToolError(f"{name!r} cannot be called.")

    def output(self, data: bytes) -> bool:
        """Take what was printed; False when it is too much and the program is to be ended."""
        return not data

    def show(self, block: Mapping[str, Any]) -> bool:
        """Take a content block for the model; False when it is not one."""
        return not block


Outcome = Literal[
    "ok", "failed", "mistaken", "timeout", "cancelled", "cpu", "memory", "output", "crashed", "misused"
]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended. `failed` is its own doing; other outcomes than that and `ok` were imposed on it."""

    outcome: Outcome
    error: str = ""
    """The traceback of a program that failed by itself; for `crashed` and `misused`, what happened."""
    hint: str | None = None
    undefined: str | None = None
    """The undefined name that caused the failure, if any."""
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


class Backend(Protocol):
    """Runs programs where they can do no harm."""

    name: str

    async def start(self) -> Readiness:
        """Start and test the confinement."""
        ...

    async def run(self, program: Program, host: Host) -> Ending:
        """Run a program to its end; cancelling this ends it."""
        ...

    async def close(self) -> None: ...


def canary_trouble(ending: Ending) -> str | None:
    """Return what a script that tried to break out, and returned a list of what it could do, says against the sandbox."""
    if ending.value == []:
        return None
    got = ", ".join(ending.value) if isinstance(ending.value, list) else ""
    return f"a program could {got}" if got else f"the canary failed: {ending.error}"
