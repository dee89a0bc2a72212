"""Hold a value against a JSON Schema that somebody else wrote."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from halflap.schema.problem import problems_of
from halflap.schema.weight import Scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.errors import ArgumentProblem

__all__ = ["Validator", "compile_schema"]

_MOST_PROBLEMS = 20
_BACKTRACKING_STEPS = 10_000
_PATTERN_BYTES = 1_000_000
_MOST_WORK = 1_000_000
"""What is more work to check than this is not checked: our time is not the schema's author's to spend."""
_WORK_FOR_ALL = 50_000
"""Beyond this, only the first problem is looked for."""


class Validator:
    """A compiled schema; `problems` lists everything that is wrong with a value, not only the first."""

    def __init__(self, compiled: jsonschema_rs.Validator, schema: Mapping[str, Any]) -> None:
        self._compiled = compiled
        self._schema = schema
        self._scale = Scale(schema, _MOST_WORK)

    def problems(self, value: Any) -> list[ArgumentProblem]:
        """Say what is wrong; what cannot be decided within reason is not wrong."""
        try:
            errors = self._errors(value)
            return list(
                islice((one for error in errors for one in problems_of(error, self._schema)), _MOST_PROBLEMS)
            )
        except (ValueError, RecursionError):
            return []

    def _errors(self, value: Any) -> Iterator[jsonschema_rs.ValidationError]:
        work = self._scale.weigh(value)
        if work <= _WORK_FOR_ALL:
            # It makes them all before it gives the first, so there had better be few.
            yield from self._compiled.iter_errors(value)
        elif work <= _MOST_WORK:
            try:
                self._compiled.validate(value)
            except jsonschema_rs.ValidationError as error:
                yield error


def compile_schema(schema: Mapping[str, Any]) -> Validator | None:
    """Compile a schema; None when it is not one that can be used: then nothing is held against it.

    A reference to anywhere else is never followed, and a pattern may not run for long.
    """
    try:
        schema = _with_null(schema)
        compiled = jsonschema_rs.validator_for(
            dict(schema),
            offline=True,
            pattern_options=jsonschema_rs.FancyRegexOptions(
                backtrack_limit=_BACKTRACKING_STEPS, size_limit=_PATTERN_BYTES
            ),
        )
    except (ValueError, RecursionError, jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError):
        return None
    return Validator(compiled, schema)


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
