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
_MAX_PROBLEMS = 50
_MAX_BITS = 13_000
"""Python doesn't write longer integers."""

_Path = tuple[str | int, ...]


class Sendable(NamedTuple):
    """Arguments as far as they are JSON."""

    value: dict[str, Any] | None
    """Of plain Python types, with null for what is not JSON; None where nothing is left to validate."""
    problems: list[ArgumentProblem]


class _StopError(Exception):
    """The value is too large, or has too many problems."""


def argument_problems(arguments: Any, validator: Validator | None) -> list[ArgumentProblem]:
    """Return everything that is wrong with arguments: what doesn't fit the schema, and what is not JSON."""
    sendable = read_arguments(arguments)
    if validator is None or sendable.value is None:
        return sendable.problems
    found = validator.problems(sendable.value)
    if not sendable.problems:
        return found
    # What is not JSON was validated as null, so problems of that null are no news.
    replaced = {one.path for one in sendable.problems}
    kept = [one for one in found if not any(_concerns(one, path) for path in replaced)]
    every = [*kept, *sendable.problems]
    more = [one for one in every if one.what == "more"]
    return [*(one for one in every if one.what != "more"), *more[:1]]


def _concerns(problem: ArgumentProblem, path: str) -> bool:
    """Return whether a problem may be caused by the value at this path."""
    if problem.path == path:
        return True
    is_around = not problem.path or path.startswith((f"{problem.path}.", f"{problem.path}["))
    return is_around and problem.what == "wrong"


def read_arguments(arguments: Any) -> Sendable:
    """Convert arguments to plain JSON types, within bounds: a value may contain itself, or one part many times."""
    converter = _Converter()
    if not isinstance(arguments, Mapping):
        problem = ArgumentProblem("", "an object with the arguments", _describe(arguments))
        return Sendable(None, [problem])
    try:
        return Sendable(converter.convert(dict(arguments), ()), converter.problems)
    except _StopError:
        return Sendable(None, converter.problems)


class _Converter:
    def __init__(self) -> None:
        self.problems: list[ArgumentProblem] = []
        self._size = 0

    def convert(self, value: Any, path: _Path) -> Any:
        """Return a copy of a value in plain types, with null for what is not JSON."""
        self._grow(_PART_BYTES)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value, path)
        if isinstance(value, int | float):
            return self._number(value, path)
        if isinstance(value, dict | list | tuple) and len(path) < _MAX_DEPTH:
            return self._container(value, path)
        if isinstance(value, dict | list | tuple):
            self._report(path[:1], f"at most {_MAX_DEPTH} levels", "more, one in another")
        else:
            self._report(path, "a JSON value", f"{_describe(value)}, which is not JSON")
        return None

    def _container(self, value: Any, path: _Path) -> dict[str, Any] | list[Any]:
        if not isinstance(value, dict):
            return [self.convert(inner, (*path, at)) for at, inner in enumerate(value)]
        items = [(self._name(name, path), inner) for name, inner in value.items()]
        return {name: self.convert(inner, (*path, name)) for name, inner in items if name is not None}

    def _name(self, name: Any, path: _Path) -> str | None:
        if isinstance(name, str):
            return self._text(name, (*path, name))
        shown = _describe(name)
        self._report((*path, shown), "a key that is text", shown)
        return None

    def _text(self, value: str, path: _Path) -> str | None:
        self._grow(len(value))
        try:
            value.encode()
        except UnicodeEncodeError:
            shown = f"{describe_value(value)}, which is not JSON: it has half of a letter"
            self._report(path, "text that can be sent", shown)
            return None
        return str.__str__(value)

    def _number(self, value: float, path: _Path) -> float | None:
        if isinstance(value, int) and value.bit_length() > _MAX_BITS:
            self._report(path, "fewer digits", "a number with more than can be written")
        elif not isinstance(value, int) and not math.isfinite(value):
            self._report(path, "a number", describe_value(value))
        else:
            return int.__pos__(value) if isinstance(value, int) else float.__pos__(value)
        return None

    def _report(self, path: _Path, expected: str, received: str) -> None:
        if len(self.problems) >= _MAX_PROBLEMS:
            self.problems.append(ArgumentProblem("", "there may be more", "", "more"))
            raise _StopError
        problem = ArgumentProblem(path_of(path), expected, received)
        if problem not in self.problems[-1:]:
            self.problems.append(problem)

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > _MAX_BYTES:
            most = f"at most {_MAX_BYTES // 1_000_000} MB"
            self.problems.append(ArgumentProblem("", most, "more than that, written out"))
            raise _StopError


def _describe(value: Any) -> str:
    is_long = isinstance(value, int) and value.bit_length() > _MAX_BITS
    if value is None or (isinstance(value, str | int | float | list) and not is_long):
        return describe_value(value)
    return f"a value of the Python type {type(value).__name__[:100]}"
