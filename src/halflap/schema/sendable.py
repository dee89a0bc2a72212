"""What can be sent: arguments that are JSON; and what to say of those that are not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from halflap.core.errors import ArgumentProblem
from halflap.schema.place import path_of
from halflap.schema.problem import received

__all__ = ["Sendable", "read_arguments"]

_DEEPEST = 100
"""Deeper arguments than this are refused: libraries on the way give up at some depth, each at its own."""
_MOST_BYTES = 64_000_000
_PART = 4
_MOST_PROBLEMS = 50
_MOST_BITS = 13_000
"""Python does not write longer whole numbers than this."""


class Sendable(NamedTuple):
    """Arguments, as far as they can be sent."""

    value: dict[str, Any] | None
    """Of plain Python types, with null for what cannot be sent; None where there is nothing to be checked."""
    problems: list[ArgumentProblem]
    """What cannot be sent, whatever a schema says of it."""


class _EnoughError(Exception):
    """There is too much, or too much is wrong with it."""


def read_arguments(arguments: Any) -> Sendable:
    """Find what cannot be sent, within bounds: a value may contain itself, or one part very many times."""
    if not isinstance(arguments, Mapping):
        found = received(arguments) if _is_plain(arguments) else _named(arguments)
        return Sendable(None, [ArgumentProblem("", "an object with the arguments", found)])
    reader = _Reader()
    try:
        value = reader.read(arguments if isinstance(arguments, dict) else dict(arguments), 0)
    except _EnoughError:
        return Sendable(None, reader.problems)
    return Sendable(value, reader.problems)


class _Known(NamedTuple):
    value: Any
    copy: Any
    size: int
    height: int


class _Reader:
    def __init__(self) -> None:
        self.problems: list[ArgumentProblem] = []
        self.wrong = 0
        self._path: list[str | int] = []
        self._within: set[int] = set()
        self._known: dict[int, _Known] = {}
        self._size = 0
        self._height = 0

    def read(self, value: Any, depth: int) -> Any:
        """Give a value of plain types; where nothing has to be changed, it is the same one."""
        self._grow(_PART)
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return self._number(value)
        if isinstance(value, dict | list | tuple):
            return self._container(value, depth)
        self._wrong("a JSON value", f"{_named(value)}, which is not JSON")
        return None

    def _number(self, value: float) -> float | None:
        if isinstance(value, int):
            if value.bit_length() > _MOST_BITS:
                self._wrong("fewer digits", "a number with more than can be written")
                return None
            return value if type(value) is int else int.__pos__(value)
        if not math.isfinite(value):
            self._wrong("a number", received(value))
        return value if type(value) is float else float.__pos__(value)

    def _text(self, value: str) -> str | None:
        self._grow(len(value))
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                self._wrong(
                    "text that can be sent", f"{received(value)}, which is not JSON: it has half of a letter"
                )
                return None
        return value if type(value) is str else str.__str__(value)

    def _container(self, value: Any, depth: int) -> Any:
        place = id(value)
        if place in self._within:
            self._wrong("a JSON value", "one that contains itself")
            return None
        known = self._known.get(place)
        height = 0 if known is None else known.height
        if depth + height >= _DEEPEST:
            self._wrong(f"at most {_DEEPEST} levels", "more, one in another", names=1)
            return None
        if known is not None:
            self._grow(known.size)
            self._height = height
            return known.copy
        before, wrong = self._size, self.wrong
        self._within.add(place)
        copy, height = self._inner(value, depth)
        self._within.discard(place)
        if wrong == self.wrong:
            self._known[place] = _Known(value, copy, self._size - before, height)
        self._height = height
        return copy

    def _inner(self, value: Any, depth: int) -> tuple[Any, int]:
        """Read what is in an object or an array, and say how many levels it has."""
        is_object = isinstance(value, dict)
        copies: list[Any] = []
        names: list[Any] = []
        same, height = type(value) in {dict, list, tuple}, 0
        for name, inner in value.items() if is_object else enumerate(value):
            self._path[depth:] = [name if isinstance(name, str | int) else ""]
            if not is_object or self._is_name(name):
                self._height = 0
                copies.append(self.read(inner, depth + 1))
                names.append(name)
                same = same and copies[-1] is inner and (not is_object or type(name) is str)
                height = max(height, self._height)
            else:
                same = False
        if not same:
            value = dict(zip(map(str.__str__, names), copies, strict=True)) if is_object else copies
        return value, height + 1

    def _is_name(self, name: Any) -> bool:
        if not isinstance(name, str):
            shown = received(name) if _is_plain(name) else _named(name)
            self._path[-1] = shown
            self._wrong("a key that is text", shown)
            return False
        return self._text(name) is not None

    def _wrong(self, expected: str, found: str, *, names: int | None = None) -> None:
        self.wrong += 1
        if self.wrong > _MOST_PROBLEMS:
            self.problems.append(ArgumentProblem("", "there may be more", "", "more"))
            raise _EnoughError
        problem = ArgumentProblem(path_of(self._path[:names]), expected, found)
        if problem not in self.problems[-1:]:
            self.problems.append(problem)

    def _grow(self, size: int) -> None:
        self._size += size
        if self._size > _MOST_BYTES:
            most = f"at most {_MOST_BYTES // 1_000_000} MB"
            self.problems.append(ArgumentProblem("", most, "more than that, written out"))
            raise _EnoughError


def _is_plain(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, str | bool | float | list)
        or (isinstance(value, int) and value.bit_length() <= _MOST_BITS)
    )


def _named(value: Any) -> str:
    return f"a value of the Python type {type(value).__name__[:100]}"
