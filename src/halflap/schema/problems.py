"""Validation errors as problems that a caller can act on: where, what was expected, what was received."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from halflap.core.errors import ArgumentProblem
from halflap.core.suggest import closest
from halflap.core.text import visible
from halflap.schema.objects import fields_of, object_types
from halflap.schema.read import is_draft7, read_type
from halflap.schema.text import compact, key, literal, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Error = jsonschema_rs.ValidationError

__all__ = ["ErrorExplainer", "describe_value"]

_MAX_TEXT = 300
_MAX_NAME = 100
_MAX_NAMED = 20
_MAX_KNOWN = 2_000
_MAX_PARTS = 200
"""Parts read of a type that is shown in one line."""
_MAX_SEARCHED = 100_000
"""Parts of a schema that are searched for the keys it names."""
_Kind = jsonschema_rs.ValidationErrorKind
_NO_CHOICE = (_Kind.AnyOf, _Kind.OneOfNotValid)
_WRONG_VALUE = (_Kind.Enum, _Kind.Constant)
_UNEXPECTED = (_Kind.AdditionalProperties, _Kind.UnevaluatedProperties)
_NAMING = ("properties", "dependentSchemas", "dependentRequired", "dependencies")


class ErrorExplainer:
    """Turns the library's errors about one value into problems.

    With `is_name`, problems hold for any value: `orders[].total`, with `[key]` for a key that the schema doesn't name,
    since that may be data, such as a person's name. A key that is not allowed is kept if `is_name` accepts it.
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
        names, instance = _walk(self._value, error.instance_path)
        # The library's own copy of the value has null for NaN.
        instance = error.instance if instance is None else instance
        if isinstance(kind, _Kind.BacktrackLimitExceeded | _Kind.RegexEngineFailure):
            # The pattern was too much work to decide; what cannot be decided is not wrong.
            return
        if isinstance(kind, _Kind.Required):
            yield self._missing(names, kind.property, [error])
        elif isinstance(kind, _UNEXPECTED):
            known, patterns = self._known_keys(error)
            for name in kind.unexpected:
                value = instance.get(name) if isinstance(instance, dict) else None
                expected = _no_such_key(name, known, patterns)
                where = self._path([*names, name], new=name)
                yield ArgumentProblem(where, expected, describe_value(value), "unknown")
        elif isinstance(kind, _Kind.PropertyNames):
            wrong = kind.error.instance
            expected = f"a key that is {self._expected(kind.error)}"[:_MAX_TEXT]
            yield ArgumentProblem(self._path([*names, str(wrong)]), expected, literal(wrong))
        elif isinstance(kind, _NO_CHOICE):
            yield from self._of_choices(error, kind.context, names, instance)
        else:
            yield ArgumentProblem(self._path(names), self._expected(error), describe_value(instance))

    def _of_choices(
        self, error: Error, branches: Sequence[list[Error]], names: list[str | int], instance: Any
    ) -> Iterator[ArgumentProblem]:
        """Report what is wrong in the alternative that was meant; if that is unclear, what all of them expect."""
        path = error.instance_path
        meant = [one for one in branches if one and not any(_has_wrong_type(each, path) for each in one)]
        # A key with another value than the only ones allowed tells that an alternative is not meant.
        tags = [_wrong_values(branch, path) for branch in meant]
        meant = [branch for branch, wrong in zip(meant, tags, strict=True) if not wrong] or meant
        common = set.intersection(*map(set, tags)) if len(tags) > 1 else set()
        if common:
            name = min(common)
            value = instance.get(name) if isinstance(instance, dict) else None
            expected = _one_of(one for wrong in tags for one in wrong[name])
            yield ArgumentProblem(self._path([*names, name]), expected, describe_value(value))
            return
        shared, rest = _common(meant)
        for alike in shared:
            if isinstance(alike[0].kind, _Kind.Required):
                yield self._missing(names, alike[0].kind.property, alike)
            else:
                yield from self.problems_of(alike[0])
        missing = [[key for one in each if (key := _missing_key(one, path))] for each in rest]
        if rest and all(len(one) == len(each) > 0 for one, each in zip(missing, rest, strict=True)):
            yield ArgumentProblem(self._path(names), _one_of_keys(missing), describe_value(instance))
        elif not shared:
            yield ArgumentProblem(self._path(names), self._expected(error), describe_value(instance))

    def _missing(self, names: list[str | int], name: str, errors: list[Error]) -> ArgumentProblem:
        """Describe a missing key, by the properties beside each `required`."""
        found = []
        for error in errors:
            part = _walk(self._schema, error.schema_path[:-1])[1]
            beside = part.get("properties") if isinstance(part, dict) else None
            if isinstance(beside, dict) and name in beside:
                read = read_type(beside[name], self._schema, old=self._old, max_parts=_MAX_PARTS)
                found.append(compact(read, _MAX_TEXT))
        expected = " or ".join(dict.fromkeys(found))[:_MAX_TEXT] or "a value"
        return ArgumentProblem(self._path([*names, name]), expected, "nothing", "missing")

    def _known_keys(self, error: Error) -> tuple[list[str], list[str]]:
        """Return the keys and the key patterns that the schema allows where an unexpected key was found."""
        part = _walk(self._schema, error.schema_path[:-1])[1]
        if not isinstance(part, dict):
            return [], []
        patterns, properties = part.get("patternProperties"), part.get("properties")
        if isinstance(error.kind, _Kind.UnevaluatedProperties):
            fields = fields_of(object_types(read_type(part, self._schema, old=self._old)))
            properties = {one.name: one for one in fields}
        return (
            list(islice(properties, _MAX_KNOWN)) if isinstance(properties, dict) else [],
            list(islice(patterns, _MAX_NAMED)) if isinstance(patterns, dict) else [],
        )

    @cached_property
    def _old(self) -> bool:
        return is_draft7(self._schema)

    @cached_property
    def _declared(self) -> frozenset[str]:
        return _declared_names(self._schema)

    def _path(self, steps: Sequence[str | int], new: str | None = None) -> str:
        """Write a path; the last step may be a new key."""
        if self._is_name is None:
            return path_of(steps)
        text = ""
        for at, step in enumerate(steps):
            is_new = at == len(steps) - 1 and new is not None and self._is_name(new)
            if isinstance(step, int):
                text += "[]"
            elif step in self._declared or is_new:
                written = path_of([step])
                text += written if not text or written.startswith("[") else f".{written}"
            else:
                text += "[key]"
        return text

    def _expected(self, error: Error) -> str:
        kind: Any = error.kind
        if isinstance(kind, _LIMITED):
            limit = visible(kind.value, _MAX_TEXT) if isinstance(kind.value, str) else literal(kind.value)
            return _LIMITS[type(kind)].format(limit)
        if isinstance(kind, _Kind.Type):
            # The library sorts the names; the schema's own order reads better.
            declared = _walk(self._schema, error.schema_path)[1]
            types = declared if isinstance(declared, list) else kind.types
            return " | ".join(sorted(map(str, types), key=lambda word: word == "null"))[:_MAX_TEXT]
        if isinstance(kind, _NO_CHOICE):
            first = [self._first(branch, error) for branch in kind.context if branch]
            return " or ".join(dict.fromkeys(first))[:_MAX_TEXT] or "another value"
        if isinstance(kind, _UNEXPECTED):
            named = "" if self._is_name else f" {', '.join(map(key, kind.unexpected[:3]))}"
            return f"no key{named}" if named else "no further keys"
        if type(kind) in _EXPECTATIONS:
            return _EXPECTATIONS[type(kind)](kind)
        return "another value" if self._is_name else f"another value ({visible(error.message, _MAX_TEXT)})"

    def _first(self, branch: list[Error], outer: Error) -> str:
        """Describe the first error of one alternative, and where it is, if that is further in."""
        path = outer.instance_path
        one = next((error for error in branch if _has_wrong_type(error, path)), branch[0])
        steps = _walk(self._value, one.instance_path)[0][len(path) :]
        within = self._path(steps)
        return f"{within}: {self._expected(one)}" if within else self._expected(one)


