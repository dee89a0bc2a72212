"""The tool calls in a program, with the argument values that can be read from its text."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Iterator
from typing import Any

from halflap.sandbox.check.inside.tree import PREFIXES, Tree, is_text

__all__ = ["calls_in", "unbound_names"]

_BY_TEXT = "call_tool"
_MAX_INTEGER = 2**63
_MAX_PARTS = 2_000
_CONDITIONAL = (
    ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.While, ast.Match, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda,
)  # fmt: skip
_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Raise)
_DYNAMIC = frozenset({"globals", "exec", "eval", "setattr", "vars", "locals", "builtins"})
_KNOWN = frozenset({*dir(builtins), "ToolError", "show", _BY_TEXT, "reveal_type"})


def calls_in(tree: Tree) -> list[dict[str, Any]]:
    """Return every call of a tool, by its name as a function or as the text that `call_tool` takes."""
    return [_call(tree, node, name) for node, name in _named(tree)]


def _named(tree: Tree) -> Iterator[tuple[ast.Call, str]]:
    for node in tree.nodes:
        match node:
            case ast.Call(func=ast.Name(id=name)) if tree.is_tool(node):
                yield node, name
            case ast.Call(func=ast.Name(id=function), args=[ast.Constant(value=str(name)), *_]):
                if function == _BY_TEXT and _BY_TEXT not in tree.bindings:
                    yield node, name


def _arguments(tree: Tree, call: ast.Call) -> tuple[list[tuple[str, ast.AST, ast.expr]], bool]:
    """Return the arguments of a call, each with its name, its node and its value; and whether there are more.

    An argument without a name has an empty one. A dict written out in the program counts as the arguments in it.
    """
    given = call.args if tree.is_tool(call) else call.args[1:]
    found: list[tuple[str, ast.AST, ast.expr]] = []
    more = False
    for one in given:
        if tree.is_tool(call) and not isinstance(one, ast.Starred):
            found.append(("", one, one))
        else:
            more |= not _add_keys(tree, one, found)
    for keyword in call.keywords:
        if keyword.arg is not None:
            found.append((keyword.arg, keyword, keyword.value))
        else:
            more |= not _add_keys(tree, keyword.value, found)
    return found, more


def _add_keys(tree: Tree, node: ast.expr, found: list[tuple[str, ast.AST, ast.expr]]) -> bool:
    """Add the keys of a dict, if all that it holds can be read from the text."""
    bound = tree.only_binding(node)
    if (
        isinstance(node, ast.Name)
        and bound is not None
        and bound.value is not None
        and _is_untouched(tree, node)
    ):
        node = bound.value
    if not isinstance(node, ast.Dict) or not all(map(is_text, node.keys)):
        return False
    for key, value in zip(node.keys, node.values, strict=True):
        assert isinstance(key, ast.Constant)
        found.append((str(key.value), key, value))
    return True


def _is_untouched(tree: Tree, name: ast.Name) -> bool:
    """Return whether a container is only read under its name: spread, looped over, subscripted, printed."""
    return all(_reads_only(tree, load) for load in tree.loads[name.id])


def _reads_only(tree: Tree, load: ast.Name) -> bool:
    match tree.parents[load]:
        case ast.keyword(arg=None) | ast.FormattedValue() | ast.Compare():
            return True
        case ast.For(iter=needed) | ast.comprehension(iter=needed):
            return needed is load
        case ast.Subscript(ctx=ast.Load()):
            return True
        case ast.Call(func=ast.Name(id=function)):
            return function in _KNOWN and function not in tree.bindings
    return False


def _call(tree: Tree, node: ast.Call, name: str) -> dict[str, Any]:
    listed, more = _arguments(tree, node)
    return {
        "name": name,
        "at": tree.place(node),
        "by_text": not tree.is_tool(node),
        "more": more,
        "arguments": [
            {"name": argument, "at": tree.place(at), "values": _values(tree, node, at, value)}  # type: ignore[arg-type]  # an expression or a keyword
            for argument, at, value in listed
        ],
    }


def _values(tree: Tree, call: ast.Call, at: Any, value: ast.expr) -> list[dict[str, Any]]:
    """Return the values that an argument certainly gets, each with its place; none if that depends on the run."""
    try:
        return [{"value": _plain(value, [0]), "at": tree.place(at)}]
    except ValueError:
        pass
    bound = tree.only_binding(value)
    if bound is None:
        return []
    if isinstance(bound.value, ast.Constant):
        return _each([bound.value], lambda _: tree.place(at))
    loop = tree.parents.get(bound.node)
    if not isinstance(loop, ast.For | ast.comprehension) or loop.target is not bound.node:
        return []
    listed = loop.iter
    named = tree.only_binding(listed)
    if isinstance(listed, ast.Name) and named is not None and named.value and _is_untouched(tree, listed):
        listed = named.value
    if isinstance(listed, ast.List | ast.Tuple | ast.Set) and _is_reached(tree, call, loop):
        return _each(listed.elts, tree.place)
    return []


def _each(nodes: list[Any], place: Any) -> list[dict[str, Any]]:
    if not all(isinstance(one, ast.Constant) for one in nodes):
        return []
    try:
        return [{"value": _plain(one, [0]), "at": place(one)} for one in nodes]
    except ValueError:
        return []


def _is_reached(tree: Tree, call: ast.Call, loop: ast.For | ast.comprehension) -> bool:
    """Return whether a call is made for every value of the loop around it."""
    body = tree.parents[loop] if isinstance(loop, ast.comprehension) else loop
    around = tree.around(call)
    if body not in around:
        return False
    between = around[: around.index(body)]
    leaves = any(isinstance(node, _LEAVING) for node in ast.walk(body))
    filters = isinstance(loop, ast.comprehension) and any(
        one.ifs for one in ast.walk(body) if isinstance(one, ast.comprehension)
    )
    return not (leaves or filters or any(isinstance(one, _CONDITIONAL) for one in between))


def _plain(node: ast.expr, seen: list[int]) -> Any:
    """Return the JSON value that an expression writes out, or raise `ValueError`."""
    seen[0] += 1
    if seen[0] > _MAX_PARTS:
        raise ValueError
    match node:
        case ast.Constant(value=None | bool() | str() as value):
            return value
        case ast.Constant(value=int() as value) if -_MAX_INTEGER <= value < _MAX_INTEGER:
            return value
        case ast.Constant(value=float() as value) if math.isfinite(value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_plain(one, seen) for one in items]
        case ast.Dict(keys=keys, values=values) if all(map(is_text, keys)):
            return {
                key.value: _plain(one, seen)
                for key, one in zip(keys, values, strict=True)
                if isinstance(key, ast.Constant)
            }
    raise ValueError


def unbound_names(tree: Tree) -> list[dict[str, Any]]:
    """Return names that nothing in the program gives a meaning to, `a.b.c` as a whole, where they may be tools."""
    if not _DYNAMIC.isdisjoint(tree.loads) or "*" in tree.bindings:
        return []
    found = []
    for name, loads in tree.loads.items():
        if name in tree.bindings or name in _KNOWN:
            continue
        for load in loads:
            node: ast.expr = load
            while isinstance(outer := tree.parents[node], ast.Attribute):
                node = outer
            if tree.is_called(node) or name.startswith(PREFIXES):
                found.append({"name": ast.unparse(node), "at": tree.place(node)})
    return found
