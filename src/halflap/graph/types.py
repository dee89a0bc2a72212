"""Whether a value of one type can fill a parameter of another; if not, no evidence makes a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from halflap.schema import Field, Type, fields_of, object_types

Conversion = Literal["str", "int"]
"""The Python function that converts a value."""

_PLAIN = frozenset({"string", "number", "integer", "boolean"})
_ANYTHING = _PLAIN | {"object", "array"}
_SAME_FORMAT = {
    "iri": "uri", "url": "uri", "uri-reference": "uri", "iri-reference": "uri", "http-url": "uri", "idn-email": "email",
    "datetime": "date-time", "ip": "ipv4", "idn-hostname": "hostname", "guid": "uuid",
}  # fmt: skip
_DISJOINT = frozenset(
    ("date-time", "date", "time", "duration", "uuid", "email", "uri", "ipv4", "ipv6", "hostname")
)
"""Formats that exclude each other; others may overlap."""
_MAX_VALUES = 200
_MAX_DEPTH = 3
"""Levels of a value that are compared with a type."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The part of a type that matters here, without null: a missing value is never passed on."""

    kinds: frozenset[str]
    format: str | None = None
    values: frozenset[tuple[str, Any]] | None = None
    """All possible values, if they are enumerated."""
    objects: tuple[Type, ...] = ()
    """The objects that it may be."""

    @property
    def is_boolean(self) -> bool:
        return self.kinds == {"boolean"}

    @property
    def is_number(self) -> bool:
        return self.kinds <= {"integer", "number"}


def form_of(kind: Type) -> Form:
    if kind.kind in _PLAIN:
        return _plain(kind.kind, kind.format)
    parts = [one for one in (kind.members or (kind,)) if one.kind != "null"]
    kinds: set[str] = set()
    for part in parts:
        if part.kind == "values":
            kinds |= {_kind_of(value) for value in part.values} - {"null"}
        elif part.kind in {"any", "cut", "recursive", "union"}:
            kinds |= _ANYTHING
        elif part.kind != "never":
            kinds.add(part.kind)
    listed = frozenset(one for part in parts if part.kind == "values" for one in part.comparable_values)
    is_listed = 0 < len(listed) <= _MAX_VALUES and all(part.kind == "values" for part in parts)
    formats = {part.format for part in parts if part.kind == "string"}
    return Form(
        frozenset(kinds),
        _usual(next(iter(formats))) if len(formats) == 1 and not listed else None,
        listed - {("NoneType", None)} if is_listed else None,
        tuple(object_types(kind)),
    )


@lru_cache(maxsize=1 << 10)
def _plain(kind: str, form: str | None) -> Form:
    return Form(frozenset({kind}), _usual(form))


@lru_cache(maxsize=1 << 12)
def _fields(form: Form) -> Mapping[str, tuple[bool, Form]]:
    """Return the keys of an object: whether each is required, and what it is."""
    return {one.name: (one.required, form_of(one.type)) for one in fields_of(form.objects)}


def _usual(form: str | None) -> str | None:
    return None if form is None else _SAME_FORMAT.get(form.lower(), form.lower())


def admits(kind: Type, value: Any) -> bool:
    """Return whether a value can be of a type; the items of arrays are not checked."""
    return not _conflict(form_of(_type_of(value)), form_of(kind))


def _type_of(value: Any, depth: int = 0) -> Type:
    if isinstance(value, dict):
        inner = value.items() if depth < _MAX_DEPTH else ()
        fields = tuple(Field(str(name), _type_of(one, depth + 1), required=True) for name, one in inner)
        return Type("object", fields=fields, extra=None if value else Type("never"))
    return Type("array") if isinstance(value, list) else Type("values", values=(value,))


def _conflict(given: Form, asked: Form) -> str:
    fitting = {
        kind for kind in given.kinds if kind in asked.kinds or (kind == "integer" and "number" in asked.kinds)
    }
    if not fitting:
        return f"{_list(given.kinds)} is no {_list(asked.kinds)}"
    if given.values is not None and asked.values is not None:
        # A call that is sometimes refused is useless.
        refused = sorted(repr(value) for _, value in given.values - asked.values)
        return f"it may be {refused[0][:80]}, which is not accepted" if refused else ""
    formats = {given.format, asked.format}
    if fitting == {"string"} and len(formats) > 1 and formats <= _DISJOINT:
        return f"a {given.format} is no {asked.format}"
    return _objects(given, asked) if fitting == {"object"} else ""


conflict = lru_cache(maxsize=1 << 15)(_conflict)
"""Return why no value of one type can fill the other; empty if it can."""


def conversion(given: Form, asked: Form) -> Conversion | None:
    """Return how an identifier of the wrong type is converted: many tools return numbers and take text, or vice versa."""
    if (
        given.kinds == {"integer"}
        and asked.kinds == {"string"}
        and asked.format is None
        and asked.values is None
    ):
        return "str"
    if given.kinds == {"string"} and asked.is_number and given.format is None and given.values is None:
        return "int"
    return None


def _objects(given: Form, asked: Form) -> str:
    has, takes = _fields(given), _fields(asked)
    if not has:
        is_map = any(one.extra is not None for one in given.objects)
        needed = any(required for required, _ in takes.values())
        return "its keys are data, not fields" if is_map and needed else ""
    for name, (required, form) in takes.items():
        problem = conflict(has[name][1], form) if name in has else "missing" if required else ""
        if problem:
            return f"{name!r}: {problem}"
    more = sorted(has.keys() - takes.keys()) if takes and all(one.closed for one in asked.objects) else []
    return f"{more[0]!r} is not accepted" if more else ""


def _kind_of(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, float) and value.is_integer():
        return "integer"
    plain = {str: "string", int: "integer", float: "number", dict: "object", list: "array"}
    return next((name for kind, name in plain.items() if isinstance(value, kind)), "string")


def _list(kinds: frozenset[str]) -> str:
    return " or ".join(sorted(kinds)) or "nothing"
