"""Whether a program is prepared for a key or attribute not to be there: it handles the error, or looks first."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.sandbox.check.inside.tree import FUNCTIONS

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["is_guarded"]

_EXPECTED = frozenset({"KeyError", "LookupError", "IndexError", "TypeError", "AttributeError"})
_BROAD = frozenset({"Exception", "BaseException"})
_FEW_STATEMENTS = 2
_LOOKING = frozenset({"hasattr", "type", "set", "len", "list", "callable", "getattr"})
"""Not `isinstance`: that one ty understands."""


def is_guarded(tree: Tree, read: ast.Subscript | ast.Attribute) -> bool:
    """Return whether a read is only reached if it works, or its error is handled."""
    name = read.value.id if isinstance(read.value, ast.Name) else None
    node: ast.AST = read
    for parent in tree.around(read):
        if _handles(parent, node):
            return True
        if name and any(_looks(tree, test, name) for test in _tests(tree, parent, node)):
            return True
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            # Whatever calls it may handle the error.
            return any(_expects(one.type) for one in tree.nodes if isinstance(one, ast.ExceptHandler))
        node = parent
    return False


def _handles(parent: ast.AST, node: ast.AST) -> bool:
    if isinstance(parent, ast.Try | ast.TryStar) and node in parent.body:
        calls = any(isinstance(part, ast.Await) for one in parent.body for part in ast.walk(one))
        # A broad handler around many statements or calls is for the calls.
        small = len(parent.body) <= _FEW_STATEMENTS and not calls
        return any(_expects(one.type) or (small and _is_broad(one.type)) for one in parent.handlers)
    if isinstance(parent, ast.With) and node in parent.body:
        # `contextlib.suppress(KeyError)`
        return any(_expects(part) for one in parent.items for part in ast.walk(one.context_expr))
    return False


def _tests(tree: Tree, parent: ast.AST, node: ast.AST) -> list[ast.expr]:
    """Return what decides whether this part of a statement or an expression is reached."""
    if isinstance(parent, ast.If | ast.IfExp | ast.While):
        return [parent.test] if node is not parent.test else []
    if isinstance(parent, ast.BoolOp):
        return [one for one in parent.values if one is not node]
    if isinstance(parent, ast.match_case):
        parent = tree.parents[parent]
    return [parent.subject] if isinstance(parent, ast.Match) else []


def _looks(tree: Tree, test: ast.expr, name: str, steps: int = 2) -> bool:
    """Return whether a test looks at what is in a value: by `get`, `in`, its type, or a function of the program."""
    for node in ast.walk(test):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr="get" | "keys" | "__contains__")):
                if of == name:
                    return True
            case ast.Call(func=ast.Name(id=function), args=given):
                if (function in _LOOKING or function in tree.defined) and _is_among(name, given):
                    return True
            case ast.Compare(ops=operators, comparators=others):
                if any(isinstance(one, ast.In | ast.NotIn) for one in operators) and _is_among(name, others):
                    return True
            case ast.Name(id=other) if other != name and steps:
                values = [one.value for one in tree.bindings.get(other, []) if one.value is not None]
                if any(_looks(tree, value, name, steps - 1) for value in values):
                    return True
    return False


def _is_among(name: str, nodes: list[ast.expr]) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in nodes)


def _expects(kind: ast.AST | None) -> bool:
    """Return whether a handler is for such errors; a constant may name any exceptions."""
    if isinstance(kind, ast.Tuple):
        return any(map(_expects, kind.elts))
    return isinstance(kind, ast.Name) and (kind.id in _EXPECTED or kind.id.isupper())


def _is_broad(kind: ast.AST | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(map(_is_broad, kind.elts))
    return kind is None or (isinstance(kind, ast.Name) and kind.id in _BROAD)
