"""Hold a value against a JSON Schema that somebody else wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs

from halflap.errors import ArgumentProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Validator", "compile_schema"]

_MOST_PROBLEMS = 20
_BACKTRACKING_STEPS = 50_000
_PATTERN_BYTES = 1_000_000
_LONGEST_VALUE = 80


class Validator:
    """A compiled schema; `problems` lists everything that is wrong with a value, not only the first."""

    def __init__(self, compiled: jsonschema_rs.Validator) -> None:
        self._compiled = compiled

    def problems(self, value: Any) -> list[ArgumentProblem]:
        found = []
        for error in self._compiled.iter_errors(value):
            found.append(ArgumentProblem(_path(error.instance_path), _short(error.message)))
            if len(found) == _MOST_PROBLEMS:
                break
        return found


def compile_schema(schema: Mapping[str, Any]) -> Validator | None:
    """Compile a schema; None when it is not one that can be used: then nothing is held against it.

    A reference to anywhere else is never followed, and a pattern may not run for long.
    """
    try:
        return Validator(
            jsonschema_rs.validator_for(
                dict(schema),
                offline=True,
                pattern_options=jsonschema_rs.FancyRegexOptions(
                    backtrack_limit=_BACKTRACKING_STEPS, size_limit=_PATTERN_BYTES
                ),
            )
        )
    except (ValueError, jsonschema_rs.ReferencingError, jsonschema_rs.ValidationError):
        return None


def _path(parts: list[str | int]) -> str:
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _short(message: str) -> str:
    """Keep the library's words, but not a value that fills a page."""
    if len(message) <= 4 * _LONGEST_VALUE:
        return message
    return f"{message[:_LONGEST_VALUE]} … {message[-2 * _LONGEST_VALUE :]}"
