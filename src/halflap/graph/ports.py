"""What goes into a tool and what comes out: its schemas, taken apart into slots and places."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from halflap.graph.naming import subject_of
from halflap.graph.paths import EACH, VALUE, Path, key
from halflap.graph.types import ANYTHING, Form
from halflap.schema import Type, extra_of, fields_of, is_informative, object_types, read_type, union

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.core.values import Tool
    from halflap.graph.naming import Subject
    from halflap.schema import Field

__all__ = ["Envelope", "Place", "Ports", "Sign", "Slot", "kinds_of", "only_value", "parts_of", "ports_of"]

MAX_PORTS = 600
"""Slots, and places, read of one tool, the outermost first. Doubling it finds links in deeper results."""
_MAX_DEPTH = 10
SCALARS = frozenset({"string", "number", "integer", "boolean", "any", "cut", "recursive", "values"})


@dataclass(frozen=True, slots=True)
class Place:
    """A value that can be taken out of a tool's result."""

    path: Path
    type: Type
    description: str = ""
    presence: float = 1.0
    """1 where it is in every result, less where it may be missing."""
    is_optional: bool = False
    """Whether it, or what it is in, may be missing or null although others beside it may not."""
    declared: bool = True
    """Whether the server declares it; otherwise it was learned from results."""
    confidence: float = 1.0
    """How certain a learned place is."""
    form: Form = field(default=ANYTHING, compare=False, repr=False)
    """Its type as far as it matters for links."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A value that a tool takes: a parameter, or a key inside one."""

    path: Path
    type: Type
    required: bool
    """Whether it is required where the object around it is given."""
    has_default: bool = False
    description: str = ""
    default: Any = field(default=None, compare=False)
    is_alone: bool = False
    """Whether it is the item of an array that takes one item only."""

    @property
    def parameter(self) -> str:
        return self.path[0].key


@dataclass(frozen=True, slots=True)
class Envelope:
    """A result that says whether the call succeeded, and holds its value in `data`."""

    success: str
    """The key that is false where the call failed."""
    is_sure: bool
    """Whether `data` is in every result, and never null."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A key of a result that tells that the call failed: it is false, a word for failure, or there at all."""

    kind: Literal["false", "word", "error"]
    key: str


@dataclass(frozen=True, slots=True)
class Ports:
    """A tool as the graph sees it."""

    tool: str
    server: str
    places: tuple[Place, ...] = ()
    slots: tuple[Slot, ...] = ()
    required: frozenset[str] = frozenset()
    """The parameters that have to be given: required, and without a default."""
    choices: tuple[frozenset[str], ...] = ()
    """Where one of several sets of parameters is enough, those sets; the smallest is in `required`."""
    description: str = ""
    original_name: str = ""
    is_destructive: bool = False
    changes: bool | None = None
    """Whether it changes something, where the user or a trusted server says so."""
    latency_ms: float | None = None
    envelope: Envelope | None = None
    signs: tuple[Sign, ...] = ()
    """What tells in a result that the call failed."""
    beside: tuple[Place, ...] = ()
    """Values beside the data of an envelope, which make no links but may tell about pages."""

    @property
    def name(self) -> str:
        """The name that its server gives it."""
        return self.original_name or self.tool.rpartition("__")[2]

    @property
    def subject(self) -> Subject:
        return subject_of(self.name)

    @property
    def told(self) -> tuple[Place, ...]:
        """All places that may tell about pages."""
        return (*self.places, *self.beside) if self.beside else self.places

    def needs(self, slot: Slot) -> bool:
        return slot.required and slot.parameter in self.required


