"""Where programs run: what any sandbox has to offer, and what it gets in return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Ending", "Entry", "Failure", "Host", "Media", "Program", "Readiness", "Sandbox", "ToolRefusal"]


@dataclass(frozen=True, slots=True)
class Entry:
    """How a script is entered: after its own lines have run, `main` is called, and awaited if need be."""

    name: str
    """What `__name__` is; not `__main__`, so that what a file does only when it is run by itself is left out."""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """JSON, by the names of the parameters."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be run."""

    code: str
    tools: Mapping[str, str] = field(default_factory=dict)
    """The tools that the code names, each with its signature."""
    entry: Entry | None = None
    """None: the program is its lines, and has no value."""


@dataclass(frozen=True, slots=True)
class Media:
    """Something among a result that is not text: the content block as it came."""

    block: Mapping[str, Any]


class ToolRefusal(Exception):  # noqa: N818 -- what the program gets is a ToolError with these words
    """A call that failed or may not be made; the message is for the program."""


class Host(Protocol):
    """What a sandbox may ask of us while a program runs. All that comes from there is untrusted."""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool and give its value: JSON, `Media`, or a list of both. Raises `ToolRefusal`."""
        ...

    def output(self, data: bytes) -> bool:
        """Take what was printed; False when it is too much and the program is to be ended."""
        ...

    def show(self, block: Mapping[str, Any]) -> bool:
        """Take a content block for the model; False when it is none."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """How a program failed by itself."""

    type: str
    message: str
    traceback: str
    hint: str | None = None
    unknown: str | None = None
    """The name that was not defined, if that was it."""
    is_exhausted: bool = False
    """Whether memory could not be had, in whatever it became."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended. `failed` is the program's own doing; the rest was done to it."""

    outcome: Literal["ok", "failed", "cpu", "memory", "output", "crashed", "misused"]
    failure: Failure | None = None
    detail: str = ""
    value: Any = None
    """What `main` returned, if the program was entered by it: JSON, from an untrusted hand."""
    cpu_seconds: float | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether programs can run, and what holds them."""

    name: str
    layers: Sequence[str] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Layers that this machine has not, and why."""
    trouble: str | None = None
    """Why no program can run, if none can."""
    notes: Sequence[str] = ()


class Sandbox(Protocol):
    """Runs programs where they can do no harm. `run` may be cancelled: the program then ends."""

    @property
    def name(self) -> str:
        """What it is called in configuration and reports."""
        ...

    async def ready(self) -> Readiness:
        """Start if need be, try the locks, and say what is there."""
        ...

    async def run(self, program: Program, host: Host) -> Ending:
        """Run a program to its end, whichever that is."""
        ...

    async def close(self) -> None:
        """End all that runs."""
        ...
