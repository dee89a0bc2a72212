"""Read a JSON Schema as a type: what a person, a model or a program wants to know of it.

A schema may be of any draft, refer to itself, or be written to harm. Reading follows references within the
document alone, stops at a depth and at a number of parts, and marks where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Field", "Type", "fields_of", "read_type"]

Kind = Literal[
    "string",
    "number",
    "integer",
    "boolean",
    "null",
    "object",
    "array",
    "any",
    "values",
    "union",
    "again",
    "cut",
]
"""`values` is an enum or const, `again` a type that contains itself, `cut` what was not read any further."""

_PLAIN: dict[str, Kind] = {
    "string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "null": "null",
    "object": "object", "array": "array",
}  # fmt: skip
_DEEPEST = 40
_MOST_PARTS = 3_000
_MOST_CHOICES = 100
_MOST_VALUES = 500
_INDEXES = frozenset(map(str, range(1000)))
LEFT_OUT = "… (cut)"
_OBJECT_KEYS = ("properties", "required", "additionalProperties", "patternProperties")


@dataclass(frozen=True, slots=True)
class Type:
    """What values look like."""

    kind: Kind
    fields: tuple[Field, ...] = ()
    extra: Type | None = None
    """The type of the values of any other key, where that says something."""
    closed: bool = False
    """No other keys may be there."""
    needed: tuple[str, ...] = ()
    """Keys that have to be there, and of which this part of the schema says no more."""
    items: Type | None = None
    members: tuple[Type, ...] = ()
    values: tuple[Any, ...] = ()
    format: str | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One key of an object."""

    name: str
    type: Type
    required: bool
    description: str = ""
    default: Any = None
    has_default: bool = False


ANY = Type("any")
CUT = Type("cut")


def read_type(schema: Any) -> Type:
    """Read a whole schema."""
    return _Reader(schema).read(schema, 0, ())


class _Reader:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._parts = 0

    def read(self, schema: Any, depth: int, through: tuple[int, ...]) -> Type:
        if not isinstance(schema, dict):
            return ANY
        if id(schema) in through:
            return Type("again", description=str(schema.get("title") or ""))
        self._parts += 1
        if depth > _DEEPEST or self._parts > _MOST_PARTS:
            return CUT
        found = self._read(schema, depth, (*through, id(schema)))
        description = schema.get("description")
        return (
            replace(found, description=description) if isinstance(description, str) and description else found
        )

    def _read(self, schema: Mapping[str, Any], depth: int, through: tuple[int, ...]) -> Type:
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = self._resolve(reference)
            return ANY if target is None else self.read(target, depth + 1, through)
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
                own = _both(own, _union(members))
        parts = schema.get("allOf")
        for part in parts[:_MOST_CHOICES] if isinstance(parts, list) else ():
            own = _both(own, self.read(part, depth + 1, through))
        if schema.get("nullable") is True:
            own = _union([own, Type("null")])
        return own

    def _own(self, schema: Mapping[str, Any], depth: int, through: tuple[int, ...]) -> Type:
        """Read what the schema says itself, apart from what it combines."""
        kind = schema.get("type")
        if isinstance(kind, list):
            said = [one for one in kind[:_MOST_CHOICES] if isinstance(one, str)]
            kinds = [_PLAIN[one] for one in dict.fromkeys(said) if one in _PLAIN]
            return _union([self._one(one, schema, depth, through) for one in kinds])
        if isinstance(kind, str) and kind in _PLAIN:
            return self._one(_PLAIN[kind], schema, depth, through)
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
        return Type(kind, format=form if isinstance(form, str) and kind == "string" else None)

    def _object(self, schema: Mapping[str, Any], depth: int, through: tuple[int, ...]) -> Type:
        listed = schema.get("required")
        named = listed[:_MOST_PARTS] if isinstance(listed, list) else []
        self._parts += len(named) // 10
        required = {name for name in named if isinstance(name, str)}
        properties = schema.get("properties")
        fields = []
        for name, inner in (properties if isinstance(properties, dict) else {}).items():
            if self._parts > _MOST_PARTS:
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
            extra += [self.read(one, depth + 1, through) for one in list(patterns.values())[:16]]
        return Type(
            "object",
            fields=tuple(fields),
            extra=_union(extra) if extra else None,
            closed=others is False and not patterns,
            needed=tuple(sorted(required - {field.name for field in fields})),
        )

    def _array(self, schema: Mapping[str, Any], depth: int, through: tuple[int, ...]) -> Type:
        first = schema.get("prefixItems")
        items = schema.get("items")
        # Before 2020-12 a list under `items` said what `prefixItems` says now.
        if isinstance(items, list):
            first, items = items, schema.get("additionalItems")
        inner = [
            self.read(one, depth + 1, through) for one in (first if isinstance(first, list) else [])[:16]
        ]
        if isinstance(items, dict):
            inner.append(self.read(items, depth + 1, through))
        return Type("array", items=_union(inner) if inner else None)

    def _resolve(self, reference: str) -> Any:
        """Follow a reference within the document; one to anywhere else is never followed."""
        if reference == "#":
            return self._root
        if not reference.startswith("#/"):
            return None
        part: Any = self._root
        for token in unquote(reference[2:]).split("/"):
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(part, dict):
                part = part.get(key)
            elif isinstance(part, list) and key in _INDEXES and int(key) < len(part):
                part = part[int(key)]
            else:
                return None
        return part


def _union(members: list[Type]) -> Type:
    """Join types; equal ones once, values with values, anything with `any` is `any`."""
    flat: list[Type] = []
    for member in members:
        for one in member.members if member.kind == "union" else (member,):
            plain = replace(one, description="")
            if plain not in flat:
                flat.append(plain)
    values = [value for one in flat if one.kind == "values" for value in one.values]
    if len([one for one in flat if one.kind == "values"]) > 1:
        flat = [Type("values", values=tuple(values)), *(one for one in flat if one.kind != "values")]
    if not flat or ANY in flat:
        return ANY
    return flat[0] if len(flat) == 1 else Type("union", members=tuple(flat))


def _both(one: Type, other: Type) -> Type:
    """Join what two parts of a schema say of the same value."""
    if one.kind == "any":
        return other
    if other.kind == "any" or one == other:
        return one
    if one.kind == other.kind == "object":
        names = {field.name for field in other.fields}
        needed = {field.name for field in (*one.fields, *other.fields) if field.required}
        needed |= {*one.needed, *other.needed}
        fields = [*(field for field in one.fields if field.name not in names), *other.fields]
        return Type(
            "object",
            fields=tuple(replace(field, required=field.name in needed) for field in fields),
            extra=other.extra or one.extra,
            closed=one.closed or other.closed,
            needed=tuple(sorted(needed - {field.name for field in fields})),
        )
    if other.kind == "union" and one.kind == "object":
        return _union([_both(one, member) if member.kind == "object" else member for member in other.members])
    # A plain kind beside a list of values or of narrower kinds: those say more.
    return other if other.kind in {"values", "union"} else one


def fields_of(kind: Type) -> tuple[Field, ...]:
    """Give the keys that an object may have; of several kinds of object, the keys of all of them."""
    if kind.kind != "union":
        return kind.fields
    objects = [member for member in kind.members if member.kind == "object"]
    found: dict[str, Field] = {}
    for member in objects:
        for field in member.fields:
            known = found.get(field.name)
            joined = field.type if known is None else _union([known.type, field.type])
            found[field.name] = replace(known or field, type=joined)
    always = [{field.name for field in member.fields if field.required} for member in objects]
    return tuple(
        replace(field, required=all(name in names for names in always)) for name, field in found.items()
    )
