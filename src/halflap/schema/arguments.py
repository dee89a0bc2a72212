"""Check the arguments of a call: whether they are JSON, and whether they fit the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.core.errors import ArgumentProblem
from halflap.schema.problems import NOT_JSON, describe_value
from halflap.schema.text import path_of

if TYPE_CHECKING:
    from halflap.schema.validate import Validator

_MAX_BYTES = 64_000_000
_NOT_JSON = (TypeError, ValueError, RecursionError)


class Sendable(NamedTuple):
    """Arguments in plain JSON types, or the first reason why they are not JSON."""

    value: dict[str, Any] | None
    problem: ArgumentProblem | None = None


def argument_problems(arguments: Any, validator: Validator | None) -> list[ArgumentProblem]:
    """Return all problems of arguments. If they are not JSON, only the first place that is not is reported."""
    sendable = read_arguments(arguments)
    if sendable.problem is not None:
        return [sendable.problem]
    return [] if validator is None else validator.problems(sendable.value)


def read_arguments(arguments: Any) -> Sendable:
    """Convert arguments to plain JSON types."""
    if not isinstance(arguments, Mapping):
        expected, received = "an object with the arguments", f"a {type(arguments).__name__}"
        return Sendable(None, ArgumentProblem("", expected, received))
    try:
        text = _written(dict(arguments))
        if len(text) <= _MAX_BYTES:
            return Sendable(json.loads(text))
        expected, received = f"at most {_MAX_BYTES // 1_000_000} MB", "more than that, written out"
        return Sendable(None, ArgumentProblem("", expected, received))
    except _NOT_JSON:
        path, part = _first_not_json(arguments)
        return Sendable(None, ArgumentProblem(path_of(path), "a JSON value", _describe(part)))


def _written(value: Any) -> bytes:
    # A circular value is reported as nested too deep.
    return json.dumps(value, ensure_ascii=False, allow_nan=False, check_circular=False).encode()


def _first_not_json(value: Any) -> tuple[list[str | int], Any]:
    """Return the path to the first innermost part of a value that is not JSON, and that part."""
    inner: Any = ()
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    for key, part in inner:
        step = key if isinstance(key, int) else str(key)
        try:
            _written({key: part})
        except RecursionError:
            return [step], part
        except _NOT_JSON:
            path, found = _first_not_json(part)
            return [step, *path], found
    return [], value


def _describe(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a value nested too deep, or with a key that is not text"
    is_json_type = value is None or isinstance(value, str | int | float)
    shown = describe_value(value) if is_json_type else f"a {type(value).__name__[:100]}"
    return f"{shown.removesuffix(NOT_JSON)}{NOT_JSON}"
