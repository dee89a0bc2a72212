"""What goes into a tool and what comes out, as places and slots: its schemas, taken apart."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.graph.edge import EACH, NAME, VALUE, Envelope, Place, Ports, Slot, key
from halflap.graph.failing import signs_of
from halflap.schema import Type, extra_of, fields_of, is_informative, object_types, union

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.core.values import Tool
    from halflap.graph.edge import Path
    from halflap.schema import Field, ToolSchema

__all__ = ["is_boolean", "only_value", "ports_of"]

_DEEPEST = 10
_MOST = 400
"""A tool has no more places or slots than this; the outermost come first."""
_SELDOM = 0.5
_UNSURE = 0.5
_SUCCESS = ("success", "ok")
_INNER = "data"
_SCALARS = frozenset({"string", "number", "integer", "boolean", "any", "cut", "recursive", "values"})
_STRING = Type("string")


def ports_of(
    tool: Tool,
    schema: ToolSchema,
    learned: Type | None = None,
    *,
    is_destructive: bool = False,
    changes: bool | None = None,
    latency_ms: float | None = None,
    learned_confidence: float = _UNSURE,
    seen: int = 0,
    needed: int = 0,
) -> Ports:
    """Take a tool's schemas apart: what it declares to return first, what was learned of it beside that.

    `learned_confidence` is how sure the learned type is. Where there is none, results were `seen`, and more are `needed`.
    """
    objects = object_types(schema.input_type)
    taken = _taken(objects)
    slots: list[Slot] = []
    for slot in _outermost(_slots(one, (), 0) for one in taken):
        slots.append(slot)
        if len(slots) == _MOST:
            break
    return Ports(
        tool=tool.name,
        server=tool.server,
        places=_places_of(schema.output_type, learned, learned_confidence),
        slots=tuple(slots),
        required=frozenset(one.name for one in taken if one.required and not one.has_default),
        choices=tuple(map(frozenset, _sets(objects))),
        description=tool.description,
        original_name=tool.original_name,
        is_destructive=is_destructive,
        changes=changes,
        latency_ms=latency_ms,
        envelope=_envelope(schema.output_type) or _envelope(learned),
        signs=tuple(dict.fromkeys([*signs_of(schema.output_type), *signs_of(learned)])),
        beside=tuple({one.path: one for one in _beside(schema.output_type, learned)}.values())[:_MOST],
        seen=seen,
        needed=needed,
    )


def _taken(objects: Sequence[Type]) -> tuple[Field, ...]:
    """Give the fields of what is taken; where one of several sets of them is enough, the smallest has to be there.

    What can have one value only is as good as given.
    """
    fields = tuple(
        replace(one, has_default=True) if one.required and only_value(one.type) is not None else one
        for one in fields_of(objects)
    )
    needed = min(_sets(objects), key=len, default=[])
    return tuple(replace(one, required=True) if one.name in needed else one for one in fields)


def only_value(kind: Type) -> str | float | None:
    """Give the one plain value that there is of a type, if there is one and it is not null."""
    if kind.kind != "values" or len(kind.values) != 1 or not isinstance(kind.values[0], str | int | float):
        return None
    value: str | float = kind.values[0]
    return value


def _sets(objects: Sequence[Type]) -> list[list[str]]:
    """Give the sets of fields of which one has to be there, where there are several."""
    if len(objects) < 2 or any(_tells(field, objects) for field in fields_of(objects)):  # noqa: PLR2004 -- nothing to choose from
        return []
    return [[*one.needed, *(field.name for field in one.fields if field.required)] for one in objects]


def _tells(field: Field, objects: Sequence[Type]) -> bool:
    """Say whether a field's value says which of the objects it is: then that value is what has to be chosen."""
    own = [one for each in objects for one in each.fields if one.name == field.name]
    return field.required and len(
        {one.type.comparable_values for one in own if one.type.kind == "values"}
    ) == len(objects)


def _outermost(parts: Iterator[Iterator[Slot]]) -> list[Slot]:
    """Put what is less deep first, so that a deep parameter does not take the room of those after it."""
    found = [slot for part in parts for slot in part]
    return found if len(found) <= _MOST else sorted(found, key=lambda slot: len(slot.path))


def _slots(field: Field, before: Path, depth: int) -> Iterator[Slot]:
    yield from _slots_at(field.type, (*before, key(field.name)), field, depth)


def _slots_at(kind: Type, path: Path, field: Field, depth: int) -> Iterator[Slot]:
    """Give what a value can be put into: itself, where it is no array, and all that is inside of it."""
    if depth > _DEEPEST:
        return
    parts = [one for one in (kind.members or (kind,)) if one.kind not in {"null", "never"}]
    plain = [one for one in parts if one.kind in _SCALARS]
    objects = [one for one in parts if one.kind == "object"]
    if plain or objects:
        yield Slot(
            path,
            union([*plain, *objects]),
            field.required,
            field.has_default,
            field.description or kind.description,
            field.default,
        )
    for inner in _taken(objects):
        yield from _slots(inner, path, depth + 1)
    extra = extra_of(objects)
    if extra is not None and is_informative(extra):
        # What any key of a map takes: nobody has to give one.
        inside = replace(field, required=False, description=extra.description)
        yield from _slots_at(extra, (*path, VALUE), inside, depth + 1)
    for array in (one for one in parts if one.kind == "array"):
        items = array.items or Type("any")
        alone = array.bounds is not None and array.bounds.longest == 1
        for slot in _slots_at(items, (*path, EACH), field, depth + 1):
            yield replace(slot, is_alone=True) if alone else slot


