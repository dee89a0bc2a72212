"""The places of a tool's results: declared ones first, then what was learned."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.graph.naming import phrase, words_of
from halflap.graph.paths import EACH, NAME, VALUE, Path, key
from halflap.graph.ports import MAX_DEPTH, MAX_PORTS, Place, Sign, kinds_of, parts_of, taken_part
from halflap.graph.types import form_of
from halflap.schema import Type, extra_of, fields_of, object_types, result_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.schema import Field

__all__ = ["Outputs", "is_boolean", "outputs_of"]

_MAX_CACHED = 4_000
_SUCCESS = ("success", "ok")
_INNER = "data"
_STRING = Type("string")
_OPEN = frozenset({"any", "cut", "recursive"})


class Outputs(NamedTuple):
    """What is known of the values that a tool returns."""

    places: tuple[Place, ...] = ()
    beside: tuple[Place, ...] = ()
    result: Type | None = None
    signs: tuple[Sign, ...] = ()


_declared: OrderedDict[bytes, Outputs] = OrderedDict()
"""By hash of the schema: tools of one API often return the same things, and reading a large schema takes milliseconds."""


def outputs_of(schema: Mapping[str, Any] | None, learned: Type | None, confidence: float) -> Outputs:
    """Return the places of a declared result schema, refined and completed by what was learned."""
    declared = _read(schema) if schema else Outputs()
    if learned is None:
        return declared
    seen = _outputs(learned, declared=False, confidence=confidence)
    found = {one.path: one for one in declared.places}
    for place in seen.places:
        known = found.get(place.path)
        if known is not None:
            found[place.path] = _refined(known, place)
        elif len(found) < MAX_PORTS:
            found[place.path] = place
    inner = {path[:size] for path in found for size in range(len(path))}
    places = tuple(one for path, one in found.items() if one.type.kind not in _OPEN or path not in inner)
    return Outputs(
        places,
        tuple({one.path: one for one in (*declared.beside, *seen.beside)}.values()),
        declared.result or seen.result,
        tuple(dict.fromkeys([*declared.signs, *seen.signs])),
    )


def _read(schema: Mapping[str, Any]) -> Outputs:
    digest = sha256(json.dumps(schema, default=str).encode(errors="replace")).digest()
    known = _declared.get(digest)
    if known is None:
        kind = result_type(schema)
        known = Outputs() if kind is None else _outputs(kind, declared=True, confidence=1.0)
        _declared[digest] = known
        if len(_declared) > _MAX_CACHED:
            _declared.popitem(last=False)
    return known


def _refined(declared: Place, learned: Place) -> Place:
    """Take from a learned place what the declaration leaves open."""
    said = declared.type
    if said.kind in _OPEN:
        return replace(declared, type=learned.type, form=learned.form)
    if said.kind == learned.type.kind == "string" and said.format is None and learned.type.format:
        kind = replace(said, format=learned.type.format)
        return replace(declared, type=kind, form=form_of(kind))
    return declared


def _outputs(kind: Type, *, declared: bool, confidence: float) -> Outputs:
    fields = {one.name: one for one in fields_of(object_types(kind))}
    walk = _Walk(declared=declared, confidence=confidence)
    signs = tuple(_signs(fields))
    inner = fields.pop(_INNER, None)
    if inner is None or not any(name in fields and is_boolean(fields[name].type) for name in _SUCCESS):
        return Outputs(walk.places((), kind, kind.description), (), kind, signs)
    # An envelope: the result says whether the call succeeded, and has its value in `data`.
    beside = (
        place
        for one in fields.values()
        if one.name not in _SUCCESS
        for place in walk.places((key(one.name),), one.type, one.description)
        if all(step.kind == "key" for step in place.path)
    )
    plain = tuple(islice(beside, MAX_PORTS))
    return Outputs(walk.places((key(_INNER),), inner.type, inner.description), plain, kind, signs)


def is_boolean(kind: Type) -> bool:
    """Return whether a value is true, false or null and nothing else."""
    parts = parts_of(kind)
    return bool(parts) and all(
        one.kind == "boolean"
        or (one.kind == "values" and all(isinstance(value, bool) for value in one.values))
        for one in parts
    )


def _signs(fields: Mapping[str, Field]) -> Iterator[Sign]:
    """Yield the keys that tell that a call failed."""
    for name, own in fields.items():
        said, kinds = phrase(words_of(name)), kinds_of(own.type)
        if said in _SUCCESS and is_boolean(own.type):
            yield Sign("false", name)
        elif said == "error" and kinds and not kinds & {"integer", "number"}:
            yield Sign("error", name)


class _Part(NamedTuple):
    """A part of a result on the way to its places."""

    path: Path
    type: Type
    description: str
    is_seldom: bool = False
    is_optional: bool = False


class _Walk:
    """Takes types apart into places, breadth-first; arrays and maps are passed through."""

    def __init__(self, *, declared: bool, confidence: float) -> None:
        self._declared = declared
        self._confidence = confidence

    def places(self, path: Path, kind: Type, description: str) -> tuple[Place, ...]:
        found: dict[Path, Place] = {}
        for place in islice(self._walk(_Part(path, kind, description)), MAX_PORTS):
            found.setdefault(place.path, place)
        return tuple(found.values())

    def _walk(self, start: _Part) -> Iterator[Place]:
        todo = deque([start])
        while todo:
            path, kind, description, is_seldom, is_optional = todo.popleft()
            parts = parts_of(kind)
            is_optional = is_optional or (bool(path) and len(parts) < len(kind.members))
            taken = taken_part(parts)
            if taken is not None:
                said = description or kind.description
                yield Place(
                    path,
                    taken,
                    said,
                    is_seldom,
                    is_optional,
                    self._declared,
                    self._confidence,
                    form_of(taken),
                )
            if len(path) - len(start.path) < MAX_DEPTH:
                whole = _Part(path, kind, description, is_seldom, is_optional)
                todo.extend(self._inside(whole, [one for one in parts if one.kind == "object"]))
                items = (one.items for one in parts if one.kind == "array" and one.items is not None)
                todo.extend(whole._replace(path=(*path, EACH), type=one) for one in items)

    def _inside(self, whole: _Part, objects: list[Type]) -> Iterator[_Part]:
        path, _, _, is_seldom, is_optional = whole
        fields = fields_of(objects)
        if fields and not self._declared and self._confidence <= 0 and path and path[-1].kind == "key":
            # All results that were seen came from the same arguments, so its keys may be data.
            return
        some_required = any(one.required for one in fields)
        for one in fields:
            yield _Part(
                (*path, key(one.name)),
                one.type,
                one.description,
                is_seldom or not (one.required or self._declared),
                is_optional or (some_required and not one.required),
            )
        extra = extra_of(objects)
        if extra is not None:
            yield whole._replace(path=(*path, NAME), type=_STRING, description="")
            yield whole._replace(path=(*path, VALUE), type=extra, description=extra.description)
