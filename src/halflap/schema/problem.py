"""Say what is wrong with a value: where, what was expected, what was received."""

from __future__ import annotations

import math
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from rapidfuzz import fuzz, process

from halflap.core.errors import ArgumentProblem
from halflap.core.text import visible
from halflap.schema.choice import Choices, is_of_choices, misfits, tags_of
from halflap.schema.drafts import is_old
from halflap.schema.fields import choices_of, fields_of
from halflap.schema.general import declared_names, general_path
from halflap.schema.place import find, follow, path_of, same_value, walk
from halflap.schema.refer import References
from halflap.schema.types import read_type
from halflap.schema.write import compact, key, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from halflap.schema.kinds import Type

    Error = jsonschema_rs.ValidationError
    Names = list[str | int]

__all__ = ["Teller", "received"]

_ALIKE = 65
_LONGEST = 300
_LONGEST_NAME = 100
_MOST_NAMED = 20
_MOST_KNOWN = 2_000
_MOST_PARTS = 200
"""Of a type that is told in a line, no more is read."""
_Kind = jsonschema_rs.ValidationErrorKind


class Teller:
    """Puts the library's errors about one value into our words."""

    def __init__(self, schema: Mapping[str, Any], whole: Any, *, without_data: bool = False) -> None:
        self._schema = schema
        self._whole = whole
        self._without_data = without_data
        """What is expected is said without any key of the value that the schema does not name."""
        self._references = References(schema)
        self._fields: dict[int, dict[str, Type]] = {}

    def problems_of(self, error: Error) -> Iterator[ArgumentProblem]:
        """Put one error into our words; it may be about several parameters."""
        kind = error.kind
        names, instance = find(error, self._whole)
        if isinstance(kind, _Kind.BacktrackLimitExceeded | _Kind.RegexEngineFailure):
            # The pattern was too much work to decide; what cannot be decided is not wrong.
            return
        if isinstance(kind, _Kind.Required):
            yield ArgumentProblem(
                path_of([*names, kind.property]), self._wanted(error, kind.property), "nothing", "missing"
            )
        elif isinstance(kind, _Kind.AdditionalProperties | _Kind.UnevaluatedProperties):
            known, patterns = self._known(error)
            for name in kind.unexpected:
                value = instance.get(name) if isinstance(instance, dict) else None
                said = _no_such_key(name, known, patterns)
                yield ArgumentProblem(path_of([*names, name]), said, received(value), "unknown")
        elif isinstance(kind, _Kind.PropertyNames):
            wrong = kind.error.instance
            expected = f"a key that is {self._expected(kind.error)}"[:_LONGEST]
            yield ArgumentProblem(path_of([*names, str(wrong)]), expected, literal(wrong))
        elif isinstance(kind, _Kind.AnyOf | _Kind.OneOfNotValid):
            yield from self._of_choices(error, kind.context, names, instance)
        else:
            yield ArgumentProblem(path_of(names), self._expected(error), received(instance))

    def _of_choices(
        self, error: Error, branches: Sequence[list[Error]], names: Names, instance: Any
    ) -> Iterator[ArgumentProblem]:
        """Say what is wrong in the choice that was meant; where that is not clear, what all of them expect."""
        choices = Choices(
            error.instance_path,
            branches,
            instance,
            lambda place: tags_of(self._part(error, place), self._references),
        )
        tag = choices.wrong_tag
        if tag is not None:
            path = path_of([*names, tag])
            if tag in instance:
                yield ArgumentProblem(path, _one_of(choices.values), received(instance[tag]))
            else:
                wanted = " | ".join(_unique(choices.values)[:_MOST_NAMED])[:_LONGEST]
                yield ArgumentProblem(path, wanted, "nothing", "missing")
            return
        meant = choices.errors
        common, rest = _common(meant)
        for one in common:
            yield from self.problems_of(one)
        needed = [
            [one.kind.property for one in each if isinstance(one.kind, _Kind.Required)] for each in rest
        ]
        here = all(one.instance_path == error.instance_path for each in rest for one in each)
        if rest and here and all(len(one) == len(each) > 0 for one, each in zip(needed, rest, strict=True)):
            yield ArgumentProblem(path_of(names), _needed(needed), received(instance))
        elif not common:
            yield ArgumentProblem(path_of(names), self._expected(error), received(instance))

    def _wanted(self, error: Error, name: str) -> str:
        """Say what a key that is missing should have: as the schema says beside it, or around it."""
        part = walk(self._schema, error.schema_path[:-1])[1]
        beside = part.get("properties") if isinstance(part, dict) else None
        if isinstance(beside, dict) and name in beside:
            return self._written(beside[name])
        way = error.evaluation_path
        around = follow(self._schema, way[: same_value(way)], self._references)
        wanted = self._fields_of(around).get(name)
        return "a value" if wanted is None or wanted.kind == "any" else compact(wanted)[:_LONGEST]

    def _known(self, error: Error) -> tuple[list[str], list[str]]:
        """Give the keys that there are where one was found that is not, and the patterns for others."""
        part = walk(self._schema, error.schema_path[:-1])[1]
        if not isinstance(part, dict):
            return [], []
        patterns, properties = part.get("patternProperties"), part.get("properties")
        matched = list(islice(patterns, _MOST_NAMED)) if isinstance(patterns, dict) else []
        if isinstance(error.kind, _Kind.UnevaluatedProperties):
            return list(islice(self._fields_of(part), _MOST_KNOWN)), matched
        return list(islice(properties, _MOST_KNOWN)) if isinstance(properties, dict) else [], matched

    def _fields_of(self, part: Any) -> dict[str, Type]:
        if id(part) not in self._fields:
            read = read_type(part, self._schema, old=self._old)
            self._fields[id(part)] = {one.name: one.type for one in fields_of(choices_of(read))}
        return self._fields[id(part)]

    @cached_property
    def _declared(self) -> frozenset[str]:
        return declared_names(self._schema)

    @cached_property
    def _old(self) -> bool:
        return is_old(self._schema)

    def _written(self, part: Any) -> str:
        return compact(read_type(part, self._schema, old=self._old, most=_MOST_PARTS))[:_LONGEST]

    def _part(self, error: Error, place: int) -> Any:
        return follow(self._schema, [*error.evaluation_path, place], self._references)

    def _expected(self, error: Error) -> str:
        for known, words in _WORDS.items():
            if isinstance(error.kind, known):
                value = error.kind.value
                return words.format(visible(value, _LONGEST) if isinstance(value, str) else literal(value))
        say = _SAYINGS.get(type(error.kind))
        if self._without_data and isinstance(
            error.kind, _Kind.AdditionalProperties | _Kind.UnevaluatedProperties
        ):
            return "no further keys"
        if say is None:
            return (
                "another value"
                if self._without_data
                else f"another value ({visible(error.message, _LONGEST)})"
            )
        return say(self, error, error.kind)

    def _type(self, error: Error, kind: Any) -> str:
        said = walk(self._schema, error.schema_path)[1]
        types = said if isinstance(said, list) and len(said) == len(kind.types) else kind.types
        return " | ".join(sorted(map(str, types), key=lambda word: word == "null"))

    def _choices(self, error: Error, kind: Any) -> str:
        first = [self._first(branch, error) for branch in kind.context if branch]
        return " or ".join(dict.fromkeys(first))[:_LONGEST] or "another value"

    def _several(self, error: Error, kind: Any) -> str:
        fitting = [place for place, branch in enumerate(kind.context) if not branch]
        parts = [self._part(error, place) for place in fitting]
        if all(isinstance(part, dict) and part.keys() == {"required"} for part in parts):
            return f"only {_needed(part['required'] for part in parts)}"
        shown = ", ".join(dict.fromkeys(map(self._written, parts)))
        return f"what fits one choice alone, not {len(fitting)} of them: {shown}"[:_LONGEST]

    def _but(self, _: Error, kind: Any) -> str:
        written = self._written(kind.schema)
        return f"anything but {literal(kind.schema) if written == 'any' else written}"[:_LONGEST]

    def _items(self, error: Error, _: Any) -> str:
        part = walk(self._schema, error.schema_path[:-1])[1]
        said = part if isinstance(part, dict) else {}
        is_most = error.schema_path[-1] == "maxContains"
        count = literal(said.get("maxContains") if is_most else said.get("minContains", 1))
        what = self._written(said.get("contains"))
        return f"at {'most' if is_most else 'least'} {count} of its items to be {what}"[:_LONGEST]

    def _names(self, _: Error, kind: Any) -> str:
        return f"keys that are {self._expected(kind.error)}"[:_LONGEST]

    def _first(self, branch: list[Error], outer: Error) -> str:
        """Say the first thing that is wrong in one choice, and where, if that is further in."""
        path = outer.instance_path
        one = next((error for error in branch if misfits(error, path)), branch[0])
        within = path_of(one.instance_path[len(path) :])
        if self._without_data:
            within = general_path(within, self._declared)
        expected = self._expected(one)
        return f"{within}: {expected}" if within else expected