def _places_of(declared: Type | None, learned: Type | None, confidence: float) -> tuple[Place, ...]:
    found: dict[Path, Place] = {}
    if declared is not None and is_informative(declared):
        for place in _inside_envelope(declared, declared=True, confidence=1.0):
            found.setdefault(place.path, place)
            if len(found) == _MOST:
                break
    if learned is not None:
        for place in _inside_envelope(learned, declared=False, confidence=confidence):
            known = found.get(place.path)
            if known is None and len(found) < _MOST:
                found[place.path] = place
            elif known is not None and known.declared:
                found[place.path] = _refined(known, place)
    silent = {path for path, place in found.items() if place.type.kind in {"any", "cut", "recursive"}}
    if silent:
        # That there is anything at all says nothing where it was seen what there is.
        deeper = {path[:length] for path in found for length in range(len(path))}
        found = {path: place for path, place in found.items() if path not in silent or path not in deeper}
    return tuple(found.values())


def _refined(declared: Place, learned: Place) -> Place:
    """Take from what was seen what the declaration leaves open."""
    said = declared.type
    if said.kind in {"any", "cut", "recursive"}:
        return replace(declared, type=learned.type)
    if (
        said.kind == "string"
        and said.format is None
        and learned.type.kind == "string"
        and learned.type.format
    ):
        return replace(declared, type=replace(said, format=learned.type.format))
    return declared


def _inside_envelope(kind: Type, *, declared: bool, confidence: float) -> Iterator[Place]:
    whole = Place((), kind, kind.description, 1.0, declared, confidence)
    if _envelope(kind) is not None:
        fields = fields_of(object_types(kind))
        inner = next(one for one in fields if one.name == _INNER)
        # Of an error there are no data: that they are missing then says nothing of the good results.
        yield from _at(replace(whole, path=(key(_INNER),), type=inner.type, description=inner.description), 0)
        return
    yield from _at(whole, 0)


def _beside(*kinds: Type | None) -> Iterator[Place]:
    """Give the plain values that stand beside the data of an envelope."""
    for kind in kinds:
        if kind is None or _envelope(kind) is None:
            continue
        for one in fields_of(object_types(kind)):
            if one.name == _INNER or one.name in _SUCCESS:
                continue
            # Whatever is here may be missing: `Presence` knows.
            for place in _at(
                Place((key(one.name),), one.type, one.description, declared=False), _DEEPEST - 2
            ):
                if all(step.kind == "key" for step in place.path):
                    yield place


def _envelope(kind: Type | None) -> Envelope | None:
    fields = {} if kind is None else {field.name: field for field in fields_of(object_types(kind))}
    success = next((name for name in _SUCCESS if name in fields and is_boolean(fields[name].type)), None)
    if _INNER not in fields or success is None:
        return None
    inner = fields[_INNER]
    nothing = any(one.kind == "null" for one in (inner.type, *inner.type.members))
    return Envelope(success, inner.required and not nothing)


def is_boolean(kind: Type) -> bool:
    """Say whether a value is true or false, or null, and nothing else."""
    parts = [one for one in (kind.members or (kind,)) if one.kind != "null"]
    return bool(parts) and all(
        one.kind == "boolean"
        or (one.kind == "values" and all(isinstance(value, bool) for value in one.values))
        for one in parts
    )


def _at(whole: Place, depth: int) -> Iterator[Place]:
    """Give a place, and those inside of it; arrays and maps are gone through, not taken themselves."""
    if depth > _DEEPEST:
        return
    kind = whole.type
    parts = [one for one in (kind.members or (kind,)) if one.kind not in {"null", "never"}]
    plain = [one for one in parts if one.kind in _SCALARS]
    objects = [one for one in parts if one.kind == "object"]
    # Where objects and bare values may be, a place of its own for each: one type would fit neither slot.
    taken = union([*plain, *objects]) if plain or objects else None
    if taken is not None:
        yield replace(whole, type=taken, description=whole.description or kind.description)
    yield from _in_objects(whole, objects, depth)
    for array in (one for one in parts if one.kind == "array"):
        if array.items is not None:
            yield from _at(
                replace(whole, path=(*whole.path, EACH), type=array.items, description=whole.description),
                depth + 1,
            )


def _in_objects(whole: Place, objects: Sequence[Type], depth: int) -> Iterator[Place]:
    for field in fields_of(objects):
        presence = whole.presence if field.required or whole.declared else whole.presence * _SELDOM
        yield from _at(
            replace(
                whole,
                path=(*whole.path, key(field.name)),
                type=field.type,
                description=field.description,
                presence=presence,
            ),
            depth + 1,
        )
    extra = extra_of(objects)
    if extra is not None:
        yield replace(whole, path=(*whole.path, NAME), type=_STRING, description="")
        yield from _at(
            replace(whole, path=(*whole.path, VALUE), type=extra, description=extra.description), depth + 1
        )