def _walk(value: Any, path: Sequence[str | int]) -> tuple[list[str | int], Any]:
    """Follow a path of the library's, which gives the key "1" as the number 1; the value is None if there is none."""
    names: list[str | int] = []
    for token in path:
        names.append(str(token) if isinstance(value, dict) else token)
        try:
            value = value[names[-1]]
        except (KeyError, IndexError, TypeError):
            value = None
    return names, value


def _declared_names(schema: Any) -> frozenset[str]:
    """Return every key that a schema names, anywhere in it."""
    names: set[str] = set()
    waiting, left = [schema], _MAX_SEARCHED
    while waiting and left:
        left -= 1
        part = waiting.pop()
        if isinstance(part, dict):
            named = [part[word] for word in _NAMING if isinstance(part.get(word), dict)]
            names.update(*named)
            lists = [part.get("required"), *(inner for one in named for inner in one.values())]
            names.update(
                name for one in lists if isinstance(one, list) for name in one if isinstance(name, str)
            )
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return frozenset(names)


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


def _wrong_values(branch: list[Error], path: list[str | int]) -> dict[str, list[Any]]:
    """Return the keys of an object that have another value than the only ones allowed, which are returned too."""
    found: dict[str, list[Any]] = {}
    for one in branch:
        if isinstance(one.kind, _WRONG_VALUE) and one.instance_path[:-1] == path and one.instance_path:
            allowed = [one.kind.expected_value] if isinstance(one.kind, _Kind.Constant) else one.kind.options
            found[str(one.instance_path[-1])] = list(allowed)
    return found


def _common(branches: Sequence[list[Error]]) -> tuple[list[list[Error]], list[list[Error]]]:
    """Separate the errors that every alternative has, each with its likes, from the others of each."""
    if len(branches) <= 1:
        return [[one] for branch in branches for one in branch], []
    everywhere = set.intersection(*({_identity(one) for one in branch} for branch in branches))
    alike: dict[Any, list[Error]] = {}
    for one in (one for branch in branches for one in branch if _identity(one) in everywhere):
        alike.setdefault(_identity(one), []).append(one)
    others = [[one for one in branch if _identity(one) not in everywhere] for branch in branches]
    return list(alike.values()), others


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


_EXPECTATIONS: dict[type[jsonschema_rs.ValidationErrorKind], Callable[[Any], str]] = {
    _Kind.Enum: lambda kind: _one_of(kind.options),
    _Kind.Constant: lambda kind: literal(kind.expected_value),
    _Kind.Required: lambda kind: f"the key {key(kind.property)}",
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
