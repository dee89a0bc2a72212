"""Explains a missing key, index or attribute: what the value is, and which keys it has.

`missing_key` is the sentence, for the check and for failed runs alike; `explain` finds the value in a failed run. Only the
standard library is used: the jail loads this module before it is locked. Nothing here runs code of the program: a value is
asked for its exact type first.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Mapping
from itertools import islice
from types import TracebackType
from typing import Any

from halflap.sandbox.media import Media
from halflap.sandbox.messages import FILE, NOT_AWAITED

__all__ = ["explain", "missing_key"]

_MOST_KEYS = 20
_MOST_COMPARED = 1_000
_LONGEST_TEXT = 80
_LARGEST_NUMBER = 10**18
_PLAIN = frozenset({str, int, float, bool, type(None)})
_NOTHING = object()


def missing_key(key: str, where: str, keys: Collection[str]) -> str:
    """Return that a key is not there, and which keys are."""
    return f"{key} is not in {where}; keys: {_listed(keys)}"


def explain(
    error: BaseException, trace: TracebackType, source: str, results: Mapping[str, Any]
) -> str | None:
    """Return what the failing expression looked into, if that can be found without running anything.

    `results` has the last result of each tool.
    """
    if type(error) is AttributeError and type(error.name) is str:
        return _explain(error.obj, error.name, "this dict", by_attribute=True)
    node = _failing_expression(source, trace) if trace.tb_frame.f_code.co_filename == FILE else None
    if node is None or not issubclass(type(error), KeyError | TypeError | IndexError):
        return None
    lookup = _Lookup(trace, results)
    value = lookup.find(node.value)
    args = BaseException.__dict__["args"].__get__(error)
    if type(value) is dict:
        # If it has the key, it is another value than the one that failed.
        is_known = len(args) == 1 and type(error) is KeyError and not _has(value, args[0])
        return _explain(value, args[0], lookup.describe(node.value)) if is_known else None
    got = _get_call(node.value) if value is None else None
    if got is not None and type(outer := lookup.find(got[0])) is dict:
        said = _explain(outer, ast.literal_eval(got[1]), lookup.describe(got[0]))
        return f"`.get({ast.unparse(got[1])})` gave None: {said}"
    return None if value is _NOTHING else _explain(value, None, "this dict")


def _explain(value: Any, wanted: Any, where: str, *, by_attribute: bool = False) -> str | None:
    kind: type = type(value)
    said = None
    if kind is dict and by_attribute and _has(value, wanted):
        said = f"The value is a dict: write [{wanted!r}] instead of .{wanted}."
    elif kind is dict:
        key = repr(wanted) if type(wanted) in _PLAIN else f"A {_name(type(wanted))}"
        said = missing_key(key, where, _keys(value))
    elif kind is list:
        first = _kind(value[0]) if value else "nothing"
        said = f"The value is a list of {len(value)}, the first of them {first}: take an item by its index, or loop over them."
    elif issubclass(kind, str):
        said = f"The value is text, not an object: {str.__getitem__(value, slice(_LONGEST_TEXT))!r}"
    elif value is None:
        said = "The value is None."
    elif kind is Media:
        said = (
            "The value is an image, a sound or a resource: it has .kind, .mime_type, .uri, .name, .text and .data "
            "(bytes), and show() shows it to the model."
        )
    elif kind is bool or (kind in {int, float} and -_LARGEST_NUMBER < value < _LARGEST_NUMBER):
        said = f"The value is {_kind(value)}, {value!r}, and has no parts."
    elif _name(kind) == "coroutine":
        said = NOT_AWAITED
    return said


def _failing_expression(source: str, trace: TracebackType) -> ast.Subscript | None:
    position = next(islice(trace.tb_frame.f_code.co_positions(), trace.tb_lasti // 2, None))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and position == (
            node.lineno, node.end_lineno, node.col_offset, node.end_col_offset,
        ):  # fmt: skip
            return node
    return None


class _Lookup:
    """Finds the values of simple expressions: names, constants, items, and results of tools."""

    def __init__(self, trace: TracebackType, results: Mapping[str, Any]) -> None:
        frame = trace.tb_frame
        # The body of a class can keep its names in an object of the program.
        kinds = {dict, type(sys._getframe().f_locals)}  # noqa: SLF001 -- there is no public way
        self._scopes = [names for names in (frame.f_locals, frame.f_globals) if type(names) in kinds]
        self._results = results

    def find(self, node: ast.expr) -> Any:
        """Return the value of an expression; `_NOTHING` if it cannot be found without running something."""
        try:
            return self._find(node)
        except (LookupError, TypeError, ValueError, StopIteration):
            return _NOTHING

    def describe(self, node: ast.expr) -> str:
        tool = self._tool(node)
        return "this dict" if tool is None else f"the result of {tool}"

    def _find(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Await):
            return self._results[self._tool(node) or ""]
        got = _get_call(node)
        if got is not None:
            outer, key = self._find(got[0]), ast.literal_eval(got[1])
            return outer.get(key) if type(outer) is dict else _NOTHING
        match node:
            case ast.Name():
                return self._named(node.id)
            case ast.Subscript():
                outer, key = self._find(node.value), ast.literal_eval(node.slice)
                return outer[key] if type(outer) in {dict, list, tuple} else _NOTHING
        return ast.literal_eval(node)

    def _tool(self, node: ast.expr) -> str | None:
        """Return the tool whose result an expression is, or is in: `await tool(…)`, or a variable for its last result."""
        while isinstance(node, ast.Subscript):
            node = node.value
        match node:
            case ast.Await(value=ast.Call(func=ast.Name(id=name), args=arguments)):
                return ast.literal_eval(arguments[0]) if name == "call_tool" else name
            case ast.Name():
                value = self._named(node.id)
                return next((tool for tool, result in self._results.items() if result is value), None)
        return None

    def _named(self, name: str) -> Any:
        return next((names[name] for names in self._scopes if name in names), _NOTHING)


def _get_call(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return a and b of `a.get(b)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=whole, attr="get"), args=[ast.Constant() as key], keywords=[]):
            return whole, key
    return None


def _has(value: dict[Any, Any], wanted: Any) -> bool:
    """Return whether a dict has a plain key, compared with its other plain keys alone."""
    return type(wanted) in _PLAIN and any(
        type(key) is type(wanted) and key == wanted for key in islice(value, _MOST_COMPARED)
    )


def _keys(value: dict[Any, Any]) -> list[str]:
    return [str(key) if type(key) in _PLAIN else _name(type(key)) for key in islice(value, _MOST_COMPARED)]


def _listed(keys: Collection[str]) -> str:
    listed = ", ".join(islice(keys, _MOST_KEYS)) or "none"
    return f"{listed}, …" if len(keys) > _MOST_KEYS else listed


def _kind(value: Any) -> str:
    if type(value) is dict:
        return f"a dict with the keys {_listed(_keys(value))}" if value else "an empty dict"
    if value is None:
        return "None"
    name = _name(type(value))
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _name(kind: type) -> str:
    # A class of the program may compute its name.
    name: str = type.__dict__["__name__"].__get__(kind)
    return name
