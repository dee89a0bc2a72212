"""The one reader from JSON Schema to types.

A schema may be of any draft, refer to itself, or be malicious. The reader follows references within the document only, and
spends a budget of parts level by level: the top-level keys first, then what is in them. What does not fit becomes `cut`,
which may be anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any
from urllib.parse import unquote

from halflap.schema.types import ANY, CUT, NEVER, PLAIN, Field, Kind, Type, incomplete, intersect, union

MAX_PARTS = 3_000
"""Keys and combined parts read of one schema. Doubling it shows about one more level of a very large API's objects, and
doubles the time and memory for each of its tools."""
_MAX_NESTING = 40
"""Parts within parts. Doubling it reads deeper schemas, at the risk of running out of stack."""
_MAX_CHOICES = 100
_MAX_VALUES = 500
LEFT_OUT = "… (cut)"
"""Replaces the rest of a long enum."""
_RELATIONS = "x-halflap"
"""The keyword of the contract kit under which a server says what a value identifies."""
_MAX_RELATION = 64
_OBJECT_KEYS = ("properties", "required", "additionalProperties", "patternProperties")
_REFERENCES = ("$ref", "$dynamicRef")

MISSING = object()
"""The target of a reference that points nowhere, or outside the document."""
_INDEXES = frozenset(map(str, range(1000)))

_Path = tuple[int, ...]
"""The identities of the parts around one, to recognise a part that contains itself."""


def read_type(schema: Any, root: Any = None, *, max_parts: int = MAX_PARTS) -> Type:
    """Read a schema, or a part of the schema given as root: as many levels as the budget of parts allows.

    If even the first level (a tool's parameters, or the keys of its result) exceeds the budget, its first keys are read.
    """
    references = References(schema if root is None else root)

    def read_levels(deepest: int) -> tuple[Type, bool]:
        reader = _Reader(references, max_parts, deepest)
        return reader.read(schema, 0, (), cost=1), reader.overflowed

    found, overflowed = read_levels(_MAX_NESTING)
    if not overflowed:
        return found
    found, overflowed = read_levels(1)
    for deepest in range(2, _MAX_NESTING):
        if overflowed:
            break
        deeper, overflowed = read_levels(deepest)
        found = found if overflowed else deeper
    return found


class References:
    """The parts of one schema that can be referred to, as `#/$defs/order`."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema

    def find(self, reference: Any) -> Any:
        """Return the part that a reference points to, or MISSING."""
        if reference == "#":
            return self._schema
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return MISSING
        part = self._schema
        for token in unquote(reference[2:]).split("/"):
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(part, dict) and key in part:
                part = part[key]
            elif isinstance(part, list) and key in _INDEXES and int(key) < len(part):
                part = part[int(key)]
            else:
                return MISSING
        return part


class _Reader:
    """Reads down to a level.

    A level is one step into the value. Parts that describe the same value (`$ref`, `allOf`, `anyOf`) share its level.
    """

    def __init__(self, references: References, budget: int, deepest: int) -> None:
        self.overflowed = False
        self._references = references
        self._left = budget
        self._deepest = deepest

    def _spend(self, wanted: int) -> int:
        """Take from the budget, and return how much was left to take."""
        taken = min(wanted, self._left)
        self._left -= taken
        self.overflowed |= taken < wanted
        return taken

    def read(self, schema: Any, level: int, path: _Path, *, cost: int = 0) -> Type:
        """Read one part. That of a property costs nothing, since its key was paid for."""
        if not isinstance(schema, dict):
            return NEVER if schema is False else ANY
        if id(schema) in path:
            return _unread(schema)
        if level > self._deepest or len(path) > _MAX_NESTING or self._spend(cost) < cost:
            return CUT
        found = _with_relations(self._read(schema, level, (*path, id(schema))), schema.get(_RELATIONS))
        description = _description(schema)
        is_described = not description or found.description == description
        return found if is_described else replace(found, description=description)

    def _read(self, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        for key in _REFERENCES:
            if isinstance(schema.get(key), str):
                target = self._references.find(schema[key])
                found = ANY if target is MISSING else self.read(target, level, path, cost=1)
                return self._both(found, self._own(schema, level, path))
        return self._own(schema, level, path)

    def _own(self, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        """Read what the schema says apart from what it refers to."""
        if "const" in schema:
            return Type("values", values=(schema["const"],))
        values = schema.get("enum")
        if isinstance(values, list) and values:
            self._spend(min(len(values), _MAX_VALUES) // 10)
            rest = (LEFT_OUT,) if len(values) > _MAX_VALUES else ()
            null = (None,) if schema.get("nullable") is True and None not in values else ()
            return Type("values", values=(*values[:_MAX_VALUES], *rest, *null))
        found = self._plain(schema, level, path)
        for key in ("anyOf", "oneOf"):
            choices = schema.get(key)
            if isinstance(choices, list) and choices:
                members = [self.read(choice, level, path, cost=1) for choice in choices[:_MAX_CHOICES]]
                members += [CUT] if len(choices) > _MAX_CHOICES else []
                found = self._both(found, union(members))
        parts = schema.get("allOf")
        for part in parts[:_MAX_CHOICES] if isinstance(parts, list) else ():
            found = self._both(found, self.read(part, level, path, cost=1))
        if isinstance(parts, list) and len(parts) > _MAX_CHOICES:
            found = incomplete(found)
        return union([found, Type("null")]) if schema.get("nullable") is True else found

    def _both(self, one: Type, other: Type) -> Type:
        # Every key of one may be merged with every member of the other, which no part of the schema has paid for.
        work = _keys(one) * max(1, len(other.members)) + _keys(other) * max(1, len(one.members))
        if self._spend(work // 10) < work // 10 and one.kind != "any":
            return incomplete(one)
        return intersect(one, other)

    def _plain(self, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        """Read what the schema says apart from what it combines."""
        declared = schema.get("type")
        named = declared[:_MAX_CHOICES] if isinstance(declared, list) else [declared]
        kinds = [PLAIN[kind] for kind in named if isinstance(kind, str) and kind in PLAIN]
        if not kinds:
            kinds += ["object"] if any(key in schema for key in _OBJECT_KEYS) else []
            kinds += ["array"] if not kinds and ("items" in schema or "prefixItems" in schema) else []
        found = [self._of_kind(kind, schema, level, path) for kind in dict.fromkeys(kinds)]
        return found[0] if len(found) == 1 else union(found)

    def _of_kind(self, kind: Kind, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        if kind == "object":
            return self._object(schema, level, path)
        if kind == "array":
            return self._array(schema, level, path)
        form = schema.get("format") if kind == "string" else None
        return Type(kind, format=form if isinstance(form, str) else None, description=_description(schema))

    def _object(self, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        declared, listed = schema.get("properties"), schema.get("required")
        names = listed[: self._left + 1] if isinstance(listed, list) else []
        required = dict.fromkeys((name for name in names if isinstance(name, str)), True)
        # A required key without a schema may be anything, as with the schema `true`.
        keys = {**(declared if isinstance(declared, dict) else {})}
        keys |= {name: anything for name, anything in required.items() if name not in keys}
        count = self._spend(len(keys))
        fields = tuple(
            self._field(name, inner, level + 1, path, required=name in required)
            for name, inner in islice(keys.items(), count)
        )
        partial = count < len(keys)
        others, patterns = schema.get("additionalProperties"), schema.get("patternProperties")
        extra = [self.read(others, level + 1, path, cost=1)] if isinstance(others, dict) else []
        if isinstance(patterns, dict):
            extra += [self.read(one, level + 1, path, cost=1) for one in islice(patterns.values(), 16)]
        return Type(
            "object",
            fields=fields,
            extra=union(extra) if extra else None,
            closed=others is False and not patterns and not partial,
            partial=partial,
        )

    def _field(self, name: str, schema: Any, level: int, path: _Path, *, required: bool) -> Field:
        kind = self.read(schema, level, path)
        settings = schema if isinstance(schema, dict) else {}
        return Field(name, kind, required, kind.description, settings.get("default"), "default" in settings)

    def _array(self, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        first = schema.get("prefixItems")
        items = schema.get("items")
        # Before 2020-12, a list under `items` meant what `prefixItems` means now.
        if isinstance(items, list):
            first, items = items, schema.get("additionalItems")
        parts = first[:16] if isinstance(first, list) else []
        parts += [items] if isinstance(items, dict) else []
        inner = [self.read(one, level + 1, path, cost=1) for one in parts]
        return Type("array", items=union(inner) if inner else None)


def _description(schema: Mapping[str, Any]) -> str:
    text = schema.get("description")
    return text if isinstance(text, str) else ""


def _unread(schema: Mapping[str, Any]) -> Type:
    """Return the type of a part that contains itself, for the place where it begins again."""
    kind = schema.get("type")
    if kind == "array":
        return Type("array")
    is_object = kind == "object" or (kind is None and any(key in schema for key in _OBJECT_KEYS))
    return Type("object", partial=True) if is_object else CUT


def _keys(kind: Type) -> int:
    return sum(len(member.fields) for member in (kind, *kind.members))


def _with_relations(kind: Type, declared: Any) -> Type:
    if not isinstance(declared, dict):
        return kind
    found = [(key, declared.get(key)) for key in ("produces", "consumes")]
    relations = tuple(
        (key, text) for key, text in found if isinstance(text, str) and 0 < len(text) <= _MAX_RELATION
    )
    if not relations:
        return kind
    members = tuple(replace(one, relations=relations) for one in kind.members)
    return replace(kind, relations=relations, members=members)
