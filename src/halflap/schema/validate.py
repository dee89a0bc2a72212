"""Hold a value against a JSON Schema that somebody else wrote."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from halflap.core.errors import ArgumentProblem
from halflap.core.text import visible
from halflap.schema.drafts import attempts
from halflap.schema.place import path_of
from halflap.schema.problem import Teller
from halflap.schema.size import size_of_schema
from halflap.schema.weight import Scale
from halflap.schema.write import literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.schema.drafts import Draft

__all__ = ["Validator", "compile_or_say", "compile_schema"]

_MOST_PROBLEMS = 50
_MOST_COUNTED = 200
"""So many more are counted, though not told."""
_BACKTRACKING_STEPS = 5_000
_PATTERN_BYTES = 1_000_000
MOST_PARTS = 10_000
"""A larger schema is not compiled: the library keeps all other threads waiting while it does that."""
_MOST_WORK = 1_000_000
"""What is more work to check than this is not checked: our time is not the schema's author's to spend."""
_WORK_FOR_ALL = 200_000
"""Beyond this, only the first problem is looked for."""
_EACH = 20
"""An error takes as long to make as so many steps, also each of those within a choice that is not told."""
_LIGHT = 20_000
"""So much work is over before anybody has waited for it."""
_LONGEST_REASON = 300
_ONLY_THE_FIRST = "there may be more: of so much, only the first problem is looked for"


class Validator:
    """A compiled schema; `problems` lists everything that is wrong with a value, not only the first."""

    def __init__(self, compiled: jsonschema_rs.Validator, schema: Mapping[str, Any], parts: float) -> None:
        self.parts = parts
        """How large the schema is."""
        self._compiled = compiled
        self._schema = schema
        self._scale = Scale(schema, _LIGHT, _MOST_WORK)
        self._scale_for_all = Scale(schema, _WORK_FOR_ALL, _WORK_FOR_ALL, _EACH)

    def problems(self, value: Any, *, without_data: bool = False) -> list[ArgumentProblem]:
        """Say what is wrong, and last, whether there is more; what cannot be decided within reason is not wrong.

        With `without_data`, what is said to be expected names no key that the schema does not.
        """
        try:
            tells_all = self._scale_for_all.weigh(value) < math.inf
            teller = Teller(self._schema, value, without_data=without_data)
            found = (
                one for error in self._errors(value, tells_all=tells_all) for one in teller.problems_of(error)
            )
            told = list(islice(found, _MOST_PROBLEMS))
            more = sum(1 for _ in islice(found, _MOST_COUNTED + 1))
        except (ValueError, RecursionError):
            return []
        if more:
            count = f"more than {_MOST_COUNTED}" if more > _MOST_COUNTED else more
            told.append(ArgumentProblem("", f"and {count} more", "", "more"))
        elif told and not tells_all:
            told.append(ArgumentProblem("", _ONLY_THE_FIRST, "", "more"))
        return told

    def unchecked(self) -> str | None:
        """Say what is never checked, because the schema makes it too much work."""
        part = self._scale.heavy_part()
        if part is None:
            return None
        where = f"with {literal(part)} in them they" if part else "they"
        return f"{where} would be too much work; references lead too far, in a circle, or on too many ways."

    def is_light(self, value: Any) -> bool:
        """Say, without much ado, whether a value can be checked in no time."""
        return self._scale.is_light(value)

    def is_checked(self, value: Any) -> bool:
        """Say whether a value is small enough to be held against the schema at all."""
        return self._scale.weigh(value) < math.inf

    def _errors(self, value: Any, *, tells_all: bool) -> Iterator[jsonschema_rs.ValidationError]:
        if tells_all:
            # It makes them all before it gives the first, so there had better be few.
            yield from self._compiled.iter_errors(value)
        elif self.is_checked(value):
            try:
                self._compiled.validate(value)
            except jsonschema_rs.ValidationError as error:
                yield error


def compile_schema(schema: Any) -> Validator | None:
    """Compile a schema; None when it is not one that can be used: then nothing is held against it."""
    compiled = compile_or_say(schema)
    return compiled if isinstance(compiled, Validator) else None


def compile_or_say(schema: Any) -> Validator | str:
    """Compile a schema, or say why it cannot be used.

    A reference to anywhere else is never followed, and a pattern may not run for long.
    """
    if not isinstance(schema, dict):
        return "it is not an object."
    parts = size_of_schema(schema, MOST_PARTS)
    if parts > MOST_PARTS:
        return f"it is too large: it has more than {MOST_PARTS:,} parts, counting long texts and patterns."
    reason = ""
    try:
        schema = _with_null(schema)
        for draft in attempts(schema):
            try:
                return Validator(_compile(schema, draft), schema, parts)
            except (ValueError, jsonschema_rs.ReferencingError) as error:
                # What is said of the draft that it claims is what helps its author.
                reason = reason or _reason(error)
    except RecursionError:
        return "it is nested too deep."
    return reason


def _compile(schema: Mapping[str, Any], draft: Draft | None) -> jsonschema_rs.Validator:
    patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKING_STEPS, size_limit=_PATTERN_BYTES)
    if draft is None:
        return jsonschema_rs.validator_for(dict(schema), offline=True, pattern_options=patterns)
    unsaid = {key: part for key, part in schema.items() if key != "$schema"}
    # 2020-12, which it was taken for, does not insist on formats; nor does what is tried instead.
    return draft(unsaid, offline=True, pattern_options=patterns, validate_formats=False)


def _reason(error: Exception) -> str:
    if isinstance(error, jsonschema_rs.ValidationError):
        where = path_of(error.instance_path)
        return f"{f'at {where}: ' if where else ''}{visible(error.message, _LONGEST_REASON)}"
    return visible(str(error), _LONGEST_REASON)


def _with_null(schema: Any) -> Any:
    """Read `nullable: true`, which is not JSON Schema but is often written, as what is meant by it."""
    if isinstance(schema, list):
        return [_with_null(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    read = {key: _with_null(part) for key, part in schema.items()}
    if schema.get("nullable") is True:
        if isinstance(schema.get("type"), str):
            read["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list):
            read["enum"] = [*read["enum"], None]
    return read
