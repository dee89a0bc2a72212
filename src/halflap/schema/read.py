"""The one reader from JSON Schema to types.

A schema may be of any draft, refer to itself, or be written to do harm. Reading follows references within the document
only and spends a budget of parts level by level: the top-level keys first, then what is in them. What does not fit is
marked as cut, which means that it may be anything.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.schema.refs import MISSING, References
from halflap.schema.types import ANY, CUT, NEVER, PLAIN, Bounds, Field, Type, incomplete, intersect, union

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.schema.types import Kind

__all__ = ["LEFT_OUT", "is_draft7", "read_type"]

_MAX_PARTS = 3_000
"""Keys and combined parts read of one schema. Doubling it shows about one more level of a very large API's objects, and
takes twice the time and memory for each of its tools."""
_MAX_NESTING = 40
"""Parts within parts. Doubling it reads deeper schemas, at the risk of running out of stack."""
_MAX_CHOICES = 100
_MAX_VALUES = 500
_MAX_PATTERN = 1_000
LEFT_OUT = "… (cut)"
"""Stands for the rest of a long list of values."""
_RELATIONS = "x-halflap"
"""The keyword of the contract kit under which a server says what a value identifies."""
_MAX_RELATION = 64
_OBJECT_KEYS = ("properties", "required", "additionalProperties", "patternProperties")
_REFERENCES = ("$ref", "$dynamicRef")
_ONLY_REFERS = frozenset({"$ref", "$defs", "definitions", "$schema", "$id", "$comment", "title"})
"""A part with no other keywords than these says nothing itself."""

_Path = tuple[int, ...]
"""The identities of the parts on the way to one, to recognise a part that contains itself."""


def read_type(schema: Any, root: Any = None, *, old: bool | None = None, max_parts: int = _MAX_PARTS) -> Type:
    """Read a schema, or a part of the schema given as root, breadth-first within a budget of parts."""
    root = schema if root is None else root
    references = References(root)
    old = is_draft7(root) if old is None else old

    def read_levels(deepest: int, spare: int) -> tuple[Type, _Reader]:
        reader = _Reader(references, max_parts, deepest, spare, old=old)
        return reader.read(schema, 0, (), cost=1), reader

    found, reader = read_levels(_MAX_NESTING, max_parts)
    if not reader.overflowed:
        return found
    # Find the levels that fit whole; what is left of the budget goes to the next one.
    spent = level = 0
    while level < _MAX_NESTING:
        found, reader = read_levels(level, max_parts)
        if reader.overflowed:
            break
        spent, level = reader.spent, level + 1
    return read_levels(level, max_parts - spent)[0]


def is_draft7(schema: Any) -> bool:
    """Return whether a schema declares draft-07 or earlier, where keywords beside `$ref` don't count."""
    declared = schema.get("$schema") if isinstance(schema, dict) else None
    return isinstance(declared, str) and "draft-0" in declared


