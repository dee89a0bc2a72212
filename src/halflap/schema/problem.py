"""Say what is wrong with a value: where, what was expected, what was received."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from rapidfuzz import fuzz, process

from halflap.errors import ArgumentProblem
from halflap.schema.clean import clean
from halflap.schema.types import read_type
from halflap.schema.write import compact, literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["problems_of"]

_ALIKE = 65
_LONGEST = 300
_LONGEST_NAME = 100
_MOST_NAMED = 20
_Kind = jsonschema_rs.ValidationErrorKind


def problems_of(error: jsonschema_rs.ValidationError, schema: Mapping[str, Any]) -> Iterator[ArgumentProblem]:
    """Put one error of the library into our words; it may be about several parameters."""
    kind, path = error.kind, _path(error.instance_path)
    if isinstance(kind, _Kind.BacktrackLimitExceeded):
        # The pattern was too much work to decide; what cannot be decided is not wrong.
        return
    if isinstance(kind, _Kind.Required):
        wanted = _properties_at(schema, error.schema_path[:-1]).get(kind.property)
        expected = "a value" if wanted is None else compact(read_type(wanted))
        yield ArgumentProblem(_path([*error.instance_path, kind.property]), expected, "nothing", "missing")
    elif isinstance(kind, _Kind.AdditionalProperties | _Kind.UnevaluatedProperties):
        known = list(islice(_properties_at(schema, error.schema_path[:-1]), 2_000))
        for name in kind.unexpected[:20]:
            value = error.instance.get(name) if isinstance(error.instance, dict) else None
            meant = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=_ALIKE)
            expected = (
                f"no such key; did you mean {clean(meant[0], _LONGEST_NAME)!r}?"
                if meant
                else _no_such_key(known)
            )
            yield ArgumentProblem(_path([*error.instance_path, name]), expected, received(value), "unknown")
    elif isinstance(kind, _Kind.AnyOf | _Kind.OneOfNotValid) and (chosen := _meant(error, kind.context)):
        for one in chosen:
            yield from problems_of(one, schema)
    else:
        yield ArgumentProblem(path, _expected(error), received(error.instance))


def _meant(
    error: jsonschema_rs.ValidationError, branches: list[list[jsonschema_rs.ValidationError]]
) -> list[jsonschema_rs.ValidationError] | None:
    """Find the one choice that a value is of the right kind for: what is wrong with it is wrong there."""
    fitting = [
        branch
        for branch in branches
        if not any(
            isinstance(one.kind, _Kind.Type | _Kind.Enum | _Kind.Constant)
            and one.instance_path == error.instance_path
            for one in branch
        )
    ]
    return fitting[0] if len(fitting) == 1 and fitting[0] else None


def _no_such_key(known: list[str]) -> str:
    if not known:
        return "no such key; there are none"
    shown = [clean(name, _LONGEST_NAME) for name in known[:_MOST_NAMED]]
    return f"no such key; there are: {', '.join(shown)}{', …' if len(known) > _MOST_NAMED else ''}"


def _expected(error: jsonschema_rs.ValidationError) -> str:
    kind = error.kind
    if isinstance(kind, _Kind.Type):
        return " | ".join(kind.types)
    if isinstance(kind, _Kind.Enum):
        return "one of " + ", ".join(literal(option) for option in kind.options[:20])
    if isinstance(kind, _Kind.Constant):
        return literal(kind.expected_value)
    if isinstance(kind, _Kind.AnyOf | _Kind.OneOfNotValid):
        first = [branch[0] for branch in kind.context if branch]
        return " or ".join(dict.fromkeys(_expected(one) for one in first))[:_LONGEST] or "another value"
    for known, words in _WORDS.items():
        if isinstance(kind, known):
            value = kind.value
            return words.format(literal(value) if not isinstance(value, str) else value)[:_LONGEST]
    return f"another value ({error.message[:_LONGEST]})"


_WORDS: dict[type[jsonschema_rs.ValidationErrorKind], str] = {
    _Kind.Minimum: "at least {}",
    _Kind.Maximum: "at most {}",
    _Kind.ExclusiveMinimum: "more than {}",
    _Kind.ExclusiveMaximum: "less than {}",
    _Kind.MultipleOf: "a multiple of {}",
    _Kind.MinLength: "at least {} characters",
    _Kind.MaxLength: "at most {} characters",
    _Kind.MinItems: "at least {} items",
    _Kind.MaxItems: "at most {} items",
    _Kind.MinProperties: "at least {} keys",
    _Kind.MaxProperties: "at most {} keys",
    _Kind.Pattern: "text that matches {}",
    _Kind.Format: "text in the format {}",
    _Kind.UniqueItems: "items that are all different",
}


def received(value: Any) -> str:
    """Say what was received: its kind and, if it is short, itself."""
    if isinstance(value, dict):
        return "an object with " + (
            ", ".join(clean(str(key), _LONGEST_NAME) for key in islice(value, 8)) or "no keys"
        )
    if isinstance(value, list):
        return f"an array of {len(value)}"
    return literal(value)


def _path(parts: list[str | int]) -> str:
    text = ""
    for part in parts:
        word = part if isinstance(part, int) else clean(part, _LONGEST_NAME)
        text += f"[{part}]" if isinstance(part, int) else f".{word}" if text else str(word)
    return text[:1_000]


def _properties_at(schema: Mapping[str, Any], path: list[str | int]) -> dict[str, Any]:
    """Find the properties beside the keyword that was broken."""
    part: Any = schema
    for token in path:
        if isinstance(part, dict):
            part = part.get(str(token))
        elif isinstance(part, list) and isinstance(token, int) and token < len(part):
            part = part[token]
        else:
            return {}
    properties = part.get("properties") if isinstance(part, dict) else None
    return properties if isinstance(properties, dict) else {}
