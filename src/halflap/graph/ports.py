"""A tool as the graph sees it: its schemas taken apart, its parameters as slots, its results as places."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.graph.naming import NO_SUBJECT, slot_identities, subject_of, without_prefix, words_of
from halflap.graph.naming.vocabulary import CONTAINERS
from halflap.graph.paths import EACH, NAME, VALUE, Path, Step, key
from halflap.graph.types import Form, form_of
from halflap.schema import (
    Type,
    extra_of,
    fields_of,
    is_informative,
    object_types,
    read_type,
    result_type,
    union,
)

if TYPE_CHECKING:
    from halflap.core.values import Tool
    from halflap.graph.naming import Subject
    from halflap.schema import Field

_MAX_PORTS = 600
"""Slots, and places, read of one tool, the outermost first. Doubling it finds links in deeper results."""
_MAX_PARTS = 1_000
"""Keys read of one schema. Doubling it finds links in deeper results, and takes twice the time and memory."""
_MAX_DEPTH = 10
_TAKEN = frozenset({"string", "number", "integer", "boolean", "any", "cut", "recursive", "values", "object"})
"""Kinds of values that are passed as they are; arrays are looped over."""
_MAX_CACHED = 4_000
_STRING = Type("string")
_OPEN = frozenset({"any", "cut", "recursive"})


class Place(NamedTuple):
    """A value that can be taken out of a tool's result."""

    path: Path
    type: Type
    form: Form
    """Its type as far as it matters for links."""
    description: str = ""
    is_optional: bool = False
    """Whether it, or the object around it, may be missing or null although its neighbours may not."""
    declared: bool = True
    """Whether the server declares it; otherwise it was learned from results."""


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
    is_inside_optional: bool = False
    """Whether an object around it may be left out."""
    form: Form = field(init=False, repr=False, compare=False)
    """Its type as far as it matters for links."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "form", form_of(self.type))

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
    name: str = field(init=False)
    """The name that its server gives it."""
    subject: Subject = field(init=False, repr=False)
    lists: tuple[Path, ...] = field(init=False, repr=False)
    """The outermost arrays inside its result."""
    main_list: Path | None = field(init=False, repr=False)
    """The list that the tool exists for: the only one, or the one named after its entity or without a telling name."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.original_name or self.tool.rpartition("__")[2])
        object.__setattr__(self, "lists", tuple(dict.fromkeys(_outer_lists(self.places))))
        object.__setattr__(self, "subject", self._subject())
        object.__setattr__(self, "main_list", self._main_list())

    def _subject(self) -> Subject:
        """Read the name; where a parameter names the thing itself, a bare `id` is that of what comes before it."""
        subject = subject_of(without_prefix(self.name, self.server))
        for name in {one.parameter for one in self.slots}:
            own = slot_identities((name,), NO_SUBJECT)[0]
            size = len(own.thing) if own.attribute else 0
            if (
                0 < size < len(subject.thing)
                and subject.thing[-size:] == own.thing
                and subject.owner == subject.thing
            ):
                return subject._replace(owner=subject.thing[:-size])
        return subject

    def _main_list(self) -> Path | None:
        if not self.lists:
            inner = [one.path[0] for one in self.places if one.path]
            return () if inner and all(step == EACH for step in inner) else None
        # `_links` and the like are about the result.
        lists = [one for one in self.lists if not one[-1].key.startswith("_")] or self.lists
        if len(lists) == 1:
            return lists[0]
        thing = self.subject.thing
        named = [one for one in lists if thing and words_of(one[-1].key) in (thing, thing[-1:])]
        named = named or [one for one in lists if CONTAINERS.issuperset(words_of(one[-1].key))]
        return named[0] if len(named) == 1 else None

    def needs(self, slot: Slot) -> bool:
        return slot.required and not slot.is_inside_optional and slot.parameter in self.required