def _common(branches: Sequence[list[Error]]) -> tuple[list[Error], list[list[Error]]]:
    """Part what is wrong in every choice from what is wrong in some."""
    if len(branches) <= 1:
        return branches[0] if branches else [], []
    told = [{_same(one) for one in branch} for branch in branches]
    everywhere = set.intersection(*told)
    common = [one for one in branches[0] if _same(one) in everywhere]
    return common, [[one for one in branch if _same(one) not in everywhere] for branch in branches]


def _same(error: Error) -> tuple[Any, ...]:
    nested = id(error) if is_of_choices(error.kind) else 0
    return (tuple(error.instance_path), type(error.kind).__name__, error.message, nested)


def _needed(groups: Iterable[Iterable[Any]]) -> str:
    """Say of which keys one is needed: `one of the keys a, b`."""
    named = list(dict.fromkeys(" and ".join(key(str(name)) for name in group) for group in groups))
    return f"one of the keys {', '.join(named[:_MOST_NAMED])}"[:_LONGEST]


def _one_of(values: Iterable[Any]) -> str:
    shown = _unique(islice(values, 10 * _MOST_NAMED))
    return f"one of {', '.join(shown[:_MOST_NAMED])}{', …' if len(shown) > _MOST_NAMED else ''}"


def _unique(values: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(literal(value) for value in values))


