"""Calls that are certainly never awaited. Where that makes an operation fail, ty finds it; here is the rest."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["unawaited_calls"]

_PRINTING = frozenset({"print", "str", "repr", "format", "bool", "len", "isinstance", "dict"})
_VALUE_MODULES = frozenset({"json", "pprint"})
_OF_AWAITABLES = frozenset({"send", "throw", "close", "add_done_callback", "cancel", "result", "exception"})


def unawaited_calls(tree: Tree) -> list[ast.Call]:
    """Return the calls that make something to be awaited, whose every use ignores that."""
    found = []
    for node in tree.nodes:
        kind = _kind(tree, node)
        if not kind or not isinstance(node, ast.Call):
            continue
        if _is_wasted(tree, node, kind) or _is_kept_for_nothing(tree, node):
            found.append(node)
    return found


def _kind(tree: Tree, node: ast.AST | None) -> str:
    """Return what a call makes: a coroutine does nothing until it is awaited, a future runs by itself."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            own = tree.functions.get(name)
            is_own = isinstance(own, ast.AsyncFunctionDef) and not tree.is_generator(own)
            return "coroutine" if is_own or tree.is_tool(node) else ""
        case ast.Call(func=ast.Attribute(attr="gather", value=ast.Name(id="asyncio"))):
            return "future"
    return ""


def _is_wasted(tree: Tree, node: ast.expr, kind: str) -> bool:
    """Return whether something to be awaited is used as only its result could be, or not at all."""
    wasted = False
    match tree.parents[node]:
        case ast.Expr() | ast.FormattedValue() | ast.UnaryOp() | ast.BinOp() as parent:
            wasted = kind == "coroutine" or not isinstance(parent, ast.Expr)
        case ast.Attribute(attr=attribute):
            wasted = attribute not in _OF_AWAITABLES
        case (
            ast.Subscript(value=needed) | ast.For(iter=needed) | ast.comprehension(iter=needed)
            | ast.If(test=needed) | ast.While(test=needed) | ast.IfExp(test=needed)
        ):  # fmt: skip
            wasted = needed is node
        case ast.Compare(ops=operators):
            wasted = not any(isinstance(one, ast.Is | ast.IsNot | ast.In | ast.NotIn) for one in operators)
        case ast.Assign(targets=targets):
            wasted = any(isinstance(target, ast.Tuple | ast.List) for target in targets)
        case ast.Call(func=ast.Name(id=name)) as call:
            wasted = call.func is not node and name in _PRINTING and name not in tree.bindings
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
            wasted = name in _VALUE_MODULES
        case ast.keyword() as keyword:
            wasted = tree.is_tool(tree.parents[keyword])
    return wasted


def _is_kept_for_nothing(tree: Tree, node: ast.Call) -> bool:
    """Return whether the value gets a name that is used for nothing else, and nowhere as something to be awaited."""
    parent = tree.parents[node]
    if not isinstance(parent, ast.Assign) or isinstance(tree.parents[parent], ast.ClassDef):
        return False
    target = parent.targets[0]
    if len(parent.targets) > 1 or not isinstance(target, ast.Name) or target.id == "_":
        return False
    kinds = {_kind(tree, one.value) for one in tree.bindings[target.id]}
    loads = tree.loads.get(target.id, [])
    if "" in kinds or (not loads and "future" in kinds):
        return False
    return all(_is_wasted(tree, load, "coroutine") for load in loads)