def _taken_part(parts: list[Type]) -> Type | None:
    """Return the type of a value that may be one of these, as far as it is taken whole."""
    taken = [one for one in parts if one.kind in _TAKEN]
    return None if not taken else taken[0] if len(taken) == 1 else union(taken)


def _parts_of(kind: Type) -> list[Type]:
    """Return the members of a union, or the type itself, without null."""
    return [one for one in (kind.members or (kind,)) if one.kind not in {"null", "never"}]


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
    taken = _taken(object_types(read_type(tool.input_schema, max_parts=_MAX_PARTS)))
    slots = sorted((slot for one in taken for slot in _slots(one)), key=lambda slot: len(slot.path))
    places, result = _places_of(tool.output_schema, learned, may_be_map=learned_confidence <= 0)
    return Ports(
        tool=tool.name,
        server=tool.server,
        places=places,
        slots=tuple(slots[:_MAX_PORTS]),
        required=frozenset(one.name for one in taken if one.required and not one.has_default),
        description=tool.description,
        original_name=tool.original_name,
        is_destructive=is_destructive,
        changes=changes,
        latency_ms=latency_ms,
        result=result,
    )


def _taken(objects: Sequence[Type]) -> tuple[Field, ...]:
    """Return the keys of an object parameter; a key with one possible value has that as its default."""
    return tuple(
        replace(one, has_default=True, default=one.type.values[0])
        if one.required
        and one.type.kind == "values"
        and len(one.type.values) == 1
        and one.type.values != (None,)
        else one
        for one in fields_of(objects)
    )


def _slots(field: Field) -> Iterator[Slot]:
    """Yield the slots for values, breadth-first: a key itself unless it is an array, and all keys inside it."""
    todo: deque[tuple[Type, Path, Field, bool]] = deque([(field.type, (key(field.name),), field, False)])
    made = 0
    while todo and made < _MAX_PORTS:
        kind, path, own, inside = todo.popleft()
        parts = _parts_of(kind)
        taken = _taken_part(parts)
        if taken is not None:
            made += 1
            description = own.description or kind.description
            yield Slot(path, taken, own.required, own.has_default, description, own.default, inside)
        if len(path) > _MAX_DEPTH:
            continue
        objects = [one for one in parts if one.kind == "object"]
        is_optional = inside or not own.required
        todo.extend((one.type, (*path, key(one.name)), one, is_optional) for one in _taken(objects))
        extra = extra_of(objects)
        if extra is not None and is_informative(extra):
            # No key of a map is required.
            own = replace(own, required=False, description=extra.description)
            todo.append((extra, (*path, VALUE), own, True))
        # What takes one value or an array takes one.
        for array in (one for one in parts if one.kind == "array" and taken is None):
            todo.append((array.items or Type("any"), (*path, EACH), own, inside))


def _outer_lists(places: Sequence[Place]) -> Iterator[Path]:
    for place in places:
        at = next((at for at, step in enumerate(place.path) if step.kind != "key"), 0)
        if at and place.path[at] == EACH:
            yield place.path[:at]


# Results ---------------------------------------------------------------------------------------------

Outputs = tuple[tuple[Place, ...], Type | None]
"""The places of a result, and its type as a whole."""

_declared: OrderedDict[bytes, Outputs] = OrderedDict()
"""By hash of the schema: tools of one API often return the same things, and reading a large schema takes milliseconds."""


def _places_of(schema: Mapping[str, Any] | None, learned: Type | None, *, may_be_map: bool) -> Outputs:
    """Return the places of a declared result schema, refined and completed by what was learned."""
    declared, result = _read(schema) if schema else ((), None)
    if learned is None:
        return declared, result
    found = {one.path: one for one in declared}
    for place in _places(learned, declared=False, may_be_map=may_be_map):
        known = found.get(place.path)
        if known is not None:
            found[place.path] = _refined(known, place)
        elif len(found) < _MAX_PORTS:
            found[place.path] = place
    around = {path[:size] for path in found for size in range(len(path))}
    places = tuple(one for path, one in found.items() if one.type.kind not in _OPEN or path not in around)
    return places, result or learned