def _no_such_key(name: str, known: list[str], patterns: list[str]) -> str:
    matching = "what matches " + " or ".join(visible(one, _LONGEST_NAME) for one in patterns[:3])
    if not known:
        return f"no such key; there is {matching}" if patterns else "no such key; there are none"
    for one in known:
        if name == visible(one, _LONGEST_NAME) != one:
            return f"no such key; write the letter itself where {literal(one)} has its number"
    meant = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=_ALIKE)
    if meant:
        return f"no such key; did you mean '{visible(meant[0], _LONGEST_NAME)}'?"
    shown = [key(one) for one in known[:_MOST_NAMED]]
    more = [*(["…"] if len(known) > _MOST_NAMED else []), *([matching] if patterns else [])]
    return f"no such key; there are: {', '.join([*shown, *more])}"


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


_SAYINGS: dict[type[jsonschema_rs.ValidationErrorKind], Callable[[Teller, Any, Any], str]] = {
    _Kind.Type: Teller._type,  # noqa: SLF001 -- its own table
    _Kind.AnyOf: Teller._choices,  # noqa: SLF001
    _Kind.OneOfNotValid: Teller._choices,  # noqa: SLF001
    _Kind.OneOfMultipleValid: Teller._several,  # noqa: SLF001
    _Kind.Not: Teller._but,  # noqa: SLF001
    _Kind.Contains: Teller._items,  # noqa: SLF001
    _Kind.PropertyNames: Teller._names,  # noqa: SLF001
    _Kind.Enum: lambda _, __, kind: _one_of(kind.options),
    _Kind.Constant: lambda _, __, kind: literal(kind.expected_value),
    _Kind.Required: lambda _, __, kind: f"the key {key(kind.property)}",
    _Kind.AdditionalProperties: lambda _, __, kind: f"no key {', '.join(map(key, kind.unexpected[:3]))}",
    _Kind.UnevaluatedProperties: lambda _, __, kind: f"no key {', '.join(map(key, kind.unexpected[:3]))}",
    _Kind.FalseSchema: lambda _, __, ___: "nothing here",
    _Kind.AdditionalItems: lambda _, __, ___: "no further items",
    _Kind.UnevaluatedItems: lambda _, __, ___: "no further items",
}


def received(value: Any) -> str:
    """Say what was received: its kind and, if it is short, itself."""
    if isinstance(value, dict):
        return "an object with " + (", ".join(key(str(name)) for name in islice(value, 8)) or "no keys")
    if isinstance(value, list):
        return f"an array of {len(value)}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{literal(value)}, which is not JSON"
    return literal(value)
