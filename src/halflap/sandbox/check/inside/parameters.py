"""Reads of parameters, which ty knows nothing about, with the values that the program passes for them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["parameter_reads"]

_TELLING_APART = frozenset({"isinstance", "issubclass", "type", "callable", "hasattr"})


def parameter_reads(tree: Tree) -> Iterator[tuple[ast.Subscript, list[ast.expr]]]:
    """Yield the reads by key of parameters, each with every value that is passed for the parameter."""
    for function in tree.functions.values():
        passed = _passed(tree, function)
        for node in ast.walk(function):
            match node:
                case ast.Subscript(value=ast.Name(id=name), ctx=ast.Load(), slice=ast.Constant(value=str())):
                    if name in passed:
                        yield node, passed[name]


def _passed(tree: Tree, function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, list[ast.expr]]:
    """Return the values that are passed for those parameters that are never anything else."""
    given = function.args
    if given.vararg or given.kwarg or given.posonlyargs:
        return {}
    calls = [
        call
        for load in tree.loads.get(function.name, [])
        if isinstance(call := tree.parents[load], ast.Call) and function not in tree.around(call)
    ]
    found = {}
    for number, one in enumerate(given.args):
        values = [_argument(call, one.arg, number) for call in calls]
        known = [value for value in values if value is not None]
        if known and len(known) == len(values) and one.annotation is None and _is_plain(function, one):
            found[one.arg] = known
    return found


def _argument(call: ast.Call, name: str, number: int) -> ast.expr | None:
    is_spread = any(isinstance(one, ast.Starred) for one in call.args) or any(
        one.arg is None for one in call.keywords
    )
    if is_spread:
        return None
    if number < len(call.args):
        return call.args[number]
    return next((one.value for one in call.keywords if one.arg == name), None)


def _is_plain(function: ast.AST, parameter: ast.arg) -> bool:
    """Return whether a function neither binds a parameter again nor asks what kind of value it is."""
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.Match(subject=ast.Name(id=name)):
                same = name == parameter.arg
            case ast.arg(arg=name):
                same = name == parameter.arg and node is not parameter
            case ast.Call(func=ast.Name(id=tells), args=[ast.Name(id=name), *_]) if tells in _TELLING_APART:
                same = name == parameter.arg
            case _:
                same = False
        if same:
            return False
    return True
