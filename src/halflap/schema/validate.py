"""Validate values against untrusted JSON Schemas."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import jsonschema_rs

from halflap.core.errors import ArgumentProblem
from halflap.core.text import visible
from halflap.schema.cost import CostEstimator, patterns_in, size_of
from halflap.schema.problems import ErrorExplainer
from halflap.schema.text import path_of

_MAX_PROBLEMS = 50
_BACKTRACKING_STEPS = 5_000
_PATTERN_BYTES = 1_000_000
_ALL_PATTERNS_BYTES = 10_000_000
"""The compiled size of one pattern, and of all. Doubling both doubles the longest time to compile them."""
_MAX_PARTS = 10_000
"""Larger schemas are not compiled: the library blocks all other threads while it compiles."""
_MAX_WORK = 1_000_000
"""Steps after which a value is not checked at all. Doubling it doubles the longest pause of all other threads."""
_WORK_FOR_ALL_PROBLEMS = 50_000
"""Beyond this, only the first problem is looked for: the library collects all errors before it returns the first."""
_LIGHT_WORK = 5_000
"""Less work than this is done on the event loop. Doubling it doubles the longest pause of other calls."""
_MAX_REASON = 300
_MAX_ARGUMENTS = 64_000_000


class Validator:
    """A compiled schema; `parts` is the size of the schema."""

    def __init__(self, compiled: jsonschema_rs.Validator, schema: Mapping[str, Any], parts: float) -> None:
        self.parts = parts
        self._compiled = compiled
        self._schema = schema
        self._cost = CostEstimator(schema)

    def problems(self, value: Any, *, is_name: Callable[[str], bool] | None = None) -> list[ArgumentProblem]:
        """Return all problems of a value. What would be too much work to check is not a problem.

        If there are very many, the first are listed and the last entry announces more. With `is_name`, problems mention
        only keys from the schema, and forbidden ones that `is_name` accepts.
        """
        try:
            lists_all = self._cost.estimate(value, _WORK_FOR_ALL_PROBLEMS) < math.inf
            explainer = ErrorExplainer(self._schema, value, is_name)
            errors = self._errors(value, all_of_them=lists_all)
            found = (one for error in errors for one in explainer.problems_of(error))
            listed = list(islice(found, _MAX_PROBLEMS + 1))
        except (ValueError, RecursionError):
            return []
        if len(listed) > _MAX_PROBLEMS or (listed and not lists_all):
            listed[_MAX_PROBLEMS:] = [ArgumentProblem("", "there may be more problems", "", "more")]
        return listed

    def is_light(self, value: Any) -> bool:
        """Return whether a value can be checked on the event loop."""
        return self._cost.estimate(value, _LIGHT_WORK) < math.inf

    def is_checked(self, value: Any) -> bool:
        """Return whether a value is checked at all: very large ones would take too long."""
        return self._cost.estimate(value, _MAX_WORK) < math.inf

    def _errors(self, value: Any, *, all_of_them: bool) -> Iterator[jsonschema_rs.ValidationError]:
        if all_of_them:
            yield from self._compiled.iter_errors(value)
        elif self.is_checked(value):
            try:
                self._compiled.validate(value)
            except jsonschema_rs.ValidationError as error:
                yield error


def compile_schema(schema: Any) -> Validator | None:
    """Compile a schema; None if it cannot be used. Then nothing should be refused because of it."""
    compiled = try_compile(schema)
    return compiled if isinstance(compiled, Validator) else None


def try_compile(schema: Any) -> Validator | str:
    """Compile a schema, or return why it cannot be used; references to other documents are never followed."""
    if not isinstance(schema, dict):
        return "it is not an object."
    parts = size_of(schema, _MAX_PARTS)
    if parts > _MAX_PARTS:
        return f"it is too large: it has more than {_MAX_PARTS:,} parts, counting long texts."
    try:
        schema = _with_nullable(schema)
        size = min(_PATTERN_BYTES, _ALL_PATTERNS_BYTES // max(1, patterns_in(schema)))
        patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKING_STEPS, size_limit=size)
        compiled = jsonschema_rs.validator_for(schema, offline=True, pattern_options=patterns)
        return Validator(compiled, schema, parts)
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        return _reason(error)
    except RecursionError:
        return "it is nested too deep."


def _reason(error: Exception) -> str:
    if isinstance(error, jsonschema_rs.ValidationError):
        where = path_of(error.instance_path)
        return f"{f'at {where}: ' if where else ''}{visible(error.message, _MAX_REASON)}"
    return visible(str(error), _MAX_REASON)


def _with_nullable(schema: Any) -> Any:
    """Translate OpenAPI's `nullable: true`, which many servers write, into JSON Schema."""
    if isinstance(schema, list):
        return [_with_nullable(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    read = {key: _with_nullable(part) for key, part in schema.items()}
    if schema.get("nullable") is True:
        if isinstance(schema.get("type"), str):
            read["type"] = [schema["type"], "null"]
        if isinstance(schema.get("enum"), list):
            read["enum"] = [*read["enum"], None]
    return read


def read_arguments(arguments: Any) -> dict[str, Any] | ArgumentProblem:
    """Convert arguments to plain JSON types, or return why they are not JSON."""
    if not isinstance(arguments, Mapping):
        return ArgumentProblem("", "an object with the arguments", f"a {type(arguments).__name__}")
    try:
        # A circular value is reported as nested too deep.
        text = json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False, check_circular=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        return ArgumentProblem("", "JSON values", visible(str(error), _MAX_REASON))
    if len(text) > _MAX_ARGUMENTS:
        return ArgumentProblem("", f"at most {_MAX_ARGUMENTS // 1_000_000} MB", "more than that")
    read: dict[str, Any] = json.loads(text)
    return read


def argument_problems(arguments: Any, validator: Validator | None) -> list[ArgumentProblem]:
    """Return all problems of arguments; if they are not JSON, only that is reported."""
    read = read_arguments(arguments)
    if isinstance(read, ArgumentProblem):
        return [read]
    return [] if validator is None else validator.problems(read)
