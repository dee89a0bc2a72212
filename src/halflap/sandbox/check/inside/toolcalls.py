"""The calls of tools that stand in a program: their arguments, and what is known of them before it runs."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["calls_in", "is_tool"]

_PREFIXES = ("mcp__", "script__", "dspy__")
_BY_TEXT = "call_tool"
_LARGEST = 2**63
_MOST_PARTS = 2_000


def is_tool(node: ast.AST) -> bool:
    """Say whether a call calls a tool by its name."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith(_PREFIXES)
    )


def calls_in(tree: Tree) -> list[dict[str, Any]]:
    """Give every call of a tool by its name, as a function or as the text that `call_tool` takes."""
    return [_call(tree, node) for node in tree.nodes if isinstance(node, ast.Call) and _name(tree, node)]


def _name(tree: Tree, node: ast.Call) -> str:
    if is_tool(node):
        assert isinstance(node.func, ast.Name)
        return node.func.id
    is_by_text = (
        isinstance(node.func, ast.Name) and node.func.id == _BY_TEXT and _BY_TEXT not in tree.bindings
    )
    first = node.args[0] if is_by_text and node.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _call(tree: Tree, node: ast.Call) -> dict[str, Any]:
    by_text = not is_tool(node)
    arguments, spread = [], any(isinstance(one, ast.Starred) for one in node.args)
    for one in node.keywords:
        if one.arg is not None:
            arguments.append(_argument(tree, one.arg, one, one.value))
        elif isinstance(one.value, ast.Dict) and all(map(_is_text, one.value.keys)):
            for key, value in zip(one.value.keys, one.value.values, strict=True):
                assert isinstance(key, ast.Constant)
                arguments.append(_argument(tree, str(key.value), key, value))
        else:
            spread = True
    return {
        "name": _name(tree, node),
        "at": tree.place(node),
        "by_text": by_text,
        "unnamed": len(node.args) - by_text,
        "spread": spread,
        "arguments": arguments,
    }


def _argument(tree: Tree, name: str, at: ast.keyword | ast.expr, value: ast.expr) -> dict[str, Any]:
    return {"name": name, "at": tree.place(at), "said": _is_said(tree, value), **_literal(value)}


def _is_text(key: ast.expr | None) -> bool:
    return isinstance(key, ast.Constant) and isinstance(key.value, str)


def _is_said(tree: Tree, value: ast.expr) -> bool:
    """Say whether the program says itself what something in a value is: a checker believes that, and it may be wrong."""
    return any(
        (isinstance(one.node, ast.arg) and one.node.annotation is not None)
        or isinstance(tree.parents.get(one.node), ast.AnnAssign)
        for node in ast.walk(value)
        if isinstance(node, ast.Name)
        for one in tree.bindings.get(node.id, [])
    )


def _literal(node: ast.expr) -> dict[str, Any]:
    """Give the value of an argument that stands in the program itself, if it is one of JSON's."""
    try:
        return {"value": _value(node, [0])}
    except ValueError:
        return {}


def _value(node: ast.expr, seen: list[int]) -> Any:
    seen[0] += 1
    if seen[0] > _MOST_PARTS:
        raise ValueError
    if isinstance(node, ast.Constant):
        return _plain(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _value(node.operand, seen)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(one, seen) for one in node.elts]
    if isinstance(node, ast.Dict):
        return {_key(key): _value(one, seen) for key, one in zip(node.keys, node.values, strict=True)}
    raise ValueError


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int) and -_LARGEST <= value < _LARGEST:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise ValueError
