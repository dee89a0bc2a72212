"""Calls that are certainly never awaited, where nothing fails for it. Where an operation fails, ty finds it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["unawaited_calls"]

_TAKING_ANYTHING = frozenset(
    {"print", "str", "repr", "format", "bool", "len", "isinstance", "dumps", "pprint"}
)


def unawaited_calls(tree: Tree) -> list[ast.Call]:
    """Return the calls that make a coroutine whose every use ignores that it has to be awaited."""
    return [
        node
        for node in tree.nodes
        if isinstance(node, ast.Call) and _makes_coroutine(tree, node) and _is_ignored(tree, node)
    ]


def _makes_coroutine(tree: Tree, node: ast.AST | None) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            own = tree.functions.get(name)
            is_own = isinstance(own, ast.AsyncFunctionDef) and not tree.is_generator(own)
            return is_own or tree.is_tool(node)
    return False


def _is_ignored(tree: Tree, node: ast.Call) -> bool:
    parent = tree.parents[node]
    if not isinstance(parent, ast.Assign) or isinstance(tree.parents[parent], ast.ClassDef):
        return isinstance(parent, ast.Expr) or _is_shown(tree, node)
    target = parent.targets[0]
    if len(parent.targets) > 1 or not isinstance(target, ast.Name) or target.id == "_":
        return False
    are_coroutines = all(_makes_coroutine(tree, one.value) for one in tree.bindings[target.id])
    return are_coroutines and all(_is_shown(tree, load) for load in tree.loads.get(target.id, []))


def _is_shown(tree: Tree, node: ast.expr) -> bool:
    """Return whether a value is printed, or only asked whether it is true."""
    match tree.parents[node]:
        case ast.FormattedValue():
            return True
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return test is node
        case ast.Compare(ops=operators):
            return not any(isinstance(one, ast.Is | ast.IsNot | ast.In | ast.NotIn) for one in operators)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) as call:
            return call.func is not node and name in _TAKING_ANYTHING and name not in tree.bindings
    return False
