"""Where a program reads a key by its name, `value["key"]`, and what it does about its absence."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from halflap.execution.check.inside.tree import scopes

if TYPE_CHECKING:
    from halflap.execution.check.inside.tree import Tree

__all__ = ["reads_in"]

_EXPECTED = frozenset({"KeyError", "LookupError", "IndexError", "TypeError"})
_CHANGING = frozenset({"setdefault", "update", "pop", "__setitem__"})


def reads_in(tree: Tree) -> list[dict[str, Any]]:
    """Give every place where a value is asked for a key that the program names."""
    put, asked, made = _keys(tree)
    found = []
    for node in tree.nodes:
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            continue
        if not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)):
            continue
        key = node.slice.value
        found.append(
            {
                "key": key,
                "at": tree.place(node),
                "key_at": tree.place(node.slice),
                "value_at": tree.place(node.value),
                "base_at": tree.place(node.value.value) if isinstance(node.value, ast.Subscript) else None,
                "shown": _shown(node.value),
                "guarded": _is_guarded(tree, node),
                "put": key in put or key in asked,
                "through": not put.isdisjoint(_through(node.value)),
                "made": key in made,
                "awaited": _is_of_awaited(tree, node.value),
            }
        )
    return found


def _keys(tree: Tree) -> tuple[set[str], set[str], set[str]]:
    """Give the keys that the program may put into what it did not make, that it asks for first, and that it makes."""
    put, asked, made = set(), set(), set()
    for node in tree.nodes:
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            put |= _texts(node.slice) or _listed(tree)
        elif isinstance(node, ast.Compare) and any(isinstance(one, ast.In | ast.NotIn) for one in node.ops):
            asked |= _texts(node.left)
        elif isinstance(node, ast.Dict):
            made |= {text for key in node.keys if key is not None for text in _texts(key)}
        elif isinstance(node, ast.Call):
            named = {one.arg for one in node.keywords if one.arg is not None}
            made |= named
            if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
                put |= named
                for one in node.args:
                    for part in ast.walk(one):
                        if not isinstance(tree.parents[part], ast.Subscript):
                            put |= _texts(part)
    return put, asked, made


def _listed(tree: Tree) -> set[str]:
    """Give the texts in lists and the like: one of them may be the key that is put under a name of its own."""
    groups = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Assign)
    return {
        text
        for node in tree.nodes
        if isinstance(node, ast.Constant) and isinstance(tree.parents[node], groups)
        for text in _texts(node)
    }


def _through(node: ast.expr) -> set[str]:
    """Give the keys by which one comes to a value."""
    keys = set()
    while isinstance(node, ast.Subscript):
        keys |= _texts(node.slice)
        node = node.value
    return keys


def _texts(node: ast.AST) -> set[str]:
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else set()


def _is_guarded(tree: Tree, node: ast.AST) -> bool:
    """Say whether the program is prepared for the key not to be there."""
    while node in tree.parents and not isinstance(node, scopes):
        parent = tree.parents[node]
        if isinstance(parent, ast.Try | ast.TryStar) and node in parent.body:
            if any(_expects(one.type) for one in parent.handlers):
                return True
        elif isinstance(parent, ast.With | ast.AsyncWith) and any(
            _expects(part) for item in parent.items for part in ast.walk(item.context_expr)
        ):
            return True
        node = parent
    return False


def _expects(kind: ast.AST | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_expects(one) for one in kind.elts)
    return isinstance(kind, ast.Name) and kind.id in _EXPECTED


def _is_of_awaited(tree: Tree, node: ast.expr) -> bool:
    """Say whether a value is, or is a part of, what the program awaited under a name that it uses for that alone."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Await):
        return True
    if not isinstance(node, ast.Name):
        return False
    bound = tree.bindings.get(node.id, [])
    # What the program says that it is, a checker believes; it may be something else.
    return bool(bound) and all(
        isinstance(one.value, ast.Await) and not isinstance(tree.parents[one.node], ast.AnnAssign)
        for one in bound
    )


def _shown(node: ast.expr) -> str:
    """Write a value as the program does, if it is short."""
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):
        return ""
    return text if len(text) <= 60 and "\n" not in text else ""  # noqa: PLR2004 -- a line has room for so much
