"""Join types: those of which one holds, and those that hold of the same value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.schema.kinds import ANY, CUT, Type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.schema.kinds import Field

__all__ = ["both", "fields_of", "union", "work_of_both"]

_MOST_MEMBERS = 100


def union(members: Iterable[Type]) -> Type:
    """Join types; equal ones once, values with values, anything with `any` is `any`."""
    parts = (one for member in members for one in (member.members if member.kind == "union" else (member,)))
    flat = list(dict.fromkeys(replace(one, description="") if one.description else one for one in parts))
    listed = [one for one in flat if one.kind == "values"]
    if len(listed) > 1:
        # In one list, each once: 1 and true are two.
        values = {
            spelled: value for one in listed for spelled, value in zip(one.spelled, one.values, strict=True)
        }
        flat = [Type("values", values=tuple(values.values())), *(one for one in flat if one.kind != "values")]
    if not flat or ANY in flat:
        return ANY
    if len(flat) > _MOST_MEMBERS:
        flat = [*flat[:_MOST_MEMBERS], CUT]
    return flat[0] if len(flat) == 1 else Type("union", members=tuple(flat))


def work_of_both(one: Type, other: Type) -> int:
    """Say how many keys have to be gone through to join two types that hold of the same value."""
    times = len(other.members) if other.kind == "union" else 1
    return len(one.fields) * times + sum(len(member.fields) for member in (other, *other.members))


def both(one: Type, other: Type) -> Type:
    """Join what two parts of a schema say of the same value."""
    if one.kind == "any":
        return other
    if other.kind == "any" or one == other:
        return one
    if one.kind in {"again", "cut"}:
        # Of what was not read again, what stands beside it is all that there is to say.
        return other
    if one.kind == other.kind == "object":
        return _objects(one, other)
    if other.kind == "union" and one.kind == "object":
        return union(_objects(one, member) if member.kind == "object" else member for member in other.members)
    # A plain kind beside a list of values or of narrower kinds: those say more.
    return other if other.kind in {"values", "union"} else one


def _objects(one: Type, other: Type) -> Type:
    names = {field.name for field in other.fields}
    needed = {field.name for field in (*one.fields, *other.fields) if field.required}
    needed |= {*one.needed, *other.needed}
    fields = [*(field for field in one.fields if field.name not in names), *other.fields]
    return Type(
        "object",
        fields=tuple(
            field if field.required == (field.name in needed) else replace(field, required=True)
            for field in fields
        ),
        extra=other.extra or one.extra,
        closed=one.closed or other.closed,
        needed=tuple(sorted(needed - {field.name for field in fields})),
    )


def fields_of(kind: Type) -> tuple[Field, ...]:
    """Give the keys that an object may have; of several kinds of object, the keys of all of them."""
    if kind.kind != "union":
        return kind.fields
    objects = [member for member in kind.members if member.kind == "object"]
    found: dict[str, list[Field]] = {}
    for member in objects:
        for field in member.fields:
            found.setdefault(field.name, []).append(field)
    return tuple(
        replace(
            same[0],
            type=same[0].type if len(same) == 1 else union(one.type for one in same),
            required=len(same) == len(objects) and all(one.required for one in same),
        )
        for same in found.values()
    )
