"""The places of a tool's results: declared ones first, then what was learned."""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.graph.naming import phrase, words_of
from halflap.graph.paths import EACH, NAME, VALUE, Path, key
from halflap.graph.ports import MAX_DEPTH, MAX_PORTS, SCALARS, Envelope, Place, Sign, kinds_of, parts_of
from halflap.graph.types import form_of
from halflap.schema import Type, extra_of, fields_of, object_types, result_type, union

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["FAILURE_WORDS", "Outputs", "is_boolean", "outputs_of"]

_MAX_CACHED = 4_000
_SELDOM = 0.5
_SUCCESS = ("success", "ok")
_INNER = "data"
_STRING = Type("string")
_OPEN = frozenset({"any", "cut", "recursive"})
FAILURE_WORDS = ("error", "fail", "failed", "failure")
_OUTCOME_WORDS = frozenset(
    {*FAILURE_WORDS, "ok", "success", "succeeded", "successful", "done", "partial", "warning"}
)


class Outputs(NamedTuple):
    """What is known of the values that a tool returns."""

    places: tuple[Place, ...] = ()
    beside: tuple[Place, ...] = ()
    envelope: Envelope | None = None
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
        if known is None and len(found) < MAX_PORTS:
            found[place.path] = place
        elif known is not None:
            found[place.path] = _refined(known, place)
    inner = {path[:size] for path in found for size in range(len(path))}
    places = tuple(one for path, one in found.items() if one.type.kind not in _OPEN or path not in inner)
    return Outputs(
        places,
        tuple({one.path: one for one in (*declared.beside, *seen.beside)}.values()),
        declared.envelope or seen.envelope,
        tuple(dict.fromkeys([*declared.signs, *seen.signs])),
    )


def _read(schema: Mapping[str, Any]) -> Outputs:
    digest = sha256(json.dumps(schema, default=str).encode(errors="replace")).digest()
    known = _declared.get(digest)
    if known is None:
        kind = result_type(schema)
        known = _declared[digest] = (
            Outputs() if kind is None else _outputs(kind, declared=True, confidence=1.0)
        )
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
    envelope = _envelope(kind)
    whole = Place((), kind, kind.description, declared=declared, confidence=confidence)
    beside: list[Place] = []
    if envelope is not None:
        inner = fields.pop(_INNER)
        whole = replace(whole, path=(key(_INNER),), type=inner.type, description=inner.description)
        for name, one in fields.items():
            if name != envelope.success:
                beside += _walk(Place((key(name),), one.type, one.description, declared=False), MAX_DEPTH - 2)
    places: dict[Path, Place] = {}
    for place in _walk(whole):
        places.setdefault(place.path, place)
        if len(places) == MAX_PORTS:
            break
    plain = [one for one in beside if all(step.kind == "key" for step in one.path)]
    return Outputs(tuple(places.values()), tuple(plain), envelope, tuple(_signs(kind)))


def _envelope(kind: Type) -> Envelope | None:
    fields = {one.name: one for one in fields_of(object_types(kind))}
    success = next((name for name in _SUCCESS if name in fields and is_boolean(fields[name].type)), None)
    if _INNER not in fields or success is None:
        return None
    inner = fields[_INNER]
    may_be_null = any(one.kind == "null" for one in (inner.type, *inner.type.members))
    return Envelope(success, inner.required and not may_be_null)


def is_boolean(kind: Type) -> bool:
    """Return whether a value is true, false or null and nothing else."""
    parts = parts_of(kind)
    return bool(parts) and all(
        one.kind == "boolean"
        or (one.kind == "values" and all(isinstance(value, bool) for value in one.values))
        for one in parts
    )


def _signs(kind: Type) -> Iterator[Sign]:
    """Yield the keys that tell that a call failed."""
    fields = {one.name: one.type for one in fields_of(object_types(kind))}
    for name, own in fields.items():
        said, kinds = phrase(words_of(name)), kinds_of(own)
        texts = {str(value).lower() for one in parts_of(own) for value in one.values}
        if said in {"success", "ok"} and is_boolean(own):
            yield Sign("false", name)
        elif said == "status" and texts and texts <= _OUTCOME_WORDS:
            yield Sign("word", name)
        elif said == "error" and kinds and not kinds & {"integer", "number"}:
            yield Sign("error", name)


def _walk(start: Place, depth: int = 0) -> Iterator[Place]:
    """Yield a place and those inside it, breadth-first; arrays and maps are passed through."""
    todo = deque([(start, depth)])
    while todo:
        whole, depth = todo.popleft()
        parts = parts_of(whole.type)
        may_be_null = len(parts) < len(whole.type.members)
        if may_be_null and whole.path:
            whole = replace(whole, is_optional=True)
        objects = [one for one in parts if one.kind == "object"]
        taken = [one for one in parts if one.kind in SCALARS or one.kind == "object"]
        if taken:
            kind = union(taken)
            said = whole.description or whole.type.description
            yield replace(whole, type=kind, description=said, form=form_of(kind))
        if depth >= MAX_DEPTH:
            continue
        todo.extend((one, depth + 1) for one in _inside(whole, objects))
        for array in (one for one in parts if one.kind == "array"):
            if array.items is not None:
                todo.append((replace(whole, path=(*whole.path, EACH), type=array.items), depth + 1))


def _inside(whole: Place, objects: list[Type]) -> Iterator[Place]:
    fields = fields_of(objects)
    if fields and _may_be_map(whole):
        return
    some_required = any(one.required for one in fields)
    for one in fields:
        is_seldom = not one.required and not whole.declared
        yield replace(
            whole,
            path=(*whole.path, key(one.name)),
            type=one.type,
            description=one.description,
            presence=whole.presence * (_SELDOM if is_seldom else 1.0),
            is_optional=whole.is_optional or (some_required and not one.required),
        )
    extra = extra_of(objects)
    if extra is not None:
        yield replace(whole, path=(*whole.path, NAME), type=_STRING, description="")
        yield replace(whole, path=(*whole.path, VALUE), type=extra, description=extra.description)


def _may_be_map(whole: Place) -> bool:
    """Return whether the keys of an object may be data: all results that were seen came from the same arguments."""
    is_nested = bool(whole.path) and whole.path[-1].kind == "key"
    return is_nested and not whole.declared and whole.confidence <= 0
