"""The one type model: what a JSON Schema says about a value, and how two such types combine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "ANY",
    "CUT",
    "NEVER",
    "PLAIN",
    "Bounds",
    "Field",
    "Kind",
    "Type",
    "incomplete",
    "intersect",
    "union",
]

Kind = Literal[
    "string", "number", "integer", "boolean", "null", "object", "array", "any", "never", "values", "union",
    "recursive", "cut",
]  # fmt: skip
"""`values` is an enum or const, `recursive` a place inside a type where that type starts again, `cut` a part that was
not read because the schema is too large or too deep: it may be anything."""

PLAIN: dict[str, Kind] = {
    "string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "null": "null",
    "object": "object", "array": "array",
}  # fmt: skip

_MAX_MEMBERS = 100
"""Doubling it lets larger unions through whole; intersecting two of them takes four times as long."""


class Bounds(NamedTuple):
    """Length limits of a string or an array, and a string's pattern."""

    shortest: int = 0
    longest: int | None = None
    pattern: str = ""


@dataclass(frozen=True, slots=True)
class Type:
    """What a schema says about a value."""

    kind: Kind
    fields: tuple[Field, ...] = ()
    extra: Type | None = None
    """The type of the values under any other key, where the schema gives one."""
    closed: bool = False
    """There can be no other keys."""
    partial: bool = False
    """There may be declared keys that were not read; never closed then."""
    needed: tuple[str, ...] = ()
    """Required keys without a schema of their own."""
    items: Type | None = None
    members: tuple[Type, ...] = ()
    values: tuple[Any, ...] = field(default=(), compare=False)
    format: str | None = None
    description: str = ""
    bounds: Bounds | None = field(default=None, compare=False, repr=False)
    recursive_kind: str = ""
    """For a recursive type, what it is: `object`, `array`, `array | null`."""
    relations: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """What the server says the value identifies: `("produces", "customer")`."""
    recursion: int = field(default=0, compare=False, repr=False)
    """The same number on a type that contains itself and on the `recursive` places inside it; else 0."""
    comparable_values: tuple[tuple[str, Any], ...] = field(init=False, repr=False)
    """The values in a form that can be hashed and tells 1 from true."""

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
    when: str = ""
    """The condition under which the key is required or allowed, where several objects were merged."""


def _comparable(value: Any) -> tuple[str, Any]:
    # Objects and arrays compare by identity: comparing their contents could take arbitrarily long.
    plain = value is None or isinstance(value, str | int | float)
    return type(value).__name__, value if plain else id(value)


ANY = Type("any")
CUT = Type("cut")
NEVER = Type("never")


def union(members: Iterable[Type]) -> Type:
    """Return the type of a value that has one of these types; null comes last, and `any` absorbs the others."""
    once: dict[Type, Type] = {}
    for part in (one for member in members for one in (member.members or (member,))):
        one = replace(part, description="") if part.description else part
        known = once.setdefault(one, one)
        if known.bounds != one.bounds:
            once[one] = replace(known, bounds=None)
    flat = list(once.values())
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
    """Return the type of a value that has both types, as far as both can be told in one."""
    if one.kind == "any":
        return other
    if other.kind == "any" or one == other:
        return one
    for unread, known in ((one, other), (other, one)):
        if unread.kind in {"cut", "recursive"}:
            return incomplete(known) if unread.kind == "cut" else known
    if NEVER in (one, other):
        return NEVER
    mine, others = one.members or (one,), other.members or (other,)
    if len(mine) * len(others) <= _MAX_MEMBERS and _has_object(mine) and _has_object(others):
        return union([*_merged_objects(mine, others), *_common_others(mine, others)])
    # A list of values or narrower types says more than a plain type.
    return other if other.kind in {"values", "union"} else one


def incomplete(kind: Type) -> Type:
    """Return a type with every object in it marked as partial."""
    if kind.kind == "union":
        return replace(kind, members=tuple(map(incomplete, kind.members)))
    return replace(kind, partial=True, closed=False) if kind.kind == "object" else kind


def _has_object(kinds: Sequence[Type]) -> bool:
    return any(kind.kind == "object" for kind in kinds)


def _merged_objects(mine: Sequence[Type], others: Sequence[Type]) -> Iterator[Type]:
    for one in mine:
        for other in others:
            if one.kind == other.kind == "object":
                yield _merge(one, other)


def _common_others(mine: Sequence[Type], others: Sequence[Type]) -> Sequence[Type]:
    left = [kind for kind in mine if kind.kind != "object"]
    right = [kind for kind in others if kind.kind != "object"]
    return ([kind for kind in right if kind in left] or right) if left and right else left or right


def _merge(one: Type, other: Type) -> Type:
    names = {field.name for field in other.fields}
    required = {field.name for field in (*one.fields, *other.fields) if field.required}
    required |= {*one.needed, *other.needed}
    fields = [*(field for field in one.fields if field.name not in names), *other.fields]
    partial = one.partial or other.partial
    return Type(
        "object",
        fields=tuple(
            field if field.required == (field.name in required) else replace(field, required=True)
            for field in fields
        ),
        extra=other.extra or one.extra,
        closed=(one.closed or other.closed) and not partial,
        partial=partial,
        needed=tuple(sorted(required - {field.name for field in fields})),
    )
