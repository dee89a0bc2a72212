"""The places of a tool's results: declared ones first, then what was learned."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

from halflap.graph.paths import EACH, NAME, VALUE, Path, key
from halflap.graph.ports import MAX_DEPTH, MAX_PORTS, Place, parts_of, taken_part
from halflap.graph.types import form_of
from halflap.schema import Type, extra_of, fields_of, result_type

__all__ = ["places_of"]

_MAX_CACHED = 4_000
_STRING = Type("string")
_OPEN = frozenset({"any", "cut", "recursive"})

Outputs = tuple[tuple[Place, ...], Type | None]
"""The places of a result, and its type as a whole."""

_declared: OrderedDict[bytes, Outputs] = OrderedDict()
"""By hash of the schema: tools of one API often return the same things, and reading a large schema takes milliseconds."""


def places_of(schema: Mapping[str, Any] | None, learned: Type | None, confidence: float) -> Outputs:
    """Return the places of a declared result schema, refined and completed by what was learned."""
    declared, result = _read(schema) if schema else ((), None)
    if learned is None:
        return declared, result
    found = {one.path: one for one in declared}
    for place in _places(learned, declared=False, confidence=confidence):
        known = found.get(place.path)
        if known is not None:
            found[place.path] = _refined(known, place)
        elif len(found) < MAX_PORTS:
            found[place.path] = place
    around = {path[:size] for path in found for size in range(len(path))}
    places = tuple(one for path, one in found.items() if one.type.kind not in _OPEN or path not in around)
    return places, result or learned


def _read(schema: Mapping[str, Any]) -> Outputs:
    digest = sha256(json.dumps(schema, default=str).encode(errors="replace")).digest()
    if digest not in _declared:
        kind = result_type(schema)
        places = () if kind is None else _places(kind, declared=True, confidence=1.0)
        _declared[digest] = places, kind
        if len(_declared) > _MAX_CACHED:
            _declared.popitem(last=False)
    return _declared[digest]


def _refined(declared: Place, learned: Place) -> Place:
    """Take from a learned place what the declaration leaves open."""
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


def _places(kind: Type, *, declared: bool, confidence: float) -> tuple[Place, ...]:
    found: dict[Path, Place] = {}
    for part, taken in islice(_walk(kind, may_be_map=not declared and confidence <= 0), MAX_PORTS):
        text = part.description or part.type.description
        place = Place(part.path, taken, form_of(taken), text, part.is_optional, declared, confidence)
        found.setdefault(part.path, place)
    return tuple(found.values())


def _walk(kind: Type, *, may_be_map: bool) -> Iterator[tuple[_Part, Type]]:
    """Yield the parts that can be taken whole, breadth-first; arrays and maps are passed through.

    `may_be_map` says that all results that were seen came from the same arguments, so that keys may be data.
    """
    todo = deque([_Part((), kind, kind.description)])
    while todo:
        part = todo.popleft()
        parts = parts_of(part.type)
        if part.path and len(parts) < len(part.type.members):
            part = part._replace(is_optional=True)
        taken = taken_part(parts)
        if taken is not None:
            yield part, taken
        if len(part.path) < MAX_DEPTH:
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