class _Reader:
    """Reads down to one level; that level may take only the spare part of the budget.

    A level is one step into the value. Parts that describe the same value (`$ref`, `allOf`, `anyOf`) share its level.
    """

    def __init__(self, references: References, budget: int, deepest: int, spare: int, *, old: bool) -> None:
        self.spent = 0
        self.overflowed = False
        self._references = references
        self._budget = budget
        self._deepest = deepest
        self._spare = spare
        self._old = old
        self._recursive: dict[int, int] = {}
        """A number for each part that contains itself, by its identity."""

    def _spend(self, level: int, wanted: int) -> int:
        """Take from the budget, and return how much there was to take."""
        taken = min(wanted, self._budget - self.spent)
        if level == self._deepest:
            taken = min(taken, self._spare)
            self._spare -= taken
        self.spent += taken
        self.overflowed |= taken < wanted
        return taken

    def read(self, schema: Any, level: int, path: _Path, *, cost: int = 0) -> Type:
        """Read one part; a property's part costs nothing, since its key has been paid for."""
        if not isinstance(schema, dict):
            return NEVER if schema is False else ANY
        if id(schema) in path:
            number = self._recursive.setdefault(id(schema), len(self._recursive) + 1)
            return Type("recursive", recursive_kind=_kind_name(schema), recursion=number)
        if level > self._deepest or len(path) > _MAX_NESTING or self._spend(level, cost) < cost:
            return CUT
        found = self._read(schema, level, (*path, id(schema)))
        if id(schema) in self._recursive and not found.recursion:
            found = replace(found, recursion=self._recursive[id(schema)])
        found = _with_relations(found, schema.get(_RELATIONS))
        description = schema.get("description")
        return (
            replace(found, description=description) if isinstance(description, str) and description else found
        )

    def _read(self, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        for key in _REFERENCES:
            if isinstance(schema.get(key), str):
                target = self._target(schema[key], level, path)
                found = ANY if target is MISSING else self.read(target, level, path, cost=1)
                return found if self._old else self._both(found, self._own(schema, level, path), level)
        return self._own(schema, level, path)

    def _target(self, reference: str, level: int, path: _Path) -> Any:
        """Return what a reference leads to, through parts that only refer to the next."""
        visited = set(path)
        target = self._references.find(reference)
        while (
            isinstance(target, dict) and isinstance(target.get("$ref"), str) and target.keys() <= _ONLY_REFERS
        ):
            if id(target) in visited or not self._spend(level, 1):
                break
            visited.add(id(target))
            target = self._references.find(target["$ref"])
        return target

    def _own(self, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        """Read what the schema says apart from what it refers to."""
        if "const" in schema:
            return Type("values", values=(schema["const"],))
        values = schema.get("enum")
        if isinstance(values, list) and values:
            self._spend(level, min(len(values), _MAX_VALUES) // 10)
            rest = (LEFT_OUT,) if len(values) > _MAX_VALUES else ()
            null = (None,) if schema.get("nullable") is True and None not in values else ()
            return Type("values", values=(*values[:_MAX_VALUES], *rest, *null))
        found = self._plain(schema, level, path)
        for key in ("anyOf", "oneOf"):
            choices = schema.get(key)
            if isinstance(choices, list) and choices:
                members = [self.read(choice, level, path, cost=1) for choice in choices[:_MAX_CHOICES]]
                members += [CUT] if len(choices) > _MAX_CHOICES else []
                found = self._both(found, union(members), level)
        parts = schema.get("allOf")
        for part in parts[:_MAX_CHOICES] if isinstance(parts, list) else ():
            found = self._both(found, self.read(part, level, path, cost=1), level)
        if isinstance(parts, list) and len(parts) > _MAX_CHOICES:
            found = incomplete(found)
        return union([found, Type("null")]) if schema.get("nullable") is True else found

    def _both(self, one: Type, other: Type, level: int) -> Type:
        # Every key of one may meet every member of the other: work that no part of the schema has paid for.
        work = _keys(one) * max(1, len(other.members)) + _keys(other) * max(1, len(one.members))
        if self._spend(level, work // 10) < work // 10 and one.kind != "any":
            return incomplete(one)
        return intersect(one, other)

    def _plain(self, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        """Read what the schema says apart from what it combines."""
        kind = schema.get("type")
        if isinstance(kind, list):
            named = [one for one in kind[:_MAX_CHOICES] if isinstance(one, str)]
            kinds = [PLAIN[one] for one in dict.fromkeys(named) if one in PLAIN]
            return union([self._of_kind(one, schema, level, path) for one in kinds])
        if isinstance(kind, str) and kind in PLAIN:
            return self._of_kind(PLAIN[kind], schema, level, path)
        if any(key in schema for key in _OBJECT_KEYS):
            return self._object(schema, level, path)
        if "items" in schema or "prefixItems" in schema:
            return self._array(schema, level, path)
        return ANY

    def _of_kind(self, kind: Kind, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        if kind == "object":
            return self._object(schema, level, path)
        if kind == "array":
            return self._array(schema, level, path)
        if kind != "string":
            return Type(kind)
        form = schema.get("format")
        bounds = _bounds(schema, "minLength", "maxLength")
        return Type(kind, format=form if isinstance(form, str) else None, bounds=bounds)

    def _object(self, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        listed = schema.get("required")
        listed = listed[:_MAX_PARTS] if isinstance(listed, list) else []
        self._spend(level, len(listed) // 10)
        required = {name for name in listed if isinstance(name, str)}
        declared = schema.get("properties")
        properties = declared if isinstance(declared, dict) else {}
        count = self._spend(level, len(properties))
        fields = tuple(
            self._field(name, inner, level + 1, path, required=name in required)
            for name, inner in islice(properties.items(), count)
        )
        partial = count < len(properties)
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
            needed=tuple(sorted(required - {field.name for field in fields})),
        )

    def _field(self, name: str, schema: Any, level: int, path: _Path, *, required: bool) -> Field:
        kind = self.read(schema, level, path)
        settings = schema if isinstance(schema, dict) else {}
        return Field(name, kind, required, kind.description, settings.get("default"), "default" in settings)

    def _array(self, schema: Mapping[str, Any], level: int, path: _Path) -> Type:
        first = None if self._old else schema.get("prefixItems")
        items = schema.get("items")
        # Before 2020-12, a list under `items` meant what `prefixItems` means now.
        if isinstance(items, list):
            first, items = items, schema.get("additionalItems")
        parts = first[:16] if isinstance(first, list) else []
        parts += [items] if isinstance(items, dict) else []
        inner = [self.read(one, level + 1, path, cost=1) for one in parts]
        bounds = _bounds(schema, "minItems", "maxItems")
        return Type("array", items=union(inner) if inner else None, bounds=bounds)


def _kind_name(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    named = kind[: len(PLAIN)] if isinstance(kind, list) else [kind]
    words = [one for one in named if isinstance(one, str) and one in PLAIN]
    if words:
        return " | ".join(dict.fromkeys(words))
    if any(key in schema for key in _OBJECT_KEYS):
        return "object"
    return "array" if "items" in schema or "prefixItems" in schema else "any"


def _keys(kind: Type) -> int:
    return sum(len(member.fields) for member in (kind, *kind.members))


def _bounds(schema: Mapping[str, Any], least: str, most: str) -> Bounds | None:
    shortest, longest, pattern = schema.get(least), schema.get(most), schema.get("pattern")
    found = Bounds(
        shortest if type(shortest) is int and shortest > 0 else 0,
        longest if type(longest) is int and longest >= 0 else None,
        pattern if isinstance(pattern, str) and len(pattern) <= _MAX_PATTERN else "",
    )
    return None if found == Bounds() else found


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
