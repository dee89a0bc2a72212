"""JSON Schemas as trees of fields: a single schema, or a declared and a learned one merged."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.learn.shape import Place

__all__ = ["ANY_KEY", "Field", "count", "tree"]

ANY_KEY = "[key]"
"""The name of the field that represents all keys of a map."""

_MAX_FIELDS = 400
"""Fields of one tree; more make the page slow, and the schema is also shown as JSON."""
_MAX_DEPTH = 12
_MAX_ENUM = 12


@dataclass(slots=True)
class Field:
    """One field and its inner fields."""

    name: str
    types: str
    required: bool = False
    description: str = ""
    choices: tuple[str, ...] = ()
    origin: str = ""
    """`declared`, `learned` or `both`; empty if there is only one schema."""
    fields: dict[str, Field] = field(default_factory=dict)
    cut: bool = False
    """Whether inner fields were left out."""
    seen: int = 0
    """How many of the observed `objects` had it."""
    objects: int = 0


def tree(declared: Any, learned: Any = None) -> Field | None:
    """Return the fields of a schema, or of a declared and a learned one merged; None without a schema."""
    first = _read(declared) if isinstance(declared, Mapping) else None
    second = _read(learned) if isinstance(learned, Mapping) else None
    if first is None or second is None:
        _mark(first or second, "declared" if first else "learned") if learned is not None else None
        return first or second
    return _merged(first, second)


def _merged(declared: Field, learned: Field) -> Field:
    declared.origin = "both"
    for name, other in learned.fields.items():
        own = declared.fields.get(name)
        if own is None:
            _mark(other, "learned")
            declared.fields[name] = other
        else:
            _merged(own, other)
    for name, own in declared.fields.items():
        if name not in learned.fields:
            _mark(own, "declared")
    return declared


def count(found: Field, *places: Place) -> None:
    """Set at every field how often it was observed in results."""
    every = [one for place in places for one in _with_items(place)]
    records = [record for place in every for record in place.records.values()]
    objects = sum(record.seen.times for record in records)
    for name, one in found.fields.items():
        if name == ANY_KEY:
            inner = [record.rest for record in records if record.rest is not None]
        else:
            inner = [record.keys[name].place for record in records if name in record.keys]
            one.seen = objects - sum(
                record.keys[name].missing.times if name in record.keys else record.seen.times
                for record in records
            )
            one.objects = objects
        count(one, *inner)


def _with_items(place: Place) -> Iterator[Place]:
    yield place
    if place.items is not None:
        yield from _with_items(place.items)


def _mark(found: Field | None, origin: str) -> None:
    if found is not None:
        found.origin = origin
        for one in found.fields.values():
            _mark(one, origin)


def _read(root: Mapping[str, Any]) -> Field:
    """Read a schema level by level, so that the upper levels are complete however large it is."""
    top = Field("", "any")
    left, waiting = _MAX_FIELDS, deque([(top, _resolved(root, root), 0)])
    while waiting:
        found, schema, depth = waiting.popleft()
        if not isinstance(schema, Mapping):
            continue
        for name, inner, is_required in _describe(found, schema, root):
            if name in found.fields:
                continue
            if depth >= _MAX_DEPTH or not left:
                found.cut = True
                break
            left -= 1
            found.fields[name] = Field(name, "any", required=is_required)
            waiting.append((found.fields[name], _resolved(inner, root), depth + 1))
    return top


def _describe(found: Field, schema: Mapping[str, Any], root: Any) -> Iterator[tuple[str, Any, bool]]:
    """Fill in what a schema says about a field, and yield the schemas of its inner fields."""
    options = [
        schema,
        *(_resolved(one, root) for key in ("anyOf", "oneOf", "allOf") for one in _list(schema, key)),
    ]
    options = [one for one in options if isinstance(one, Mapping)]
    types = dict.fromkeys(_types(one) for one in options)
    types.pop("", None)
    found.types = " | ".join(types) or "any"
    found.description = next((str(one["description"]) for one in options if one.get("description")), "")
    choices = [
        str(value)
        for one in options
        for value in (_list(one, "enum") or [one[key] for key in ("const",) if key in one])
    ]
    found.choices = tuple(choices[:_MAX_ENUM]) + (("…",) if len(choices) > _MAX_ENUM else ())
    inner = [one for option in options for one in (option, *_items(option, root)) if isinstance(one, Mapping)]
    required = {name for one in inner for name in _list(one, "required")}
    for one in inner:
        properties = one.get("properties")
        named = [*properties.items()] if isinstance(properties, Mapping) else []
        if isinstance(one.get("additionalProperties"), Mapping):
            named.append((ANY_KEY, one["additionalProperties"]))
        yield from ((str(key), value, key in required) for key, value in named)


def _items(schema: Mapping[str, Any], root: Any) -> list[Any]:
    """Return the schemas of an array's items: their fields are shown as those of the array."""
    found: list[Any] = []
    items = schema.get("items")
    while isinstance(items, Mapping) and len(found) < _MAX_DEPTH:
        resolved = _resolved(items, root)
        if not isinstance(resolved, Mapping):
            break
        found.append(resolved)
        found += [_resolved(one, root) for key in ("anyOf", "oneOf") for one in _list(resolved, key)]
        items = resolved.get("items")
    return found


def _types(schema: Mapping[str, Any]) -> str:
    given = schema.get("type")
    names = [str(one) for one in (given if isinstance(given, list) else [given]) if one is not None]
    names = [_array(schema) if one == "array" else one for one in names]
    text = " | ".join(names)
    return f"{text} ({schema['format']})" if text and schema.get("format") else text


def _array(schema: Mapping[str, Any]) -> str:
    items = schema.get("items")
    inner = _types(items) if isinstance(items, Mapping) else ""
    return f"[{inner or 'any'}]"


def _resolved(schema: Any, root: Any) -> Any:
    """Follow references within the schema, a few at most, since they may be circular."""
    for _ in range(5):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        found = root
        for step in reference[2:].split("/"):
            found = (
                found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
            )
        schema = found
    return schema


def _list(schema: Mapping[str, Any], key: str) -> list[Any]:
    found = schema.get(key)
    return found if isinstance(found, list) else []
