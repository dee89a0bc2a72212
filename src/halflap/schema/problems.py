"""Validation errors as problems that a caller can act on: where, what was expected, what was received."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from halflap.core.errors import ArgumentProblem
from halflap.core.suggest import closest
from halflap.core.text import visible
from halflap.schema.objects import fields_of, object_types
from halflap.schema.paths import declared_names, find, follow, general_path, same_value, walk
from halflap.schema.read import is_draft7, read_type
from halflap.schema.refs import References
from halflap.schema.text import compact, key, literal, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from halflap.schema.types import Type

    Error = jsonschema_rs.ValidationError

__all__ = ["ErrorExplainer", "describe_value"]

_MAX_TEXT = 300
_MAX_NAME = 100
_MAX_NAMED = 20
_MAX_KNOWN = 2_000
_MAX_PARTS = 200
"""Parts read of a type that is shown in one line."""
_Kind = jsonschema_rs.ValidationErrorKind
_NO_CHOICE = (_Kind.AnyOf, _Kind.OneOfNotValid)
_WRONG_VALUE = (_Kind.Enum, _Kind.Constant)
_UNEXPECTED = (_Kind.AdditionalProperties, _Kind.UnevaluatedProperties)


class ErrorExplainer:
    """Turns the library's errors about one value into problems.

    Without data, an expectation names no key of the value that the schema doesn't.
    """

    def __init__(self, schema: Mapping[str, Any], value: Any, *, without_data: bool = False) -> None:
        self._schema = schema
        self._value = value
        self._without_data = without_data
        self._references = References(schema)
        self._fields: dict[int, dict[str, Type]] = {}

    def problems_of(self, error: Error) -> Iterator[ArgumentProblem]:
        """Yield the problems in one error; it may concern several keys."""
        kind = error.kind
        names, instance = find(error, self._value)
        if isinstance(kind, _Kind.BacktrackLimitExceeded | _Kind.RegexEngineFailure):
            # The pattern was too much work to decide; what cannot be decided is not wrong.
            return
        if isinstance(kind, _Kind.Required):
            expected = self._expected_at(error, kind.property)
            yield ArgumentProblem(path_of([*names, kind.property]), expected, "nothing", "missing")
        elif isinstance(kind, _UNEXPECTED):
            known, patterns = self._known_keys(error)
            for name in kind.unexpected:
                value = instance.get(name) if isinstance(instance, dict) else None
                expected = _no_such_key(name, known, patterns)
                yield ArgumentProblem(path_of([*names, name]), expected, describe_value(value), "unknown")
        elif isinstance(kind, _Kind.PropertyNames):
            wrong = kind.error.instance
            expected = f"a key that is {self._expected(kind.error)}"[:_MAX_TEXT]
            yield ArgumentProblem(path_of([*names, str(wrong)]), expected, literal(wrong))
        elif isinstance(kind, _NO_CHOICE):
            yield from self._of_choices(error, kind.context, names, instance)
        else:
            yield ArgumentProblem(path_of(names), self._expected(error), describe_value(instance))

    def _of_choices(
        self, error: Error, branches: Sequence[list[Error]], names: list[str | int], instance: Any
    ) -> Iterator[ArgumentProblem]:
        """Report what is wrong in the alternative that was meant; if that is unclear, what all of them expect."""
        path = error.instance_path
        meant = {
            at: branch
            for at, branch in enumerate(branches)
            if branch and not any(_has_wrong_type(one, path) for one in branch)
        }
        tags = (
            {at: self._tags(error, at) for at in meant}
            if len(meant) > 1 and isinstance(instance, dict)
            else {}
        )
        for name in dict.fromkeys(chain.from_iterable(tags.values())):
            tagged = [at for at in meant if name in tags[at]]
            wrong = [at for at in tagged if _refuses(meant[at], path, name)]
            if len(wrong) < len(tagged):
                meant = {at: branch for at, branch in meant.items() if at not in wrong}
            elif len(tagged) == len(meant) > 1:
                where = path_of([*names, name])
                expected = _one_of(value for at in tagged for value in tags[at][name])
                if name in instance:
                    yield ArgumentProblem(where, expected, describe_value(instance[name]))
                else:
                    yield ArgumentProblem(where, expected, "nothing", "missing")
                return
        common, rest = _common(list(meant.values()))
        for one in common:
            yield from self.problems_of(one)
        missing = [[key for one in each if (key := _missing_key(one, path))] for each in rest]
        if rest and all(len(one) == len(each) > 0 for one, each in zip(missing, rest, strict=True)):
            yield ArgumentProblem(path_of(names), _one_of_keys(missing), describe_value(instance))
        elif not common:
            yield ArgumentProblem(path_of(names), self._expected(error), describe_value(instance))

    def _tags(self, error: Error, at: int) -> dict[str, tuple[Any, ...]]:
        """Return the keys that have only certain values in an alternative, by which it can be recognised."""
        fields = self._fields_of(follow(self._schema, [*error.evaluation_path, at], self._references))
        return {name: kind.values for name, kind in fields.items() if kind.kind == "values"}

    def _expected_at(self, error: Error, name: str) -> str:
        """Describe what a missing key should hold, by the properties beside `required` or around it."""
        part = walk(self._schema, error.schema_path[:-1])[1]
        beside = part.get("properties") if isinstance(part, dict) else None
        if isinstance(beside, dict) and name in beside:
            return self._compact(beside[name])
        path = error.evaluation_path
        around = follow(self._schema, path[: same_value(path)], self._references)
        wanted = self._fields_of(around).get(name)
        return "a value" if wanted is None or wanted.kind == "any" else compact(wanted, _MAX_TEXT)[:_MAX_TEXT]

    def _known_keys(self, error: Error) -> tuple[list[str], list[str]]:
        """Return the keys and the key patterns that the schema allows where an unexpected key was found."""
        part = walk(self._schema, error.schema_path[:-1])[1]
        if not isinstance(part, dict):
            return [], []
        patterns, properties = part.get("patternProperties"), part.get("properties")
        if isinstance(error.kind, _Kind.UnevaluatedProperties):
            properties = self._fields_of(part)
        return (
            list(islice(properties, _MAX_KNOWN)) if isinstance(properties, dict) else [],
            list(islice(patterns, _MAX_NAMED)) if isinstance(patterns, dict) else [],
        )

    def _fields_of(self, part: Any) -> dict[str, Type]:
        if id(part) not in self._fields:
            read = read_type(part, self._schema, old=self._old)
            self._fields[id(part)] = {one.name: one.type for one in fields_of(object_types(read))}
        return self._fields[id(part)]

    @cached_property
    def _old(self) -> bool:
        return is_draft7(self._schema)

    @cached_property
    def _declared(self) -> frozenset[str]:
        return declared_names(self._schema)

    def _compact(self, part: Any) -> str:
        read = read_type(part, self._schema, old=self._old, max_parts=_MAX_PARTS)
        return compact(read, _MAX_TEXT)[:_MAX_TEXT]

    def _expected(self, error: Error) -> str:
        kind: Any = error.kind
        if isinstance(kind, _LIMITED):
            limit = visible(kind.value, _MAX_TEXT) if isinstance(kind.value, str) else literal(kind.value)
            return _LIMITS[type(kind)].format(limit)
        if isinstance(kind, _Kind.Type):
            # The library sorts the names; the schema's own order reads better.
            declared = walk(self._schema, error.schema_path)[1]
            types = declared if isinstance(declared, list) else kind.types
            return " | ".join(sorted(map(str, types), key=lambda word: word == "null"))[:_MAX_TEXT]
        if isinstance(kind, _NO_CHOICE):
            first = [self._first(branch, error) for branch in kind.context if branch]
            return " or ".join(dict.fromkeys(first))[:_MAX_TEXT] or "another value"
        if type(kind) in _EXPECTATIONS and not (self._without_data and isinstance(kind, _UNEXPECTED)):
            return _EXPECTATIONS[type(kind)](kind)
        if self._without_data:
            return "no further keys" if isinstance(kind, _UNEXPECTED) else "another value"
        return f"another value ({visible(error.message, _MAX_TEXT)})"

    def _first(self, branch: list[Error], outer: Error) -> str:
        """Describe the first error of one alternative, and where it is, if that is further in."""
        path = outer.instance_path
        one = next((error for error in branch if _has_wrong_type(error, path)), branch[0])
        within = path_of(one.instance_path[len(path) :])
        if self._without_data:
            within = general_path(within, self._declared)
        return f"{within}: {self._expected(one)}" if within else self._expected(one)


def _has_wrong_type(error: Error, path: list[str | int]) -> bool:
    """Return whether the error is that the value at this path has another type or value altogether."""
    if error.instance_path != path:
        return False
    if isinstance(error.kind, _NO_CHOICE):
        return all(any(_has_wrong_type(one, path) for one in branch) for branch in error.kind.context)
    return isinstance(error.kind, (_Kind.Type, *_WRONG_VALUE))


def _missing_key(error: Error, path: list[str | int]) -> str | None:
    if isinstance(error.kind, _Kind.Required) and error.instance_path == path:
        return error.kind.property
    return None


def _refuses(branch: list[Error], path: list[str | int], name: str) -> bool:
    """Return whether an alternative is not meant because a key is missing or has another value."""
    place = [*map(str, path), name]
    return any(
        _missing_key(one, path) == name
        or (isinstance(one.kind, _WRONG_VALUE) and [*map(str, one.instance_path)] == place)
        for one in branch
    )


def _common(branches: Sequence[list[Error]]) -> tuple[list[Error], list[list[Error]]]:
    """Separate the errors of every alternative from those of some."""
    if len(branches) <= 1:
        return branches[0] if branches else [], []
    everywhere = set.intersection(*({_identity(one) for one in branch} for branch in branches))
    common = [one for one in branches[0] if _identity(one) in everywhere]
    return common, [[one for one in branch if _identity(one) not in everywhere] for branch in branches]


def _identity(error: Error) -> tuple[Any, ...]:
    nested = id(error) if isinstance(error.kind, _NO_CHOICE) else 0
    return (tuple(error.instance_path), type(error.kind).__name__, error.message, nested)


def _one_of_keys(groups: Iterable[Iterable[Any]]) -> str:
    named = list(dict.fromkeys(" and ".join(key(str(name)) for name in group) for group in groups))
    return f"one of the keys {', '.join(named[:_MAX_NAMED])}"[:_MAX_TEXT]


def _one_of(values: Iterable[Any]) -> str:
    shown = _unique(islice(values, 10 * _MAX_NAMED))
    return f"one of {', '.join(shown[:_MAX_NAMED])}{', …' if len(shown) > _MAX_NAMED else ''}"


def _unique(values: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(literal(value) for value in values))


def _no_such_key(name: str, known: list[str], patterns: list[str]) -> str:
    matching = "what matches " + " or ".join(visible(one, _MAX_NAME) for one in patterns[:3])
    if not known:
        return f"no such key; there is {matching}" if patterns else "no such key; there are none"
    for one in known:
        if name == visible(one, _MAX_NAME) != one:
            return f"no such key; write the letter itself where {literal(one)} has its number"
    meant = closest(name, known, limit=1)
    if meant:
        return f"no such key; did you mean '{visible(meant[0], _MAX_NAME)}'?"
    shown = [key(one) for one in known[:_MAX_NAMED]]
    more = [*(["…"] if len(known) > _MAX_NAMED else []), *([matching] if patterns else [])]
    return f"no such key; there are: {', '.join([*shown, *more])}"


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
_LIMITED = tuple(_LIMITS)


def _no_keys(kind: Any) -> str:
    return f"no key {', '.join(map(key, kind.unexpected[:3]))}"


_EXPECTATIONS: dict[type[jsonschema_rs.ValidationErrorKind], Callable[[Any], str]] = {
    _Kind.Enum: lambda kind: _one_of(kind.options),
    _Kind.Constant: lambda kind: literal(kind.expected_value),
    _Kind.Required: lambda kind: f"the key {key(kind.property)}",
    _Kind.AdditionalProperties: _no_keys,
    _Kind.UnevaluatedProperties: _no_keys,
    _Kind.OneOfMultipleValid: lambda kind: (
        f"what fits one choice alone, not {kind.context.count([])} of them"
    ),
    _Kind.FalseSchema: lambda _: "nothing here",
    _Kind.AdditionalItems: lambda _: "no further items",
    _Kind.UnevaluatedItems: lambda _: "no further items",
}


def describe_value(value: Any) -> str:
    """Describe what was received: its size if it is an object or an array, else the value itself."""
    if isinstance(value, dict):
        return "an object with " + (", ".join(key(str(name)) for name in islice(value, 8)) or "no keys")
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{literal(value)}, which is not JSON"
    return literal(value)
