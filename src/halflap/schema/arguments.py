"""Arguments as JSON: whether they can be sent at all, and everything that is wrong with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.core.errors import ArgumentProblem
from halflap.schema.problems import describe_value
from halflap.schema.text import path_of

if TYPE_CHECKING:
    from halflap.schema.validate import Validator

__all__ = ["Sendable", "argument_problems", "read_arguments"]

_MAX_DEPTH = 100
"""Libraries on the way give up at some depth, each at its own; deeper arguments are refused here."""
_MAX_BYTES = 64_000_000
_PART_BYTES = 200
"""What one value counts for at least: arguments may have 320,000 values, which take less than a second to convert."""
_MAX_BITS = 13_000
"""Python doesn't write longer integers."""

_Path = tuple[str | int, ...]


class Sendable(NamedTuple):
    """Arguments of plain JSON types, or the first reason why they are not JSON."""

    value: dict[str, Any] | None
    problem: ArgumentProblem | None


class _NotJsonError(Exception):
    def __init__(self, path: _Path, expected: str, received: str) -> None:
        super().__init__(expected)
        self.problem = ArgumentProblem(path_of(path), expected, received)


def argument_problems(arguments: Any, validator: Validator | None) -> list[ArgumentProblem]:
    """Return everything that is wrong with arguments; of those that are not JSON, the first place that is not."""
    sendable = read_arguments(arguments)
    if sendable.problem is not None:
        return [sendable.problem]
    return [] if validator is None else validator.problems(sendable.value)


def read_arguments(arguments: Any) -> Sendable:
    """Convert arguments to plain JSON types, within bounds: a value may contain itself, or one part many times."""
    if not isinstance(arguments, Mapping):
        return Sendable(None, ArgumentProblem("", "an object with the arguments", _describe(arguments)))
    try:
        return Sendable(_Converter().convert(dict(arguments), ()), None)
    except _NotJsonError as error:
        return Sendable(None, error.problem)


class _Converter:
    def __init__(self) -> None:
        self._size = 0

    def convert(self, value: Any, path: _Path) -> Any:
        """Return a copy of a value in plain types."""
        self._size += _PART_BYTES + (len(value) if isinstance(value, str) else 0)
        if self._size > _MAX_BYTES:
            most = f"at most {_MAX_BYTES // 1_000_000} MB"
            raise _NotJsonError((), most, "more than that, written out")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return _text(value, path)
        if isinstance(value, int | float):
            return _number(value, path)
        if not isinstance(value, dict | list | tuple):
            raise _NotJsonError(path, "a JSON value", f"{_describe(value)}, which is not JSON")
        if len(path) >= _MAX_DEPTH:
            raise _NotJsonError(path[:1], f"at most {_MAX_DEPTH} levels", "more, one in another")
        if not isinstance(value, dict):
            return [self.convert(inner, (*path, at)) for at, inner in enumerate(value)]
        return {_name(name, path): self.convert(inner, (*path, str(name))) for name, inner in value.items()}


def _name(name: Any, path: _Path) -> str:
    if not isinstance(name, str):
        raise _NotJsonError((*path, _describe(name)), "a key that is text", _describe(name))
    return _text(name, (*path, name))


def _text(value: str, path: _Path) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        shown = f"{describe_value(value)}, which is not JSON: it has half of a letter"
        raise _NotJsonError(path, "text that can be sent", shown) from None
    return str.__str__(value)


def _number(value: float, path: _Path) -> float:
    if isinstance(value, int):
        if value.bit_length() > _MAX_BITS:
            raise _NotJsonError(path, "fewer digits", "a number with more than can be written")
        return int.__pos__(value)
    if not math.isfinite(value):
        raise _NotJsonError(path, "a number", describe_value(value))
    return float.__pos__(value)


def _describe(value: Any) -> str:
    is_long = isinstance(value, int) and value.bit_length() > _MAX_BITS
    if value is None or (isinstance(value, str | int | float | list) and not is_long):
        return describe_value(value)
    return f"a value of the Python type {type(value).__name__[:100]}"
