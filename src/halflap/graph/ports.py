"""What goes into a tool and what comes out, as slots and places."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.graph.naming import subject_of
from halflap.schema import union

if TYPE_CHECKING:
    from halflap.graph.naming import Subject
    from halflap.graph.paths import Path
    from halflap.graph.types import Form
    from halflap.schema import Type

__all__ = ["MAX_DEPTH", "MAX_PORTS", "Place", "Ports", "Slot", "only_value", "parts_of", "taken_part"]

MAX_PORTS = 600
"""Slots, and places, read of one tool, the outermost first. Doubling it finds links in deeper results."""
MAX_DEPTH = 10
_TAKEN = frozenset({"string", "number", "integer", "boolean", "any", "cut", "recursive", "values", "object"})
"""Kinds of values that are taken as they are; arrays are looped over."""


class Place(NamedTuple):
    """A value that can be taken out of a tool's result."""

    path: Path
    type: Type
    form: Form
    """Its type as far as it matters for links."""
    description: str = ""
    is_optional: bool = False
    """Whether it, or what it is in, may be missing or null although others beside it may not."""
    declared: bool = True
    """Whether the server declares it; otherwise it was learned from results."""
    confidence: float = 1.0
    """How certain a learned place is."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A value that a tool takes: a parameter, or a key inside one."""

    path: Path
    type: Type
    required: bool
    """Whether it is required if the object around it is given."""
    has_default: bool = False
    description: str = ""
    default: Any = field(default=None, compare=False)

    @property
    def parameter(self) -> str:
        return self.path[0].key


@dataclass(frozen=True, slots=True)
class Ports:
    """A tool as the graph sees it."""

    tool: str
    server: str
    places: tuple[Place, ...] = ()
    slots: tuple[Slot, ...] = ()
    required: frozenset[str] = frozenset()
    """The parameters that have to be given: required, and without a default."""
    description: str = ""
    original_name: str = ""
    is_destructive: bool = False
    changes: bool | None = None
    """Whether it changes something, if the user or a trusted server says so."""
    latency_ms: float | None = None
    result: Type | None = field(default=None, repr=False)
    """What it returns as a whole, if that is known."""

    @property
    def name(self) -> str:
        """The name that its server gives it."""
        return self.original_name or self.tool.rpartition("__")[2]

    @property
    def subject(self) -> Subject:
        return subject_of(self.name)

    def needs(self, slot: Slot) -> bool:
        return slot.required and slot.parameter in self.required


def taken_part(parts: list[Type]) -> Type | None:
    """Return the type of a value that may be one of these, as far as it is taken whole."""
    taken = [one for one in parts if one.kind in _TAKEN]
    return None if not taken else taken[0] if len(taken) == 1 else union(taken)


def parts_of(kind: Type) -> list[Type]:
    """Return the members of a union, or the type itself, without null."""
    return [one for one in (kind.members or (kind,)) if one.kind not in {"null", "never"}]


def only_value(kind: Type) -> str | float | None:
    """Return the one plain value that a type allows, if there is one and it is not null."""
    if kind.kind != "values" or len(kind.values) != 1 or not isinstance(kind.values[0], str | int | float):
        return None
    value: str | float = kind.values[0]
    return value
