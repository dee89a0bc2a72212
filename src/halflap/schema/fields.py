"""The keys that an object may have; where it may be of several kinds, the keys of all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.schema.join import union
from halflap.schema.kinds import ANY, Field
from halflap.schema.write import key, literal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from halflap.schema.kinds import Type

__all__ = ["choices_of", "extra_of", "fields_of", "is_cut", "objects_in"]

_MOST_NAMED = 8
_MOST_KINDS = 50
"""Of so many kinds of object it is said which key belongs to which."""


def choices_of(kind: Type) -> list[Type]:
    """Give the objects that a value may be."""
    return [one for one in (kind.members or (kind,)) if one.kind == "object"]


def objects_in(kind: Type) -> Iterator[Type]:
    """Give the objects that a value may be, or may be an array of."""
    if kind.kind == "object":
        yield kind
    elif kind.kind == "array" and kind.items is not None:
        yield from objects_in(kind.items)
    for member in kind.members:
        yield from objects_in(member)


def fields_of(objects: Sequence[Type]) -> tuple[Field, ...]:
    """Give the keys of an object; of several kinds of object, the keys of all of them, each once."""
    listed = [(*one.fields, *(Field(name, ANY, required=True) for name in one.needed)) for one in objects]
    if len(listed) <= 1:
        return listed[0] if listed else ()
    found: dict[str, dict[int, Field]] = {}
    for place, fields in enumerate(listed):
        for field in fields:
            found.setdefault(field.name, {})[place] = field
    marks = _Marks(found, len(listed))
    return tuple(_joined(name, same, marks, len(listed)) for name, same in found.items())


def extra_of(objects: Sequence[Type]) -> Type | None:
    """Give what any other key may have, where that is said."""
    said = [one.extra for one in objects if one.extra is not None]
    return union(said) if said else None


def is_cut(kind: Type) -> bool:
    """Say whether there is more to a type than was read."""
    return any(one.kind in {"cut", "again"} for one in (kind, *kind.members))


def _joined(name: str, same: dict[int, Field], marks: _Marks, count: int) -> Field:
    fields = list(same.values())
    return replace(
        fields[0],
        type=fields[0].type if len(fields) == 1 else union(one.type for one in fields),
        required=len(fields) == count and all(one.required for one in fields),
        description=next((one.description for one in fields if one.description), ""),
        when=marks.when(name, same),
    )


class _Marks:
    """Says of which kind of object a key is."""

    def __init__(self, found: dict[str, dict[int, Field]], count: int) -> None:
        self._count = count
        self._tag = next((name for name, same in found.items() if self._tells(same)), None)
        self._values = {} if self._tag is None else {at: one.type for at, one in found[self._tag].items()}
        self._alternatives = "" if self._tag is not None else _alternatives(found, count)

    def when(self, name: str, same: dict[int, Field]) -> str:
        needed = [place for place, one in same.items() if one.required]
        if len(needed) == self._count or name == self._tag:
            return ""
        if self._tag is None:
            return self._alternatives if needed else ""
        if needed:
            return f"required if {self._is(needed)}"
        return f"optional, only if {self._is(same)}" if len(same) < self._count else ""

    def _tells(self, same: dict[int, Field]) -> bool:
        """Say whether a key has another value in each kind of object."""
        if len(same) < self._count or self._count > _MOST_KINDS:
            return False
        spelled = [value for one in same.values() for value in one.type.spelled]
        return all(one.type.kind == "values" for one in same.values()) and len(set(spelled)) == len(spelled)

    def _is(self, places: Collection[int]) -> str:
        values = [literal(value) for place in places for value in self._values[place].values]
        shown = values[:_MOST_NAMED] + (["…"] if len(values) > _MOST_NAMED else [])
        return f"{key(self._tag or '')} is {' or '.join(shown)}"


def _alternatives(found: dict[str, dict[int, Field]], count: int) -> str:
    """Say of which keys one is required: where each kind of object requires one of its own, and no more."""
    required: list[list[str]] = [[] for _ in range(count)]
    for name, same in found.items():
        needed = [place for place, one in same.items() if one.required]
        for place in needed if len(needed) < count else ():
            required[place].append(name)
    if any(len(names) != 1 for names in required):
        return ""
    names = list(dict.fromkeys(key(names[0]) for names in required))
    shown = names[:_MOST_NAMED] + (["…"] if len(names) > _MOST_NAMED else [])
    return f"optional, one of {', '.join(shown)} is required"
