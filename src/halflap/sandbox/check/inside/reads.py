"""Where a program reads a key by its name, `value["key"]`, and what it does about its absence."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.inside.changes import changes_in
from halflap.sandbox.check.inside.guards import expects, is_guarded
from halflap.sandbox.check.inside.toolcalls import is_tool
from halflap.sandbox.check.inside.tree import scopes

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["reads_in"]

_ASKING = frozenset({"get", "pop", "setdefault", "__contains__"})
_LONGEST_SHOWN = 60


def reads_in(tree: Tree) -> list[dict[str, Any]]:
    """Give every place where a value is asked for a key that the program names."""
    changes = changes_in(tree)
    asked = _asked(tree)
    expected = any(expects(node.type) for node in tree.nodes if isinstance(node, ast.ExceptHandler))
    found = []
    for node in tree.nodes:
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            continue
        if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):
            continue
        key = node.slice.value
        at_once = isinstance(node.value, ast.Await)
        found.append(
            {
                "key": key,
                "at": tree.place(node),
                "key_at": tree.place(node.slice),
                "value_at": tree.place(node.value),
                "base_at": tree.place(node.value.value) if isinstance(node.value, ast.Subscript) else None,
                "shown": _shown(node.value),
                "guarded": is_guarded(tree, node) or (expected and _is_in_function(tree, node)),
                "put": key in changes.put or key in asked,
                "through": not changes.put.isdisjoint(_through(node.value)),
                "at_once": at_once,
                "open": (changes.others and not at_once) or _is_of_attribute(node.value),
                "awaited": _is_of_awaited(tree, node.value),
            }
        )
    return found


def _asked(tree: Tree) -> set[str]:
    """Give the keys that the program has in a list, compares, or asks for in another way: it may look first."""
    found: set[str] = set()
    for node in tree.nodes:
        if isinstance(node, ast.Compare):
            found |= {text for one in (node.left, *node.comparators) for text in _texts(one)}
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            found |= {text for one in node.elts for text in _texts(one)}
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ASKING
        ):
            found |= {text for one in node.args[:1] for text in _texts(one)}
    return found


def _through(node: ast.expr) -> set[str]:
    """Give the keys by which one comes to a value."""
    keys: set[str] = set()
    while isinstance(node, ast.Subscript):
        keys |= _texts(node.slice)
        node = node.value
    return keys


def _is_of_attribute(node: ast.expr) -> bool:
    """Say whether a value comes from an attribute: any method may have changed that meanwhile."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Attribute)


def _texts(node: ast.AST) -> set[str]:
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def _is_in_function(tree: Tree, node: ast.AST) -> bool:
    while node in tree.parents:
        node = tree.parents[node]
        if isinstance(node, scopes):
            return True
    return False


def _is_of_awaited(tree: Tree, node: ast.expr) -> bool:
    """Say whether a value is, or is a part of, what the program awaited under a name that it uses for that alone."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Await):
        return _is_of_tools(tree, node)
    if not isinstance(node, ast.Name):
        return False
    bound = tree.bindings.get(node.id, [])
    # What the program says that it is, a checker believes; it may be something else.
    return bool(bound) and all(
        isinstance(one.value, ast.Await)
        and _is_of_tools(tree, one.value)
        and not isinstance(tree.parents[one.node], ast.AnnAssign)
        for one in bound
    )


def _is_of_tools(tree: Tree, awaited: ast.Await) -> bool:
    """Say whether what is awaited is no function of the program that says itself what it returns."""
    call = awaited.value
    if not isinstance(call, ast.Call) or is_tool(call) or not isinstance(call.func, ast.Name):
        return True
    return not any(
        isinstance(one.node, ast.FunctionDef | ast.AsyncFunctionDef) and one.node.returns is not None
        for one in tree.bindings.get(call.func.id, [])
    )


def _shown(node: ast.expr) -> str:
    """Write a value as the program does, if it is short."""
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):
        return ""
    return text if len(text) <= _LONGEST_SHOWN and "\n" not in text else ""
