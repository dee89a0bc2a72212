"""The one type model: what a JSON Schema says about a value, and how two such types combine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Kind = Literal[
    "string", "number", "integer", "boolean", "null", "object", "array", "any", "never", "values", "union", "cut",
]  # fmt: skip
"""`values` is an enum or const; `cut` is a part that was not read because the schema is too large, too deep or refers to
itself, so it may be anything."""

PLAIN: dict[str, Kind] = {
    "string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "null": "null",
    "object": "object", "array": "array",
}  # fmt: skip

_MAX_MEMBERS = 100
"""Doubling it lets larger unions through whole; intersecting two of them takes four times as long."""


@dataclass(frozen=True, slots=True)
class Type:
    """What a schema says about a value."""

    kind: Kind
    fields: tuple[Field, ...] = ()
    extra: Type | None = None
    """The type of the values under any other key, where the schema gives one."""
    closed: bool = False
    """No other keys are allowed."""
    partial: bool = False
    """Some declared keys may not have been read; then it is not `closed`."""
    items: Type | None = None
    members: tuple[Type, ...] = ()
    values: tuple[Any, ...] = field(default=(), compare=False)
    format: str | None = None
    description: str = ""
    relations: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """What the server says the value identifies: `("produces", "customer")`."""
    comparable_values: tuple[tuple[str, Any], ...] = field(init=False, repr=False)
    """The values in a hashable form that distinguishes 1 from true."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "comparable_values", tuple(map(_comparable, self.values)))


@dataclass(frozen=True, slots=True)
class Field:
    """One key of an object."""

    name: str
    type: Type
    required: bool
    description: str = ""
    default: Any = field(default=None, compare=False)
    has_default: bool = False


def _comparable(value: Any) -> tuple[str, Any]:
    # Objects and arrays compare by identity: comparing their contents could take arbitrarily long.
    plain = value is None or isinstance(value, str | int | float)
    return type(value).__name__, value if plain else id(value)


ANY = Type("any")
CUT = Type("cut")
NEVER = Type("never")


def union(members: Iterable[Type]) -> Type:
    """Return the type of a value that has one of these types; null comes last, and `any` absorbs the others."""
    parts = [part for member in members for part in (member.members or (member,))]
    flat = [replace(one, description="") if one.description else one for one in parts]
    if len(flat) > 1:
        flat = list(dict.fromkeys(flat))
    listed = [one for one in flat if one.kind == "values"]
    if len(listed) > 1:
        values = {
            key: value for one in listed for key, value in zip(one.comparable_values, one.values, strict=True)
        }
        flat = [Type("values", values=tuple(values.values())), *(one for one in flat if one.kind != "values")]
    flat = [one for one in flat if one.kind != "never"] or flat[:1]
    if not flat or ANY in flat:
        return ANY
    flat.sort(key=lambda one: one.kind == "null")
    if len(flat) > _MAX_MEMBERS:
        flat = [*flat[:_MAX_MEMBERS], CUT]
    return flat[0] if len(flat) == 1 else Type("union", members=tuple(flat))


def intersect(one: Type, other: Type) -> Type:
    """Return the type of a value that has both types, as far as one type can express both."""
    if one.kind == "any":
        return other
    if other.kind == "any" or one == other:
        return one
    for unread, known in ((one, other), (other, one)):
        if unread.kind == "cut":
            return incomplete(known)
    if NEVER in (one, other):
        return NEVER
    mine, others = one.members or (one,), other.members or (other,)
    if len(mine) * len(others) <= _MAX_MEMBERS:
        both = [_merge(a, b) for a in mine for b in others if a.kind == b.kind == "object"]
        if both:
            return union([*both, *(kind for kind in (*mine, *others) if kind.kind != "object")])
    # A list of values or narrower types says more than a plain type.
    return other if other.kind in {"values", "union"} else one


def incomplete(kind: Type) -> Type:
    """Return a type with every object in it marked as partial."""
    if kind.kind == "union":
        return replace(kind, members=tuple(map(incomplete, kind.members)))
    return replace(kind, partial=True, closed=False) if kind.kind == "object" else kind


def _merge(one: Type, other: Type) -> Type:
    fields = {field.name: field for field in one.fields}
    for theirs in other.fields:
        mine = fields.get(theirs.name)
        fields[theirs.name] = theirs if mine is None else _merge_fields(mine, theirs)
    partial = one.partial or other.partial
    return Type(
        "object",
        fields=tuple(fields.values()),
        extra=other.extra or one.extra,
        closed=(one.closed or other.closed) and not partial,
        partial=partial,
    )


def _merge_fields(one: Field, other: Field) -> Field:
    described = other if other.description or other.has_default else one
    return replace(described, type=intersect(one.type, other.type), required=one.required or other.required)


# Objects


def object_types(kind: Type) -> list[Type]:
    """Return the object types among those that a value may have."""
    return [one for one in (kind.members or (kind,)) if one.kind == "object"]


def objects_in(kind: Type) -> Iterator[Type]:
    """Yield the object types that a value, or the items of an array, may have."""
    if kind.kind == "object":
        yield kind
    elif kind.kind == "array" and kind.items is not None:
        yield from objects_in(kind.items)
    for member in kind.members:
        yield from objects_in(member)


def fields_of(objects: Sequence[Type]) -> tuple[Field, ...]:
    """Return the keys of all these objects, each once; required are those that all of them require."""
    if len(objects) == 1:
        return objects[0].fields
    same: dict[str, list[Field]] = {}
    for one in objects:
        for found in one.fields:
            same.setdefault(found.name, []).append(found)
    return tuple(
        replace(
            found[0],
            type=found[0].type if len(found) == 1 else union(one.type for one in found),
            required=len(found) == len(objects) and all(one.required for one in found),
            description=next((one.description for one in found if one.description), ""),
        )
        for found in same.values()
    )


def extra_of(objects: Sequence[Type]) -> Type | None:
    """Return the type of values under any other key, where the schema gives one."""
    declared = [one.extra for one in objects if one.extra is not None]
    return union(declared) if declared else None


def is_cut(kind: Type) -> bool:
    """Return whether there is more to a type than was read."""
    return any(one.partial or one.kind == "cut" for one in (kind, *kind.members))
