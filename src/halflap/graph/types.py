"""Whether a value of one type can go where another is asked for; where it cannot, no evidence makes a link."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.learn.formats import MATCHERS
from halflap.schema import compile_schema, fields_of, object_types

if TYPE_CHECKING:
    from halflap.schema import Bounds, Type

__all__ = ["ANYTHING", "Form", "conflict", "form_of"]

_PLAIN = frozenset({"string", "number", "integer", "boolean"})
_ANYTHING = frozenset({"string", "number", "integer", "boolean", "object", "array"})
_SAME_FORMAT = {
    "iri": "uri", "url": "uri", "uri-reference": "uri", "iri-reference": "uri", "http-url": "uri", "idn-email": "email",
    "datetime": "date-time", "ip": "ipv4", "idn-hostname": "hostname", "guid": "uuid",
}  # fmt: skip
_DISJOINT = frozenset(
    {
        "date-time",
        "date-time-local",
        "date",
        "time",
        "time-local",
        "duration",
        "uuid",
        "email",
        "uri",
        "ipv4",
        "ipv6",
        "hostname",
    }
)
"""Formats of which no text has two; others may be names for much the same."""
_OF_FORMAT: dict[str, tuple[int, int | None]] = {"uuid": (32, 45), "date": (10, 10), "date-time": (17, None)}
"""How long texts of a format are: a UUID in all its spellings, from bare digits to a URN."""
_MOST_FIELDS = 60
_MOST_VALUES = 200
_DEEPEST = 3


class Form(NamedTuple):
    """What matters of a type here, small enough to be compared often."""

    kinds: frozenset[str]
    format: str | None = None
    values: frozenset[tuple[str, Any]] | None = None
    """All that it may be, where that is enumerated."""
    fields: tuple[tuple[str, bool, Form], ...] = ()
    """The keys of an object: name, whether it is required, what it is."""
    closed: bool = False
    is_map: bool = False
    """Whether it is an object whose keys are data."""
    bounds: Bounds | None = None
    """How long a text is, and what letters it has, where that is said."""

    @property
    def kind(self) -> str:
        """The one kind that it is; nothing where it may be several."""
        return next(iter(self.kinds)) if len(self.kinds) == 1 else ""


ANYTHING = Form(_ANYTHING)


def form_of(kind: Type, depth: int = 0) -> Form:
    """Give the form of a type; null is left out, since a value that is not there goes nowhere."""
    if kind.kind in _PLAIN:
        return _plain(kind.kind, kind.format, kind.bounds)
    return _form_of(kind, depth)


@lru_cache(maxsize=1 << 10)
def _plain(kind: str, form: str | None, bounds: Bounds | None) -> Form:
    said = None if form is None else _SAME_FORMAT.get(form.lower(), form.lower())
    return Form(frozenset({kind}), said, bounds=bounds)


def _form_of(kind: Type, depth: int) -> Form:
    parts = [one for one in (kind.members or (kind,)) if one.kind != "null"]
    kinds: set[str] = set()
    for part in parts:
        if part.kind == "values":
            kinds |= {_kind_of(value) for value in part.values} - {"null"}
        elif part.kind in {"any", "cut", "recursive", "union"}:
            kinds |= _ANYTHING
        elif part.kind != "never":
            kinds.add(part.kind)
    texts = [part for part in parts if part.kind == "string"]
    formats = {part.format for part in texts}
    listed = [part for part in parts if part.kind == "values"]
    values = None
    if listed and len(listed) == len(parts) and sum(len(one.values) for one in listed) <= _MOST_VALUES:
        values = frozenset(
            spelled
            for one in listed
            for spelled, value in zip(one.comparable_values, one.values, strict=True)
            if value is None or isinstance(value, str | int | float)
        ) - {("NoneType", None)}
    objects = object_types(kind) if depth < _DEEPEST else []
    fields = tuple(
        (field.name, field.required, form_of(field.type, depth + 1))
        for field in fields_of(objects)[:_MOST_FIELDS]
    )
    form = (
        next(iter(formats)) if len(formats) == 1 and "values" not in {part.kind for part in parts} else None
    )
    return Form(
        frozenset(kinds),
        None if form is None else _SAME_FORMAT.get(form.lower(), form.lower()),
        values,
        fields,
        bool(objects) and all(one.closed for one in objects),
        bool(objects) and not fields and any(one.extra is not None for one in objects),
        texts[0].bounds if len(texts) == 1 and not listed else None,
    )


@lru_cache(maxsize=1 << 15)
def conflict(given: Form, asked: Form) -> str:  # noqa: PLR0911 -- one for each reason
    """Say why no value of the one can go where the other is asked for; nothing if it can."""
    fitting = {
        kind for kind in given.kinds if kind in asked.kinds or (kind == "integer" and "number" in asked.kinds)
    }
    if not fitting:
        return f"{_list(given.kinds)} is no {_list(asked.kinds)}"
    if given.values is not None and asked.values is not None:
        return _choices(given.values, asked.values)
    if given.values is not None and asked.format in MATCHERS:
        texts = [value for name, value in given.values if name == "str"]
        return "" if _some_match(texts, asked.format) else f"none of its values is a {asked.format}"
    if asked.values is not None and given.format in MATCHERS:
        texts = [value for name, value in asked.values if name == "str"]
        return "" if _some_match(texts, given.format) else f"no {given.format} is accepted"
    formats = {given.format, asked.format}
    if fitting == {"string"} and len(formats) > 1 and formats <= _DISJOINT:
        return f"a {given.format} is no {asked.format}"
    if fitting == {"string"} == given.kinds:
        return _texts(given, asked)
    return _objects(given, asked) if fitting == {"object"} else ""


def _choices(given: frozenset[tuple[str, Any]], asked: frozenset[tuple[str, Any]]) -> str:
    """Say why one of a few values is not always one of others: a call that is refused now and then is no way."""
    refused = sorted(repr(value) for _, value in given - asked)
    if not refused:
        return ""
    if given.isdisjoint(asked):
        return "none of its values is accepted"
    return f"it may be {refused[0][:80]}, which is not accepted"


def _texts(given: Form, asked: Form) -> str:
    """Say why a text cannot be what is asked for, by its length and its letters, as far as those are known."""
    shortest, longest = _lengths(given)
    least, most = _lengths(asked)
    if most is not None and shortest > most:
        return f"it has at least {shortest} characters, and at most {most} are accepted"
    if longest is not None and longest < least:
        return f"it has at most {longest} characters, and at least {least} are needed"
    if given.values is None or asked.bounds is None or not asked.bounds.pattern:
        return ""
    # By a machine whose steps are bounded: the pattern is somebody else's.
    fits = compile_schema({"type": "string", "pattern": asked.bounds.pattern})
    if fits is None or any(not fits.problems(value) for name, value in given.values if name == "str"):
        return ""
    return "none of its values has the pattern that is asked for"


def _lengths(form: Form) -> tuple[int, int | None]:
    texts = [len(value) for name, value in form.values or () if name == "str"]
    if texts:
        return min(texts), max(texts)
    least, most = _OF_FORMAT.get(form.format or "", (0, None))
    if form.bounds is None:
        return least, most
    longest = [one for one in (most, form.bounds.longest) if one is not None]
    return max(least, form.bounds.shortest), min(longest, default=None)


def _objects(given: Form, asked: Form) -> str:
    if not given.fields:
        needed = any(required for _, required, _ in asked.fields)
        return "its keys are data, not fields" if given.is_map and needed else ""
    has = {name: form for name, _, form in given.fields}
    for name, required, form in asked.fields:
        if name not in has:
            if required:
                return f"it has no {name!r}"
            continue
        problem = conflict(has[name], form)
        if problem:
            return f"{name!r}: {problem}"
    if asked.closed and asked.fields:
        more = [name for name in has if name not in {known for known, _, _ in asked.fields}]
        if more:
            return f"{more[0]!r} is not accepted"
    return ""


def _some_match(texts: list[str], form: str | None) -> bool:
    fits = MATCHERS.get(form or "")
    return fits is None or any(fits(text) for text in texts)


def _kind_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if value is None:
        return "null"
    plain = {str: "string", int: "integer", float: "number", dict: "object", list: "array"}
    return next((name for kind, name in plain.items() if isinstance(value, kind)), "string")


def _list(kinds: frozenset[str]) -> str:
    return " or ".join(sorted(kinds)) or "nothing"
