"""A workflow: the steps that get from what is at hand to what is wanted, and where each argument comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from halflap.graph.edge import EACH, key, path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.graph.edge import Evidence, Link, Path, Ports
    from halflap.graph.remaining import More

__all__ = ["Axis", "Given", "Match", "Target", "Task", "Wanted", "Workflow", "axes_of", "many", "slot_text"]

Origin = Literal["have", "default", "step", "missing"]


@dataclass(frozen=True, slots=True)
class Target:
    """What is wanted: to call a tool, or a field that some tool returns."""

    kind: Literal["tool", "field"]
    name: str


@dataclass(frozen=True, slots=True)
class Given:
    """Where the value of one slot comes from."""

    slot: Path
    origin: Origin
    have: str = ""
    """Under which name it is at hand."""
    value: Any = None
    """The value at hand; None where it is only known to exist."""
    each: bool = False
    """Whether it is a list at hand, and the call is made for each item."""
    is_alone: bool = False
    """Whether the slot is in an array that takes one item: of many, each gets a call with an array of its own."""
    step: str = ""
    source: Path = ()
    """Where it stands in the result of that step."""
    confidence: float = 1.0
    evidence: tuple[Evidence, ...] = ()

    @property
    def fan_out(self) -> int:
        """How many of the source's loops are around the call, and not within the argument."""
        return max(0, many(self.source) - self.holds) if self.origin == "step" else 0

    @property
    def holds(self) -> int:
        """How many of the source's loops the argument takes in."""
        return 0 if self.is_alone else many(self.slot)

    def to_json(self) -> dict[str, Any]:
        """Give it as it is shown."""
        told: dict[str, Any] = {"from": self.origin}
        if self.origin == "have":
            told |= {"name": self.have, "value": self.value} | ({"each": True} if self.each else {})
        if self.origin == "step":
            told |= {
                "step": self.step,
                "path": path_text(self.source),
                "confidence": round(self.confidence, 3),
                "evidence": [
                    {"kind": one.kind, "weight": round(one.weight, 3), "detail": one.detail}
                    for one in self.evidence
                ],
            }
        return told


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop over what a step returned: the path to what is gone through, that step included."""

    step: str
    """None, where it is over a list at hand; the path begins with its name then."""
    path: Path

    @classmethod
    def at_hand(cls, name: str) -> Axis:
        """Give the loop over a list at hand."""
        return cls("", (key(name), EACH))

    def to_json(self) -> dict[str, Any]:
        """Give it as it is shown."""
        return {"step": self.step or "have", "path": path_text(self.path)}


@dataclass(frozen=True, slots=True)
class Match:
    """That of what is gone through only those items count that have what is at hand, for a slot or for none."""

    given: Given
    """What is at hand; with `each`, one of these."""
    axis: Axis
    path: Path
    """Where they have it, in the result of the axis's step."""
    is_other: bool = False
    """Whether it is the other way round, since what they have there goes into another slot: the ones that do not have it."""

    def to_json(self) -> dict[str, Any]:
        """Give it as it is shown."""
        told: dict[str, Any] = {
            "path": path_text(self.path),
            "name": self.given.have,
            "value": self.given.value,
        }
        return told | ({"each": True} if self.given.each else {}) | ({"other": True} if self.is_other else {})


@dataclass(frozen=True, slots=True)
class Task:
    """One tool that is called, once or once for each item of something."""

    id: str
    ports: Ports
    arguments: tuple[Given, ...] = ()
    axes: tuple[Axis, ...] = ()
    """The loops that the call is in, its sources' own loops before its own."""
    matches: tuple[Match, ...] = ()
    paginates: Link | None = None
    """From the cursor that comes back to the parameter that takes it."""
    collects: tuple[Path, ...] = ()
    """The arrays that grow page by page."""
    more: tuple[More, ...] = ()
    """What says that all that was returned is a part, where the whole is needed."""

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
    """Of which items it is, where there are many."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """Steps in an order in which they can be done, without a cycle; no two call the same tool."""

    tasks: tuple[Task, ...]
    wanted: tuple[Wanted, ...]
    cost: float
    missing: tuple[tuple[str, Path], ...] = ()
    """What could not be supplied: a step and a slot of it."""
    unused: tuple[tuple[str, str], ...] = ()
    """What is at hand and no step takes: the name, and why."""
    fit: float = 1.0
    """How well it fits the words of a goal, where it was planned for one."""
    notes: tuple[str, ...] = ()
    """What else has to be said of it: values of a goal that no step takes."""
    order: dict[str, Task] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", {one.id: one for one in self.tasks})

    @property
    def tools(self) -> frozenset[str]:
        """The names of the tools that it calls."""
        return frozenset(one.ports.tool for one in self.tasks)

    @property
    def confidence(self) -> float:
        """How sure all that it rests on is, together: its links, and that it is what a goal means."""
        sure = self.fit
        for one in self.links():
            sure *= one.confidence
        for wanted in self.wanted:
            sure *= wanted.confidence
        return sure

    def at_hand(self) -> Iterator[str]:
        """Give the names of what is used of what is at hand, as arguments or to choose."""
        for task in self.tasks:
            yield from (one.have for one in task.arguments if one.origin == "have")
        yield from (match.given.have for match in self.matches())

    def matches(self) -> Iterator[Match]:
        """Give all that chooses among items."""
        for task in self.tasks:
            yield from task.matches
        for wanted in self.wanted:
            yield from wanted.matches

    def choosing(self, step: str) -> list[Match]:
        """Give what chooses among the items of a step's result, each once, whoever takes them."""
        return list(
            {(one.path, one.given.have): one for one in self.matches() if one.axis.step == step}.values()
        )

    def links(self) -> Iterator[Given]:
        """Give all that goes from one step to another."""
        for task in self.tasks:
            yield from (one for one in task.arguments if one.origin == "step")

    def crossings(self, task: Task) -> list[dict[str, str]]:
        """Give what goes into a step from another server."""
        return [
            {"from": server, "to": task.ports.server, "argument": slot_text(one.slot)}
            for one in task.arguments
            if one.origin == "step" and (server := self.order[one.step].ports.server) != task.ports.server
        ]


def many(path: Path) -> int:
    """Count the loops that a path goes through."""
    # Asked very often, and most paths are short: a loop takes half of what a generator would.
    count = 0
    for step in path:
        if step.kind != "key":
            count += 1
    return count


def axes_of(path: Path, fan_out: int) -> Sequence[Path]:
    """Give the paths that the outermost loops of a path go through, so many of them."""
    ends = [at + 1 for at, step in enumerate(path) if step.kind != "key"]
    return [path[:end] for end in ends[:fan_out]]


def slot_text(slot: Path) -> str:
    """Name a slot: a parameter as it is called, what is inside of one by its path."""
    return slot[0].key if len(slot) == 1 else path_text(slot)