def _read(schema: Mapping[str, Any]) -> Outputs:
    digest = sha256(json.dumps(schema, default=str).encode(errors="replace")).digest()
    if digest not in _declared:
        kind = result_type(schema, max_parts=_MAX_PARTS)
        places = () if kind is None else _places(kind)
        _declared[digest] = places, kind
        if len(_declared) > _MAX_CACHED:
            _declared.popitem(last=False)
    return _declared[digest]


def _refined(declared: Place, learned: Place) -> Place:
    """Complete a declared place with what was learned."""
    said = declared.type
    if said.kind in _OPEN:
        return declared._replace(type=learned.type, form=learned.form)
    if said.kind == learned.type.kind == "string" and said.format is None and learned.type.format:
        kind = replace(said, format=learned.type.format)
        return declared._replace(type=kind, form=form_of(kind))
    return declared


class _Part(NamedTuple):
    """A part of a result on the way to its places."""

    path: Path
    type: Type
    description: str
    is_optional: bool = False


def _places(kind: Type, *, declared: bool = True, may_be_map: bool = False) -> tuple[Place, ...]:
    found: dict[Path, Place] = {}
    for part, taken in islice(_walk(kind, may_be_map=may_be_map), _MAX_PORTS):
        text = part.description or part.type.description
        place = Place(part.path, taken, form_of(taken), text, part.is_optional, declared)
        found.setdefault(part.path, place)
    return tuple(found.values())


def _walk(kind: Type, *, may_be_map: bool) -> Iterator[tuple[_Part, Type]]:
    """Yield the parts that can be taken whole, breadth-first; arrays and maps are passed through.

    `may_be_map` says that all results that were seen came from the same arguments, so that keys may be data.
    """
    todo = deque([_Part((), kind, kind.description)])
    while todo:
        part = todo.popleft()
        parts = _parts_of(part.type)
        if part.path and len(parts) < len(part.type.members):
            part = part._replace(is_optional=True)
        taken = _taken_part(parts)
        if taken is not None:
            yield part, taken
        if len(part.path) < _MAX_DEPTH:
            objects = [one for one in parts if one.kind == "object"]
            if not (may_be_map and part.path and part.path[-1].kind == "key"):
                todo.extend(_fields(part, objects))
            todo.extend(_others(part, objects, [one for one in parts if one.kind == "array"]))


def _fields(part: _Part, objects: list[Type]) -> Iterator[_Part]:
    fields = fields_of(objects)
    some_required = any(one.required for one in fields)
    for one in fields:
        is_optional = part.is_optional or (some_required and not one.required)
        yield _Part((*part.path, key(one.name)), one.type, one.description, is_optional)


def _others(part: _Part, objects: list[Type], arrays: list[Type]) -> Iterator[_Part]:
    extra = extra_of(objects)
    if extra is not None:
        yield part._replace(path=(*part.path, NAME), type=_STRING, description="")
        yield part._replace(path=(*part.path, VALUE), type=extra, description=extra.description)
    for one in arrays:
        if one.items is not None:
            yield part._replace(path=(*part.path, EACH), type=one.items)


def follow(kind: Type | None, step: Step) -> tuple[Type | None, bool]:
    """Return the type one step further, and whether it may be missing or null in a value that exists."""
    parts = [] if kind is None else _parts_of(kind)
    objects = [one for one in parts if one.kind == "object"]
    inner: Type | None = None
    is_optional = False
    if step.kind == "key":
        found = next((one for one in fields_of(objects) if one.name == step.key), None)
        inner = None if found is None else found.type
        is_optional = found is None or not found.required or len(objects) < len(parts)
    elif step.kind == "each":
        inner = next((one.items for one in parts if one.kind == "array"), None)
    elif step.kind == "value":
        inner = extra_of(objects)
    return inner, is_optional or (
        inner is not None and any(one.kind == "null" for one in inner.members or (inner,))
    )
