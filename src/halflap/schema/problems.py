"""Turn validation errors into problems that a caller can act on: where, what was expected, what was received."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from halflap.core.errors import ArgumentProblem
from halflap.core.suggest import closest
from halflap.core.text import visible
from halflap.schema.read import read_type
from halflap.schema.text import compact, key, literal, path_of
from halflap.schema.types import fields_of, object_types

if TYPE_CHECKING:
    Error = jsonschema_rs.ValidationError

_MAX_TEXT = 300
_MAX_NAMED = 20
_MAX_PARTS = 200
"""Parts read of a type that is shown in one line."""
_ANY_KEY, _ANY_ITEM = "[key]", "[]"
_KEYS_OF_OBJECTS = frozenset({"additionalProperties", "patternProperties", "unevaluatedProperties"})
_ITEMS_OF_ARRAYS = frozenset({"items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"})
_Kind = jsonschema_rs.ValidationErrorKind
_NO_CHOICE = (_Kind.AnyOf, _Kind.OneOfNotValid)
_WRONG_VALUE = (_Kind.Enum, _Kind.Constant)
_UNEXPECTED = (_Kind.AdditionalProperties, _Kind.UnevaluatedProperties)


class ErrorExplainer:
    """Turns the library's errors about one value into problems.

    With `is_name`, problems contain no data of the value: a path is `orders[].total`, with `[key]` for a key that is not in
    the schema, since it may be a person's name. A forbidden key is shown if `is_name` accepts it.
    """

    def __init__(
        self, schema: Mapping[str, Any], value: Any, is_name: Callable[[str], bool] | None = None
    ) -> None:
        self._schema = schema
        self._value = value
        self._is_name = is_name

    def problems_of(self, error: Error) -> Iterator[ArgumentProblem]:
        """Yield the problems in one error; it may concern several keys."""
        kind = error.kind
        instance = error.instance
        if isinstance(kind, _Kind.BacktrackLimitExceeded | _Kind.RegexEngineFailure):
            # The pattern took too many steps, so the value may be right.
            return
        if isinstance(kind, _NO_CHOICE) and (meant := _meant(error, kind.context)) is not None:
            for one in meant:
                yield from self.problems_of(one)
        elif isinstance(kind, _Kind.Required):
            where = self._where(error, kind.property)
            yield ArgumentProblem(where, self._missing(error, kind.property), "nothing", "missing")
        elif isinstance(kind, _UNEXPECTED):
            known = [one for one in self._known_keys(error) if one not in kind.unexpected]
            for name in kind.unexpected:
                value = instance.get(name) if isinstance(instance, dict) else None
                shown = _ANY_KEY if self._is_name is not None and not self._is_name(name) else name
                where, expected = self._where(error, shown), _no_such_key(name, known)
                yield ArgumentProblem(where, expected, _describe(value), "unknown")
        else:
            yield ArgumentProblem(self._where(error), self._expected(error), _describe(instance))

    def _where(self, error: Error, key: str | None = None) -> str:
        """Write the path to an error, or to a key of the object that it concerns."""
        if self._is_name is None:
            steps = _walk(self._value, error.instance_path)[0]
            return path_of(steps if key is None else [*steps, key])
        text = ""
        for step in (*_declared_steps(error), *(() if key is None else (key,))):
            written = step if step in {_ANY_KEY, _ANY_ITEM} else path_of([step])
            text += written if not text or written.startswith("[") else f".{written}"
        return text

    def _missing(self, error: Error, name: str) -> str:
        """Describe a missing key, by the properties next to `required`."""
        part = _walk(self._schema, error.schema_path[:-1])[1]
        declared = part.get("properties") if isinstance(part, dict) else None
        if not isinstance(declared, dict) or name not in declared:
            return "a value"
        return compact(read_type(declared[name], self._schema, max_parts=_MAX_PARTS), _MAX_TEXT)

    def _known_keys(self, error: Error) -> list[str]:
        """Return the keys that the schema names where an unexpected one was found."""
        part = _walk(self._schema, error.schema_path[:-1])[1]
        read = read_type(part, self._schema)
        return [field.name for field in fields_of(object_types(read))]

    def _expected(self, error: Error) -> str:
        kind: Any = error.kind
        if type(kind) in _LIMITS:
            limit = visible(kind.value, _MAX_TEXT) if isinstance(kind.value, str) else literal(kind.value)
            return _LIMITS[type(kind)].format(limit)
        if type(kind) in _EXPECTATIONS:
            return _EXPECTATIONS[type(kind)](kind)
        if isinstance(kind, _NO_CHOICE):
            first = [self._first(branch, error) for branch in kind.context if branch]
            return " or ".join(dict.fromkeys(first))[:_MAX_TEXT] or "another value"
        if isinstance(kind, _UNEXPECTED):
            named = "" if self._is_name else f" {', '.join(map(key, kind.unexpected[:3]))}"
            return f"no key{named}" if named else "no further keys"
        if isinstance(kind, _Kind.PropertyNames):
            return f"keys that are {self._expected(kind.error)}"
        return "another value" if self._is_name else f"another value ({visible(error.message, _MAX_TEXT)})"

    def _first(self, branch: list[Error], outer: Error) -> str:
        """Describe the most telling error of one alternative, and where it is, if that is further in."""
        error = min(branch, key=lambda one: not isinstance(one.kind, _WRONG_VALUE))
        within = self._where(error).removeprefix(self._where(outer)).removeprefix(".")
        return f"{within}: {self._expected(error)}" if within else self._expected(error)


def _meant(error: Error, branches: Sequence[list[Error]]) -> list[Error] | None:
    """Return the errors of the alternative that was probably meant; None if that is unclear.

    An alternative that requires another type or another tag (`{"type": "image"}`) was not meant.
    """
    ranked = sorted((_misfit(error, branch), at) for at, branch in enumerate(branches) if branch)
    if not ranked or ranked[0][0][0] or (len(ranked) > 1 and ranked[0][0] == ranked[1][0]):
        return None
    return branches[ranked[0][1]]


def _misfit(outer: Error, branch: list[Error]) -> tuple[bool, int, int]:
    """Return how badly a value fits an alternative: another type or value, other tags, other errors."""
    path = outer.instance_path
    here = [one for one in branch if one.instance_path == path]
    is_other = any(isinstance(one.kind, (_Kind.Type, *_WRONG_VALUE)) for one in here)
    nested = [one for one in here if isinstance(one.kind, _NO_CHOICE)]
    is_other |= any(
        _meant(one, one.kind.context) is None for one in nested if isinstance(one.kind, _NO_CHOICE)
    )
    tags = sum(isinstance(one.kind, _WRONG_VALUE) and one.instance_path[:-1] == path for one in branch)
    return is_other, tags, len(branch)


def _walk(value: Any, path: Sequence[str | int]) -> tuple[list[str | int], Any]:
    """Follow a path from the library, where the key "1" is the number 1. Return the path and the value there, or None."""
    names: list[str | int] = []
    for token in path:
        names.append(str(token) if isinstance(value, dict) else token)
        try:
            value = value[names[-1]]
        except (KeyError, IndexError, TypeError):
            value = None
    return names, value


def _declared_steps(error: Error) -> Iterator[str]:
    """Yield the steps to an error in the schema's terms, without keys that only the value has."""
    path = error.evaluation_path
    words = iter(path if isinstance(error.kind, _Kind.FalseSchema) else path[:-1])
    for word in words:
        if word == "properties":
            yield str(next(words, ""))
        elif word in _KEYS_OF_OBJECTS:
            yield _ANY_KEY
        elif word in _ITEMS_OF_ARRAYS:
            yield _ANY_ITEM
        if word in {"patternProperties", "dependentSchemas", "dependencies"}:
            next(words, None)


