"""Say what is wrong with a value: where, what was expected, what was received."""

from __future__ import annotations

import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from rapidfuzz import fuzz, process

from halflap.errors import ArgumentProblem
from halflap.schema.clean import visible
from halflap.schema.types import read_type
from halflap.schema.write import compact, key, literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["path_of", "problems_of", "unsendable"]

_ALIKE = 65
_LONGEST = 300
_LONGEST_NAME = 100
_LONGEST_PATH = 1_000
_MOST_NAMED = 20
_WORD = re.compile(r"[\w$@-]+")
_Kind = jsonschema_rs.ValidationErrorKind


def problems_of(
    error: jsonschema_rs.ValidationError, schema: Mapping[str, Any], whole: Any
) -> Iterator[ArgumentProblem]:
    """Put one error of the library into our words; it may be about several parameters."""
    kind = error.kind
    names, instance = _found(error, whole)
    if isinstance(kind, _Kind.BacktrackLimitExceeded):
        # The pattern was too much work to decide; what cannot be decided is not wrong.
        return
    if isinstance(kind, _Kind.Required):
        wanted = _properties_at(schema, error.schema_path[:-1]).get(kind.property)
        expected = "a value" if wanted is None else compact(read_type(wanted, schema))[:_LONGEST]
        name = path_of([*names, kind.property])
        yield ArgumentProblem(name, expected, "nothing", "missing")
    elif isinstance(kind, _Kind.AdditionalProperties | _Kind.UnevaluatedProperties):
        known = list(islice(_properties_at(schema, error.schema_path[:-1]), 2_000))
        for name in kind.unexpected[:20]:
            value = instance.get(name) if isinstance(instance, dict) else None
            yield ArgumentProblem(
                path_of([*names, name]), _no_such_key(name, known), received(value), "unknown"
            )
    elif isinstance(kind, _Kind.AnyOf | _Kind.OneOfNotValid) and (chosen := _meant(error, kind.context)):
        for one in chosen:
            yield from problems_of(one, schema, whole)
    else:
        yield ArgumentProblem(path_of(names), _expected(error), received(instance))


def unsendable(value: Any) -> Iterator[ArgumentProblem]:
    """Find the numbers that JSON does not have: whatever a schema says of them, they cannot be sent."""
    path: list[str | int] = []
    within: list[Iterator[tuple[Any, Any]]] = [iter([("", value)])]
    while within:
        name, part = next(within[-1], (None, None))
        if name is None:
            within.pop()
            continue
        path[len(within) - 1 :] = [name]
        if isinstance(part, float) and not math.isfinite(part):
            yield ArgumentProblem(path_of(path[1:]), "a number", f"{received(part)}, which is not JSON")
        elif isinstance(part, dict):
            within.append((str(key), inner) for key, inner in part.items())
        elif isinstance(part, list | tuple):
            within.append(iter(enumerate(part)))


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


def _no_such_key(name: str, known: list[str]) -> str:
    if not known:
        return "no such key; there are none"
    for one in known:
        if name == visible(one, _LONGEST_NAME) != one:
            return f"no such key; write the letter itself where {literal(one)} has its number"
    meant = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=_ALIKE)
    if meant:
        return f"no such key; did you mean '{visible(meant[0], _LONGEST_NAME)}'?"
    shown = [key(one) for one in known[:_MOST_NAMED]]
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
            return words.format(visible(value, _LONGEST) if isinstance(value, str) else literal(value))
    return f"another value ({visible(error.message, _LONGEST)})"


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
        return "an object with " + (", ".join(key(str(name)) for name in islice(value, 8)) or "no keys")
    if isinstance(value, list):
        return f"an array of {len(value)}"
    return literal(value)


def path_of(parts: Sequence[str | int]) -> str:
    """Write where in a value something is: `orders[2].total`, `a["1"]`, which is a key and not a place."""
    text = ""
    for part in parts[:_LONGEST_PATH]:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _WORD.fullmatch(part) and not part.isdigit() and len(part) <= _LONGEST_NAME:
            shown = visible(part, _LONGEST_NAME)
            text += shown if not text else f".{shown}"
        else:
            text += f"[{literal(part)}]"
    return text[:_LONGEST_PATH]


def _found(error: jsonschema_rs.ValidationError, whole: Any) -> tuple[list[str | int], Any]:
    """Find what an error is about in the value itself: the library takes NaN, which JSON has not, for null."""
    names, value = _walk(whole, error.instance_path)
    while isinstance(value, dict) and "" in value and value != error.instance:
        names, value = [*names, ""], value[""]
    return names, value if value is not None else error.instance


def _walk(value: Any, path: Sequence[str | int]) -> tuple[list[str | int], Any]:
    """Follow a path of the library's: it gives the key "1" as the number 1, and leaves out an empty key."""
    names: list[str | int] = []
    for token in path:
        name = _name(value, token)
        while name is None and isinstance(value, dict) and "" in value:
            names.append("")
            value = value[""]
            name = _name(value, token)
        names.append(token if name is None else name)
        value = None if name is None else value[name]
    return names, value


def _name(value: Any, token: str | int) -> str | int | None:
    if isinstance(value, list | tuple):
        return token if isinstance(token, int) and token < len(value) else None
    if not isinstance(value, dict) or str(token) in value:
        return str(token) if isinstance(value, dict) else None
    # It reads "01" as a number too.
    return next((key for key in value if key.isdecimal() and int(key[:9]) == token), None)


def _properties_at(schema: Mapping[str, Any], path: list[str | int]) -> dict[str, Any]:
    """Find the properties beside the keyword that was broken."""
    part = _walk(schema, path)[1]
    properties = part.get("properties") if isinstance(part, dict) else None
    return properties if isinstance(properties, dict) else {}
