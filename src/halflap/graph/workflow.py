"""A workflow: steps in order, where each argument comes from, and which loops a step is in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from halflap.graph.paths import EACH, Path, key, many, path_text, slot_text

if TYPE_CHECKING:
    from halflap.graph.edges import Evidence
    from halflap.graph.paging import More, Pages
    from halflap.graph.ports import Ports
    from halflap.graph.types import Conversion


@dataclass(frozen=True, slots=True)
class Target:
    """What is wanted: a tool to call, or a field that some tool returns."""

    kind: Literal["tool", "field"]
    name: str


@dataclass(frozen=True, slots=True)
class Given:
    """Where the value of one slot comes from."""

    slot: Path
    origin: Literal["have", "default", "step", "missing"]
    have: str = ""
    """Its name in `have`."""
    value: Any = None
    """The value in `have`; None where it is supplied later."""
    each: bool = False
    """Whether `have` holds a list, and the call is made for each item."""
    step: str = ""
    source: Path = ()
    """Where it is in the result of that step."""
    convert: Conversion | None = None
    """How the value has to be converted."""
    confidence: float = 1.0
    evidence: tuple[Evidence, ...] = ()

    @property
    def fan_out(self) -> int:
        """How many of the source's loops are around the call, not inside the argument."""
        return max(0, many(self.source) - self.holds) if self.origin == "step" else 0

    @property
    def holds(self) -> int:
        """How many of the source's loops the argument takes in."""
        return many(self.slot)

    def to_json(self) -> dict[str, Any]:
        told: dict[str, Any] = {"from": self.origin}
        if self.origin == "have":
            told |= {"name": self.have, "value": self.value} | ({"each": True} if self.each else {})
        if self.origin == "step":
            told |= {
                "step": self.step,
                "path": path_text(self.source),
                **({"convert": self.convert} if self.convert else {}),
                "confidence": round(self.confidence, 3),
                "evidence": [one.to_json() for one in self.evidence],
            }
        return told


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop over what a step returned, or over a list in `have`."""

    step: str
    """Empty for a list in `have`; the path then begins with its name."""
    path: Path
    """Up to and including the loop."""

    @classmethod
    def of_have(cls, name: str) -> Axis:
        return cls("", (key(name), EACH))

    def to_json(self) -> dict[str, Any]:
        return {"step": self.step or "have", "path": path_text(self.path)}


@dataclass(frozen=True, slots=True)
class Match:
    """A filter: only the items of a loop with a value from `have` count."""

    given: Given
    axis: Axis
    path: Path
    """Where the items hold it, in the result of the axis's step."""

    def to_json(self) -> dict[str, Any]:
        told = {"path": path_text(self.path), "name": self.given.have, "value": self.given.value}
        return told | ({"each": True} if self.given.each else {})


@dataclass(frozen=True, slots=True)
class Task:
    """One tool that is called, once or for each item of something."""

    id: str
    ports: Ports
    arguments: tuple[Given, ...] = ()
    axes: tuple[Axis, ...] = ()
    """The loops around the call, those of its sources before its own."""
    matches: tuple[Match, ...] = ()
    paginates: Pages | None = None
    may_be_part: bool = False
    """Whether it takes a page, and nothing is known of the next one."""
    more: tuple[More, ...] = ()
    """What shows that a result is incomplete, where all of it is needed."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The steps that it waits for."""
        return tuple(dict.fromkeys(one.step for one in self.arguments if one.origin == "step"))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is printed at the end: a step's result, or a place in it."""

    target: Target
    step: str
    path: Path = ()
    confidence: float = 1.0
    matches: tuple[Match, ...] = ()


@dataclass(frozen=True, slots=True)
class Workflow:
    """Steps in an order in which they can be done; no two call the same tool."""

    tasks: tuple[Task, ...]
    wanted: tuple[Wanted, ...]
    cost: float
    unused: tuple[tuple[str, str], ...] = ()
    """Values in `have` that are not used: the name, and why."""
    order: dict[str, Task] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", {one.id: one for one in self.tasks})

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(one.ports.tool for one in self.tasks)

    @property
    def missing(self) -> tuple[tuple[str, Path], ...]:
        """What could not be supplied: a step and a slot of it."""
        return tuple(
            (one.id, given.slot) for one in self.tasks for given in one.arguments if given.origin == "missing"
        )

    @property
    def confidence(self) -> float:
        """How certain its links are together."""
        links = [one.confidence for one in self.links()]
        return prod([*links, *(one.confidence for one in self.wanted)])

    def used(self) -> set[str]:
        """Return the names in `have` that are used, as arguments or to filter."""
        arguments = {one.have for task in self.tasks for one in task.arguments if one.origin == "have"}
        return arguments | {match.given.have for match in self.matches()}

    def matches(self) -> Iterator[Match]:
        yield from (match for one in self.tasks for match in one.matches)
        yield from (match for one in self.wanted for match in one.matches)

    def choosing(self, step: str) -> list[Match]:
        """Return the filters on the items of a step's result, each once."""
        return list(
            {(one.path, one.given.have): one for one in self.matches() if one.axis.step == step}.values()
        )

    def links(self) -> Iterator[Given]:
        """Yield all data flow between steps."""
        for task in self.tasks:
            yield from (one for one in task.arguments if one.origin == "step")

    def crossings(self, task: Task) -> list[dict[str, str]]:
        """Return the data that a step gets from another server."""
        return [
            {"from": server, "to": task.ports.server, "argument": slot_text(one.slot)}
            for one in task.arguments
            if one.origin == "step" and (server := self.order[one.step].ports.server) != task.ports.server
        ]


def axes_of(path: Path, fan_out: int) -> Sequence[Path]:
    """Return the paths of the outermost loops of a path."""
    ends = [at + 1 for at, step in enumerate(path) if step.kind != "key"]
    return [path[:end] for end in ends[:fan_out]]
