"""The smallest parts of a generated program: literals, calls, and the way into a result."""

from __future__ import annotations

import ast
import json
import math
from types import NoneType
from typing import TYPE_CHECKING, Any

from halflap.core.text import visible
from halflap.graph.paths import EACH, VALUE, key
from halflap.schema import fields_of, object_types

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.graph.paths import Path
    from halflap.graph.ports import Ports
    from halflap.schema import Type

__all__ = [
    "Presence",
    "assign",
    "attribute",
    "call",
    "constant",
    "function",
    "into",
    "is_none",
    "literal",
    "load",
    "put",
    "refuse",
    "shown",
    "store",
]

_DEEPEST = 30
_LARGEST = 10**15
_MAX_SHOWN = 80


def shown(text: str) -> str:
    """Return a name for a message, shortened and without control characters."""
    return visible(text, _MAX_SHOWN)


class Presence:
    """What is always there in a tool's result, as far as that is known."""

    def __init__(self, ports: Ports) -> None:
        self._seldom: dict[Path, bool] = {}
        self._null: set[Path] = set()
        for place in ports.told:
            for size in range(len(place.path) + 1):
                part = place.path[:size]
                self._seldom[part] = self._seldom.get(part, True) and place.is_seldom
        # What a type says about its keys holds, however many places are inside them.
        for place in ports.told:
            self._read(place.path, place.type)
        if ports.result is not None:
            self._read((), ports.result)

    def _read(self, path: Path, kind: Type) -> None:
        """Read from a type whether it may be null, and which of its keys may be missing."""
        parts = kind.members or (kind,)
        if any(one.kind == "null" for one in parts):
            self._null.add(path)
        for field in fields_of(object_types(kind)):
            inner = (*path, key(field.name))
            if not field.required:
                self._seldom[inner] = True
            self._read_items(inner, field.type)

    def _read_items(self, path: Path, kind: Type) -> None:
        """Read whether a value, or one of many in it, may be null; keys of objects have places themselves."""
        for one in kind.members or (kind,):
            if one.kind == "null":
                self._null.add(path)
            if one.items is not None:
                self._read_items((*path, EACH), one.items)
            if one.extra is not None:
                self._read_items((*path, VALUE), one.extra)

    def is_sure(self, path: Path) -> bool:
        """Return whether a key is there wherever the object around it is."""
        return not self._seldom.get(path, False)

    def is_null(self, path: Path) -> bool:
        return path in self._null

    def may_be_nothing(self, path: Path) -> bool:
        """Return whether a value, or anything around it, may be missing or null."""
        return any(
            self.is_null(path[: at + 1]) or (step.kind == "key" and not self.is_sure(path[: at + 1]))
            for at, step in enumerate(path)
        )


def load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.expr:
    return ast.Name(name, ast.Store())


def assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([store(name)], value)


def put(name: str, path: Path, value: ast.expr) -> ast.stmt:
    """Set the value at a path, where everything around it is there."""
    return ast.Assign([ast.Subscript(around(name, path), ast.Constant(path[-1].key), ast.Store())], value)


def around(name: str, path: Path) -> ast.expr:
    holder = load(name)
    for step in path[:-1]:
        holder = ast.Subscript(holder, ast.Constant(step.key), ast.Load())
    return holder


def constant(value: str | float | bool | None) -> ast.expr:
    return ast.Constant(value)


def call(function: str | ast.expr, *arguments: ast.expr, **keywords: ast.expr) -> ast.expr:
    called = load(function) if isinstance(function, str) else function
    return ast.Call(called, list(arguments), [ast.keyword(name, value) for name, value in keywords.items()])


def attribute(value: ast.expr, name: str) -> ast.expr:
    return ast.Attribute(value, name, ast.Load())


def refuse(message: str) -> ast.stmt:
    """Raise an error."""
    return ast.Raise(call("ValueError", constant(message)))


def function(name: str, parameters: Iterable[str], body: list[ast.stmt], *, waits: bool = True) -> ast.stmt:
    taken = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(one) for one in parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    kind = ast.AsyncFunctionDef if waits else ast.FunctionDef
    return kind(name=name, args=taken, body=body, decorator_list=[])


def into(
    value: ast.expr, keys: Path, before: Path, presence: Presence, *, empty: ast.expr | None = None
) -> ast.expr:
    """Read along keys from a value at a path, with care where one may be missing.

    `empty` is used in place of a list or map that is missing.
    """
    path = before
    careful = presence.is_null(before)
    if careful and keys:
        value = ast.BoolOp(ast.Or(), [value, ast.Dict([], [])])
    for at, step in enumerate(keys):
        path = (*path, step)
        here = careful or not presence.is_sure(path)
        if here:
            value = call(attribute(value, "get"), ast.Constant(step.key))
        else:
            value = ast.Subscript(value, ast.Constant(step.key), ast.Load())
        if at < len(keys) - 1 and (here or presence.is_null(path)):
            value = ast.BoolOp(ast.Or(), [value, ast.Dict([], [])])
            careful = True
    if empty is not None and (
        careful or presence.is_null(path) or (bool(keys) and not presence.is_sure(path))
    ):
        value = ast.BoolOp(ast.Or(), [value, empty])
    return value


def literal(value: Any) -> ast.expr:
    """Write a JSON value; one that is too deep for a Python literal as JSON text."""
    try:
        return _literal(value, 0)
    except _TooMuchError:
        return call(attribute(load("json"), "loads"), ast.Constant(json.dumps(value)))


class _TooMuchError(Exception):
    pass


def _literal(value: Any, depth: int) -> ast.expr:
    if depth > _DEEPEST:
        raise _TooMuchError
    if isinstance(value, dict):
        keys: list[ast.expr | None] = [ast.Constant(str(name)) for name in value]
        return ast.Dict(keys, [_literal(one, depth + 1) for one in value.values()])
    if isinstance(value, list | tuple):
        return ast.List([_literal(one, depth + 1) for one in value], ast.Load())
    if isinstance(value, float) and not math.isfinite(value):
        return call("float", ast.Constant(str(value)))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _LARGEST:
        # Python refuses to read or write very long decimal numbers.
        return call("int", ast.Constant(hex(value)), ast.Constant(16))
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value if isinstance(value, str | int | float | NoneType) else str(value))


def is_none(value: ast.expr) -> ast.expr:
    return ast.Compare(value, [ast.Is()], [ast.Constant(None)])
