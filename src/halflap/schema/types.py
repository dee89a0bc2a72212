"""Read a JSON Schema as a type: what a person, a model or a program wants to know of it.

A schema may be of any draft, refer to itself, or be written to harm. Reading follows references within the
document alone, stops at a depth and at a number of parts, and marks where it stopped.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.schema.drafts import is_old
from halflap.schema.join import both, union, work_of_both
from halflap.schema.kinds import ANY, CUT, NEVER, PLAIN, Bounds, Field, Type
from halflap.schema.refer import MISSING, References

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.schema.kinds import Kind

__all__ = ["Field", "Type", "read_type"]

_DEEPEST = 40
_MOST_PARTS = 3_000
_MOST_CHOICES = 100
_MOST_VALUES = 500
_LONGEST_PATTERN = 1_000
LEFT_OUT = "… (cut)"
RELATIONS = "x-halflap"
"""The keyword of the contract for servers, under which a schema says of what a value is."""
_LONGEST_RELATION = 64
_OBJECT_KEYS = ("properties", "required", "additionalProperties", "patternProperties")
_REFERENCES = ("$ref", "$dynamicRef")
_BESIDE = frozenset({"$ref", "$defs", "definitions", "$schema", "$id", "$comment", "title"})
"""What a schema may have that says no more than where to read on."""


def read_type(schema: Any, root: Any = None, *, old: bool | None = None, most: int = _MOST_PARTS) -> Type:
    """Read a schema: a whole one, or a part of the one that is given as root; no more than so many parts."""
    root = schema if root is None else root
    return _Reader(root, most, old=is_old(root) if old is None else old).read(schema, 0, ())


class _Reader:
    def __init__(self, root: Any, most: int, *, old: bool) -> None:
        self._references = References(root)
        self._old = old
        self._most = most
        self._parts = 0
        self._again: dict[int, int] = {}
        """The parts that contain themselves, by identity, each with its number."""

    def read(self, schema: Any, depth: int, through: tuple[int, ...]) -> Type:
        if not isinstance(schema, dict):
            return NEVER if schema is False else ANY
        if id(schema) in through:
            mark = self._again.setdefault(id(schema), len(self._again) + 1)
            return Type("again", names=self._word(schema), mark=mark)
        self._parts += 1
        if depth > _DEEPEST or self._parts > self._most:
            return CUT
        found = self._read(schema, depth, (*through, id(schema)))
        if id(schema) in self._again and not found.mark:
            found = replace(found, mark=self._again[id(schema)])
        found = _related(found, schema.get(RELATIONS))
        description = schema.get("description")
        return (
            replace(found, description=description) if isinstance(description, str) and description else found
        )

    def _word(self, schema: Mapping[str, Any]) -> str:
        """Say in a word what a schema is that has been met again."""
        for _ in range(_DEEPEST):
            kind = schema.get("type")
            named = kind if isinstance(kind, list) else [kind]
            words = [one for one in named[: len(PLAIN)] if isinstance(one, str) and one in PLAIN]
            if words:
                return " | ".join(dict.fromkeys(words))
            if any(key in schema for key in _OBJECT_KEYS):
                return "object"
            if "items" in schema or "prefixItems" in schema:
                return "array"
            target = self._references.find(schema.get("$ref"))
            if not isinstance(target, dict):
                break
            schema = target
        return "any"

    def _read(self, schema: Mapping[str, Any], depth: int, through: tuple[int, ...]) -> Type:
        for key in _REFERENCES:
            if isinstance(schema.get(key), str):
                target = self._target(schema[key], through)
                found = ANY if target is MISSING else self.read(target, depth + 1, through)
                return found if self._old else self._both(found, self._said(schema, depth, through))
        return self._said(schema, depth, through)

    def _target(self, reference: str, through: tuple[int, ...]) -> Any:
        """Give what a reference leads to; a part that only refers on is no level of its own."""
        met = set(through)
        target = self._references.find(reference)
        while isinstance(target, dict) and isinstance(target.get("$ref"), str) and target.keys() <= _BESIDE:
            self._parts += 1
            if self._parts > self._most or id(target) in met:
                break
            met.add(id(target))
            target = self._references.find(target["$ref"])
        return target

    def _said(self, schema: Mapping[str, Any], depth: int, through: tuple[int, ...]) -> Type:
        """Read what the schema says, apart from what it refers to."""
        if "const" in schema:
            return Type("values", values=(schema["const"],))
        values = schema.get("enum")
        if isinstance(values, list) and values:
            self._parts += min(len(values), _MOST_VALUES) // 10
            rest = (LEFT_OUT,) if len(values) > _MOST_VALUES else ()
            null = (None,) if schema.get("nullable") is True and None not in values else ()
            return Type("values", values=(*values[:_MOST_VALUES], *rest, *null))
        own = self._own(schema, depth, through)
        for key in ("anyOf", "oneOf"):
            choices = schema.get(key)
            if isinstance(choices, list) and choices:
                members = [self.read(choice, depth + 1, through) for choice in choices[:_MOST_CHOICES]]
                members += [CUT] if len(choices) > _MOST_CHOICES else []
                own = self._both(own, union(members))
        parts = schema.get("allOf")
        for part in parts[:_MOST_CHOICES] if isinstance(parts, list) else ():
            own = self._both(own, self.read(part, depth + 1, through))
        if schema.get("nullable") is True:
            own = union([own, Type("null")])
        return own

    def _both(self, one: Type, other: Type) -> Type:
        # Joining is work that no part of the schema stands for: every key may meet every choice.
        self._parts += work_of_both(one, other) // 10
        return one if self._parts > self._most and one.kind != "any" else both(one, other)

    def _own(self, schema: Mapping[str, Any], depth: int, through: tuple[int, ...]) -> Type:
        """Read what the schema says itself, apart from what it combines."""
        kind = schema.get("type")
        if isinstance(kind, list):
            said = [one for one in kind[:_MOST_CHOICES] if isinstance(one, str)]
            kinds = [PLAIN[one] for one in dict.fromkeys(said) if one in PLAIN]
            return union([self._one(one, schema, depth, through) for one in kinds])
        if isinstance(kind, str) and kind in PLAIN:
            return self._one(PLAIN[kind], schema, depth, through)
        if any(key in schema for key in _OBJECT_KEYS):
            return self._one("object", schema, depth, through)
        if "items" in schema or "prefixItems" in schema:
            return self._one("array", schema, depth, through)
        return ANY

    def _one(self, kind: Kind, schema: Mapping[str, Any], depth: int, through: tuple[int, ...]) -> Type:
        if kind == "object":
            return self._object(schema, depth, through)
        if kind == "array":
            return self._array(schema, depth, through)
        form = schema.get("format")
        if kind != "string":
            return Type(kind)
        return Type(
            kind,
            format=form if isinstance(form, str) else None,
            bounds=_bounds(schema, "minLength", "maxLength"),
        )

    def _object(self, schema: Mapping[str, Any], depth: int, through: tuple[int, ...]) -> Type:
        listed = schema.get("required")
        named = listed[:_MOST_PARTS] if isinstance(listed, list) else []
        self._parts += len(named) // 10
        required = {name for name in named if isinstance(name, str)}
        properties = schema.get("properties")
        fields = []
        for name, inner in (properties if isinstance(properties, dict) else {}).items():
            if self._parts > self._most:
                fields.append(Field("…", CUT, required=False))
                break
            kind = self.read(inner, depth + 1, through)
            settings = inner if isinstance(inner, dict) else {}
            fields.append(
                Field(
                    name,
                    kind,
                    name in required,
                    kind.description,
                    settings.get("default"),
                    "default" in settings,
                )
            )
        others = schema.get("additionalProperties")
        patterns = schema.get("patternProperties")
        extra = [self.read(others, depth + 1, through)] if isinstance(others, dict) else []
        if isinstance(patterns, dict):
            extra += [self.read(one, depth + 1, through) for one in islice(patterns.values(), 16)]
        return Type(
            "object",
            fields=tuple(fields),
            extra=union(extra) if extra else None,
            closed=others is False and not patterns,
            needed=tuple(sorted(required - {field.name for field in fields})),
        )

    def _array(self, schema: Mapping[str, Any], depth: int, through: tuple[int, ...]) -> Type:
        first = None if self._old else schema.get("prefixItems")
        items = schema.get("items")
        # Before 2020-12 a list under `items` said what `prefixItems` says now.
        if isinstance(items, list):
            first, items = items, schema.get("additionalItems")
        inner = [
            self.read(one, depth + 1, through) for one in (first if isinstance(first, list) else [])[:16]
        ]
        if isinstance(items, dict):
            inner.append(self.read(items, depth + 1, through))
        return Type(
            "array", items=union(inner) if inner else None, bounds=_bounds(schema, "minItems", "maxItems")
        )


def _bounds(schema: Mapping[str, Any], least: str, most: str) -> Bounds | None:
    shortest, longest, pattern = schema.get(least), schema.get(most), schema.get("pattern")
    found = Bounds(
        shortest if type(shortest) is int and shortest > 0 else 0,
        longest if type(longest) is int and longest >= 0 else None,
        pattern if isinstance(pattern, str) and len(pattern) <= _LONGEST_PATTERN else "",
    )
    return None if found == Bounds() else found


def _related(kind: Type, said: Any) -> Type:
    """Note of what a value is said to be, at each of the types that it may have."""
    if not isinstance(said, dict):
        return kind
    found = [(key, said.get(key)) for key in ("produces", "consumes")]
    relations = tuple(
        (key, text) for key, text in found if isinstance(text, str) and 0 < len(text) <= _LONGEST_RELATION
    )
    if not relations:
        return kind
    members = tuple(replace(one, relations=relations) for one in kind.members)
    return replace(kind, relations=relations, members=members)