def ports_of(
    tool: Tool,
    learned: Type | None = None,
    *,
    is_destructive: bool = False,
    changes: bool | None = None,
    latency_ms: float | None = None,
    learned_confidence: float = 0.5,
) -> Ports:
    """Take a tool's schemas apart: what it declares to return first, then what was learned of its results."""
    from halflap.graph.outputs import outputs_of  # noqa: PLC0415 -- it needs the classes above

    objects = object_types(read_type(tool.input_schema))
    taken = _taken(objects)
    slots = sorted((slot for one in taken for slot in _slots(one, ())), key=lambda slot: len(slot.path))
    outputs = outputs_of(tool.output_schema, learned, learned_confidence)
    return Ports(
        tool=tool.name,
        server=tool.server,
        places=outputs.places,
        slots=tuple(slots[:MAX_PORTS]),
        required=frozenset(one.name for one in taken if one.required and not one.has_default),
        choices=tuple(map(frozenset, _alternatives(objects))),
        description=tool.description,
        original_name=tool.original_name,
        is_destructive=is_destructive,
        changes=changes,
        latency_ms=latency_ms,
        envelope=outputs.envelope,
        signs=outputs.signs,
        beside=outputs.beside,
    )


def parts_of(kind: Type) -> list[Type]:
    """Return the members of a union, or the type itself, without null."""
    return [one for one in (kind.members or (kind,)) if one.kind not in {"null", "never"}]


def kinds_of(kind: Type) -> set[str]:
    return {str(one.kind) for one in parts_of(kind)}


def only_value(kind: Type) -> str | float | None:
    """Return the one plain value that a type allows, if there is one and it is not null."""
    if kind.kind != "values" or len(kind.values) != 1 or not isinstance(kind.values[0], str | int | float):
        return None
    value: str | float = kind.values[0]
    return value


def _taken(objects: Sequence[Type]) -> tuple[Field, ...]:
    """Return the keys of the input; where one of several sets is enough, the smallest is required.

    A key with a single possible value counts as having a default.
    """
    fields = tuple(
        replace(one, has_default=True) if one.required and only_value(one.type) is not None else one
        for one in fields_of(objects)
    )
    needed = min(_alternatives(objects), key=len, default=[])
    return tuple(replace(one, required=True) if one.name in needed else one for one in fields)


def _alternatives(objects: Sequence[Type]) -> list[list[str]]:
    """Return the sets of keys of which one is required, unless a key's value tells the objects apart."""
    if len(objects) == 1 or any(_discriminates(one, objects) for one in fields_of(objects)):
        return []
    return [[*one.needed, *(field.name for field in one.fields if field.required)] for one in objects]


def _discriminates(field: Field, objects: Sequence[Type]) -> bool:
    own = [one for each in objects for one in each.fields if one.name == field.name]
    values = {one.type.comparable_values for one in own if one.type.kind == "values"}
    return field.required and len(values) == len(objects)


def _slots(field: Field, before: Path) -> Iterator[Slot]:
    """Yield what a value can be put into, breadth-first: a key itself unless it is an array, and all inside it."""
    todo: deque[tuple[Type, Path, Field, bool]] = deque(
        [(field.type, (*before, key(field.name)), field, False)]
    )
    made = 0
    while todo and made < MAX_PORTS:
        kind, path, own, alone = todo.popleft()
        parts = parts_of(kind)
        objects = [one for one in parts if one.kind == "object"]
        plain = [one for one in parts if one.kind in SCALARS or one.kind == "object"]
        if plain:
            made += 1
            description = own.description or kind.description
            yield Slot(path, union(plain), own.required, own.has_default, description, own.default, alone)
        if len(path) > _MAX_DEPTH:
            continue
        todo.extend((one.type, (*path, key(one.name)), one, alone) for one in _taken(objects) if objects)
        extra = extra_of(objects)
        if extra is not None and is_informative(extra):
            # No key of a map is required.
            inside = replace(own, required=False, description=extra.description)
            todo.append((extra, (*path, VALUE), inside, alone))
        for array in (one for one in parts if one.kind == "array"):
            single = array.bounds is not None and array.bounds.longest == 1
            todo.append((array.items or Type("any"), (*path, EACH), own, alone or single))
