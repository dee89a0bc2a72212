"""The interface of sandboxes: what they run, what a program may ask for meanwhile, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from halflap.sandbox.functions import ToolError

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
