"""Join types: those of which one holds, and those that hold of the same value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.schema.kinds import ANY, CUT, NEVER, Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["both", "union", "work_of_both"]

_MOST_MEMBERS = 100


def union(members: Iterable[Type]) -> Type:
    """Join types; equal ones once, values with values, null last, anything with `any` is `any`."""
    parts = (one for member in members for one in (member.members if member.kind == "union" else (member,)))
    once: dict[Type, Type] = {}
    for part in parts:
        one = replace(part, description="") if part.description else part
        known = once.setdefault(one, one)
        if known.bounds != one.bounds:
            # Of two that differ in their bounds alone, none holds of both.
            once[one] = replace(known, bounds=None)
    flat = list(once.values())
    listed = [one for one in flat if one.kind == "values"]
    if len(listed) > 1:
        # In one list, each once: 1 and true are two.
        values = {
            spelled: value for one in listed for spelled, value in zip(one.spelled, one.values, strict=True)
        }
        flat = [Type("values", values=tuple(values.values())), *(one for one in flat if one.kind != "values")]
    flat = [one for one in flat if one.kind != "never"] or flat[:1]
    if not flat or ANY in flat:
        return ANY
    flat.sort(key=lambda one: one.kind == "null")
    if len(flat) > _MOST_MEMBERS:
        flat = [*flat[:_MOST_MEMBERS], CUT]
    return flat[0] if len(flat) == 1 else Type("union", members=tuple(flat))


def work_of_both(one: Type, other: Type) -> int:
    """Say how many keys have to be gone through to join two types that hold of the same value."""
    return _keys(one) * max(1, len(other.members)) + _keys(other) * max(1, len(one.members))


def _keys(kind: Type) -> int:
    return sum(len(member.fields) for member in (kind, *kind.members))


def both(one: Type, other: Type) -> Type:
    """Join what two parts of a schema say of the same value."""
    if one.kind == "any":
        return other
    if other.kind == "any" or one == other:
        return one
    if one.kind in {"again", "cut"}:
        # Of what was not read again, what stands beside it is all that there is to say.
        return other
    if NEVER in (one, other):
        return NEVER
    mine, others = one.members or (one,), other.members or (other,)
    if len(mine) * len(others) <= _MOST_MEMBERS and _has_object(mine) and _has_object(others):
        return union([*_joined(mine, others), *_rest(mine, others)])
    # A plain kind beside a list of values or of narrower kinds: those say more.
    return other if other.kind in {"values", "union"} else one


def _has_object(kinds: Sequence[Type]) -> bool:
    return any(kind.kind == "object" for kind in kinds)


def _joined(mine: Sequence[Type], others: Sequence[Type]) -> Iterator[Type]:
    """Join every object of the one with every object of the other."""
    for one in mine:
        for other in others:
            if one.kind == other.kind == "object":
                yield _objects(one, other)


def _rest(mine: Sequence[Type], others: Sequence[Type]) -> Sequence[Type]:
    """Give what is no object: all that is said where only one of the two says it, else what both say."""
    left = [kind for kind in mine if kind.kind != "object"]
    right = [kind for kind in others if kind.kind != "object"]
    return ([kind for kind in right if kind in left] or right) if left and right else left or right


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
