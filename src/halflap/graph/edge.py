"""The values of the graph: places in outputs, slots in inputs, and the edges between tools."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from halflap.schema import Type

__all__ = [
    "EACH",
    "NAME",
    "VALUE",
    "Coverage",
    "Edge",
    "Envelope",
    "Evidence",
    "EvidenceKind",
    "Link",
    "Path",
    "Place",
    "Ports",
    "Sign",
    "Slot",
    "Step",
    "key",
    "path_text",
]

Coverage = Literal["strict", "partial", "optional"]
"""All required parameters are supplied, some of them, or only optional ones."""

EvidenceKind = Literal["declared", "name", "entity", "words", "format", "shape", "lineage"]
"""`declared`: a description within the same server says so. `name`: the same name. `entity`: a name that says
nothing alone, of the thing that the parameter names (`customer.id` for `customer_id`). `words`: the same words,
written differently or in another number. `format`: a format that few values have. `shape`: objects that have the
same fields. `lineage`: values were seen to go this way."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step into a value: to a key, to every item of an array, to every value or to every key of a map."""

    kind: Literal["key", "each", "value", "name"]
    key: str = ""


EACH = Step("each")
VALUE = Step("value")
NAME = Step("name")
"""The keys of a map themselves; the last step of a path, if it is one."""

Path = tuple[Step, ...]


def key(name: str) -> Step:
    """Give the step to a key."""
    return Step("key", name)


def path_text(path: Path) -> str:
    """Write a path as people read it: `customers[].customer_id`, `accounts.{key}`; the value itself is `$`."""
    text = ""
    for step in path:
        if step.kind == "each":
            text += "[]"
        elif step.kind == "value":
            text += ".{}" if text else "{}"
        elif step.kind == "name":
            text += ".{key}" if text else "{key}"
        elif step.key.isidentifier():
            text += f".{step.key}" if text else step.key
        else:
            text += f"[{step.key!r}]"
    return text or "$"


@dataclass(frozen=True, slots=True)
class Place:
    """A value that can be taken out of a tool's result."""

    path: Path
    type: Type
    description: str = ""
    presence: float = 1.0
    """In how many of the results it was, as far as that is known."""
    declared: bool = True
    """Whether the server says that it is there; else it was seen."""
    confidence: float = 1.0
    """How sure it is that it is there and like this: what was seen seldom is less sure than what is declared."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A value that a tool takes: a parameter, or one inside of it."""

    path: Path
    type: Type
    required: bool
    """Whether it has to be there, wherever what it is in is there."""
    has_default: bool = False
    description: str = ""
    default: Any = field(default=None, compare=False)
    is_alone: bool = False
    """Whether it is the item of an array that takes one and no more."""

    @property
    def parameter(self) -> str:
        """The parameter that it is, or is in."""
        return self.path[0].key


@dataclass(frozen=True, slots=True)
class Envelope:
    """That a tool's results say of themselves whether the call succeeded, and hold what it gave in `data`."""

    success: str
    """The key that is false where the call failed."""
    is_sure: bool
    """Whether `data` is in every result, and never null."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A key of a tool's results that tells whether the call failed, or what went wrong."""

    kind: Literal["false", "word", "code", "error", "message"]
    """Failed where it is false, a word for that, no code of success, anything; a message says so beside nothing."""
    key: str
    inner: str = ""
    """The key that has nothing then, where it has to."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What goes into a tool and what comes out."""

    tool: str
    server: str
    places: tuple[Place, ...] = ()
    slots: tuple[Slot, ...] = ()
    required: frozenset[str] = frozenset()
    """The parameters that have to be given: required, and without a default."""
    choices: tuple[frozenset[str], ...] = ()
    """Where one of several sets of parameters is enough, those sets; the smallest is among what is required."""
    description: str = ""
    original_name: str = ""
    is_destructive: bool = False
    changes: bool | None = None
    """Whether it changes something, where somebody who is believed says so; else its name has to tell."""
    latency_ms: float | None = None
    """How long a call takes, as measured."""
    envelope: Envelope | None = None
    signs: tuple[Sign, ...] = ()
    """What in its results says that the call failed."""
    beside: tuple[Place, ...] = ()
    """What stands beside the data of an envelope, in no list: it makes no edge to others, but may tell of pages."""
    seen: int = 0
    """How many results there were, where they are too few to tell what it returns, or have nothing to tell."""
    needed: int = 0
    """How many more would do, at most."""

    @property
    def told(self) -> tuple[Place, ...]:
        """All places that may tell of pages."""
        return (*self.places, *self.beside) if self.beside else self.places


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason to believe that a value goes this way."""

    kind: EvidenceKind
    weight: float
    """How sure it makes, alone: between 0 and 1."""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """A place that can supply a slot."""

    source: Path
    target: Path
    confidence: float
    evidence: tuple[Evidence, ...] = ()

    @property
    def is_fan_out(self) -> bool:
        """Whether there are many values and the slot takes one: the tool is called for each."""
        return _many(self.source) > _many(self.target)

    def to_json(self) -> dict[str, Any]:
        """Give it as it is shown."""
        return {
            "from": path_text(self.source),
            "to": path_text(self.target),
            "fan_out": self.is_fan_out,
            "confidence": round(self.confidence, 3),
            "evidence": [
                {"kind": one.kind, "weight": round(one.weight, 3), "detail": one.detail}
                for one in self.evidence
            ],
        }


@dataclass(frozen=True, slots=True)
class Edge:
    """That one tool's output can supply another's input."""

    source: str
    target: str
    coverage: Coverage
    confidence: float
    links: tuple[Link, ...] = field(default=())
    is_pagination: bool = False
    """From a tool to itself, by a cursor."""

    @property
    def kinds(self) -> frozenset[EvidenceKind]:
        """The kinds of evidence that there is for any part of it."""
        return frozenset(one.kind for link in self.links for one in link.evidence)

    def to_json(self) -> dict[str, Any]:
        """Give it as it is shown."""
        return {
            "from": self.source,
            "to": self.target,
            "edge_type": "provides",
            "coverage": self.coverage,
            "confidence": round(self.confidence, 3),
            "mappings": [link.to_json() for link in self.links],
            "evidence": sorted(self.kinds),
        }


def _many(path: Path) -> int:
    return sum(step.kind != "key" for step in path)
