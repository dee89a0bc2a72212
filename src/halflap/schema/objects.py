"""The keys of an object, or of all objects that a value may be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from halflap.schema.text import key, literal
from halflap.schema.types import Field, Type, union

_MAX_NAMED = 8
_MAX_TAGGED = 50
"""With more alternatives than this, no tag is looked for."""

_FieldsByObject = dict[str, dict[int, Field]]


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
    """Return the keys of all these objects, each once, with the condition under which it applies."""
    if len(objects) <= 1:
        return objects[0].fields if objects else ()
    found: _FieldsByObject = {}
    for at, one in enumerate(objects):
        for field in one.fields:
            found.setdefault(field.name, {})[at] = field
    conditions = _Conditions(found, len(objects))
    return tuple(_joined(name, same, conditions, len(objects)) for name, same in found.items())


def extra_of(objects: Sequence[Type]) -> Type | None:
    """Return the type of values under any other key, where the schema gives one."""
    declared = [one.extra for one in objects if one.extra is not None]
    return union(declared) if declared else None


def is_cut(kind: Type) -> bool:
    """Return whether there is more to a type than was read."""
    return any(one.partial or one.kind == "cut" for one in (kind, *kind.members))


def _joined(name: str, same: dict[int, Field], conditions: _Conditions, count: int) -> Field:
    fields = list(same.values())
    return replace(
        fields[0],
        type=fields[0].type if len(fields) == 1 else union(one.type for one in fields),
        required=len(fields) == count and all(one.required for one in fields),
        description=next((one.description for one in fields if one.description), ""),
        when=conditions.of(name, same),
    )


class _Conditions:
    """The condition under which a key of several objects is required or allowed: `required if type is "image"`."""

    def __init__(self, found: _FieldsByObject, count: int) -> None:
        self._count = count
        self._tag = next((name for name, same in found.items() if self._is_tag(same)), None)
        self._tag_types = {} if self._tag is None else {at: one.type for at, one in found[self._tag].items()}

    def of(self, name: str, same: dict[int, Field]) -> str:
        required_in = [at for at, one in same.items() if one.required]
        if len(required_in) == self._count or name == self._tag:
            return ""
        if self._tag is None:
            return "required in some cases" if required_in else ""
        if required_in:
            return f"required if {self._tag_is(required_in)}"
        return f"optional, only if {self._tag_is(same)}" if len(same) < self._count else ""

    def _is_tag(self, same: dict[int, Field]) -> bool:
        """Return whether a key has other values in each object."""
        if len(same) < self._count or self._count > _MAX_TAGGED:
            return False
        values = [value for one in same.values() for value in one.type.comparable_values]
        return all(one.type.kind == "values" for one in same.values()) and len(set(values)) == len(values)

    def _tag_is(self, places: Collection[int]) -> str:
        values = [literal(value) for at in places for value in self._tag_types[at].values]
        shown = values[:_MAX_NAMED] + (["…"] if len(values) > _MAX_NAMED else [])
        return f"{key(self._tag or '')} is {' or '.join(shown)}"