def _one_of(values: Iterable[Any]) -> str:
    shown = list(dict.fromkeys(literal(value) for value in islice(values, 10 * _MAX_NAMED)))
    return f"one of {', '.join(shown[:_MAX_NAMED])}{', …' if len(shown) > _MAX_NAMED else ''}"


def _no_such_key(name: str, known: list[str]) -> str:
    meant = closest(name, known, limit=1)
    if meant:
        return f"no such key; did you mean '{visible(meant[0], _MAX_TEXT)}'?"
    shown = [key(one) for one in known[:_MAX_NAMED]] + (["…"] if len(known) > _MAX_NAMED else [])
    return f"no such key; there are: {', '.join(shown)}" if shown else "no such key"


def _types(kind: Any) -> str:
    return " | ".join(sorted(map(str, kind.types), key=lambda word: word == "null"))


_LIMITS: dict[type[jsonschema_rs.ValidationErrorKind], str] = {
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

_EXPECTATIONS: dict[type[jsonschema_rs.ValidationErrorKind], Callable[[Any], str]] = {
    _Kind.Type: _types,
    _Kind.Enum: lambda kind: _one_of(kind.options),
    _Kind.Constant: lambda kind: literal(kind.expected_value),
    _Kind.Required: lambda kind: f"the key {key(kind.property)}",
    _Kind.OneOfMultipleValid: lambda kind: (
        f"a value that matches exactly one choice, not {kind.context.count([])}"
    ),
    _Kind.FalseSchema: lambda _: "nothing here",
    _Kind.AdditionalItems: lambda _: "no further items",
    _Kind.UnevaluatedItems: lambda _: "no further items",
}


def _describe(value: Any) -> str:
    """Describe what was received: its size if it is an object or an array, else the value itself."""
    if isinstance(value, dict):
        return "an object with " + (", ".join(key(str(name)) for name in islice(value, 8)) or "no keys")
    if isinstance(value, list):
        return f"an array of {len(value)}"
    return literal(value)
