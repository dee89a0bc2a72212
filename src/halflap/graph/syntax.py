"""The smallest parts of a generated program: names that are safe, values as literals, the way into a result."""

from __future__ import annotations

import ast
import builtins
import json
import keyword
import math
import re
from types import NoneType
from typing import TYPE_CHECKING, Any

from halflap.graph.edge import EACH, VALUE, key
from halflap.schema import fields_of, object_types

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.graph.edge import Path, Ports
    from halflap.schema import Type

__all__ = [
    "Names",
    "Presence",
    "assign",
    "attribute",
    "call",
    "constant",
    "function",
    "into",
    "literal",
    "load",
    "put",
    "refuse",
    "store",
]

_LONGEST = 40
_DEEPEST = 30
_LARGEST = 10**15
_NO_LETTER = re.compile(r"[^0-9a-z]+")
_PROGRAMS_OWN = frozenset(
    {"asyncio", "json", "call_tool", "show", "ToolError", "self", "main", "match", "case", "type"}
)
_VERBS = frozenset(
    [
        "get",
        "list",
        "search",
        "find",
        "fetch",
        "read",
        "query",
        "lookup",
        "retrieve",
        "create",
        "make",
        "add",
        "load",
        "show",
        "describe",
    ]
)


class Names:
    """Gives names to what a program keeps: readable, Python's, and none that it needs for something else."""

    OWN = frozenset({*dir(builtins), *keyword.kwlist, *_PROGRAMS_OWN})
    """What a program finds, whatever its tools are called."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken, *dir(builtins), *keyword.kwlist, *keyword.softkwlist, *_PROGRAMS_OWN}

    def make(self, text: str, otherwise: str = "value") -> str:
        """Give a name after a text, and never again."""
        stem = _NO_LETTER.sub("_", text.lower()).strip("_")[:_LONGEST].strip("_")
        if not stem or stem[0].isdigit() or stem.startswith(("mcp__", "script__", "dspy__")):
            stem = f"{otherwise}_{stem}".rstrip("_")
        name, number = stem, 2
        while name in self._taken:
            name, number = f"{stem}_{number}", number + 1
        self._taken.add(name)
        return name

    def of_result(self, tool: str, *, several: bool) -> str:
        """Name a tool's result, or the list of several: after the tool, without its verb."""
        parts = [one for one in _NO_LETTER.sub("_", tool.lower()).strip("_").split("_") if one]
        if len(parts) > 1 and parts[0] in _VERBS:
            parts = parts[1:]
        return self.make("_".join([*parts, "results"] if several else parts), "result")

    def of_item(self, path: Path, tool: str) -> str:
        """Name one of the things that a path of a tool's result goes through."""
        keys = [step.key for step in path if step.kind == "key"] or tool.split("_")[-1:]
        own = _NO_LETTER.sub("_", keys[-1].lower()).strip("_") if keys else ""
        if path[-1].kind == "name":
            return self.make(f"{own}_key" if own else "key")
        if own.endswith("ies"):
            own = own[:-3] + "y"
        elif own.endswith("s") and not own.endswith(("ss", "us", "is")):
            own = own[:-1]
        return self.make(own or "item", "item")


class Presence:
    """Says what is always there in a tool's result, as far as that is known."""

    def __init__(self, ports: Ports) -> None:
        self._seldom: dict[Path, bool] = {}
        self._null: set[Path] = set()
        for place in ports.told:
            for size in range(len(place.path) + 1):
                part = place.path[:size]
                self._seldom[part] = self._seldom.get(part, True) and place.presence < 1
        # What a type says of its keys holds, however many places are inside of them.
        for place in ports.told:
            self._read(place.path, place.type)
        if ports.envelope is not None:
            # Of the envelope itself there is no place.
            for name in {one.path[0].key for one in ports.told if one.path}:
                sure = name == "data" and ports.envelope.is_sure
                self._seldom[(key(name),)] = not sure

    def _read(self, path: Path, kind: Type) -> None:
        """Take from a type whether it may be null, and which of its keys may be missing."""
        parts = kind.members or (kind,)
        if any(one.kind == "null" for one in parts):
            self._null.add(path)
        for field in fields_of(object_types(kind)):
            inner = (*path, key(field.name))
            if not field.required:
                self._seldom[inner] = True
            self._read_items(inner, field.type)

    def _read_items(self, path: Path, kind: Type) -> None:
        """Take whether a value, or one of many in it, may be null; the keys of objects are their own places'."""
        for one in kind.members or (kind,):
            if one.kind == "null":
                self._null.add(path)
            if one.items is not None:
                self._read_items((*path, EACH), one.items)
            if one.extra is not None:
                self._read_items((*path, VALUE), one.extra)

    def is_sure(self, path: Path) -> bool:
        """Say whether a key is there wherever what it is in is there."""
        return not self._seldom.get(path, False)

    def is_null(self, path: Path) -> bool:
        """Say whether what is there may be null."""
        return path in self._null

    def may_be_nothing(self, path: Path) -> bool:
        """Say whether a value may be missing, or null, or what it is in."""
        return any(
            self.is_null(path[: at + 1]) or (step.kind == "key" and not self.is_sure(path[: at + 1]))
            for at, step in enumerate(path)
        )


def load(name: str) -> ast.expr:
    """Write a name to be read."""
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.expr:
    """Write a name to be set."""
    return ast.Name(name, ast.Store())


def assign(name: str, value: ast.expr) -> ast.stmt:
    """Write that a name is set to a value."""
    return ast.Assign([store(name)], value)


def put(name: str, path: Path, value: ast.expr) -> ast.stmt:
    """Write that what stands at a path of a value is set, all that is around it being there."""
    return ast.Assign([ast.Subscript(around(name, path), ast.Constant(path[-1].key), ast.Store())], value)


def around(name: str, path: Path) -> ast.expr:
    """Write what something at a path of a value stands in."""
    holder = load(name)
    for step in path[:-1]:
        holder = ast.Subscript(holder, ast.Constant(step.key), ast.Load())
    return holder


def constant(value: str | float | bool | None) -> ast.expr:
    """Write a plain value."""
    return ast.Constant(value)


def call(function: str | ast.expr, *arguments: ast.expr, **keywords: ast.expr) -> ast.expr:
    """Write a call."""
    called = load(function) if isinstance(function, str) else function
    return ast.Call(called, list(arguments), [ast.keyword(name, value) for name, value in keywords.items()])


def attribute(value: ast.expr, name: str) -> ast.expr:
    """Write an attribute."""
    return ast.Attribute(value, name, ast.Load())


def refuse(message: str) -> ast.stmt:
    """Write that the program ends with an error."""
    return ast.Raise(call("ValueError", constant(message)))


def function(name: str, parameters: Iterable[str], body: list[ast.stmt], *, waits: bool = True) -> ast.stmt:
    """Write a function."""
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
    """Write the way from a value, which stands at a path, along keys; with care where one may not be there.

    `empty`: what is found is gone through, and this is gone through where there is nothing.
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
    """Write a JSON value; one that Python could not read back as a literal is written as a text of JSON."""
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
        # Python refuses to read or write very long numbers in tens.
        return call("int", ast.Constant(hex(value)), ast.Constant(16))
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value if isinstance(value, str | int | float | NoneType) else str(value))
