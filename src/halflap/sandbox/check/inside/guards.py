"""Whether a program is prepared for a key not to be there: it handles the error, or looks first."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.sandbox.check.inside.tree import scopes

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["expects", "is_guarded"]

_EXPECTED = frozenset({"KeyError", "LookupError", "IndexError", "TypeError", "AttributeError"})
_BROAD = frozenset({"Exception", "BaseException"})
_OTHER = frozenset(
    {
        "ToolError",
        "ValueError",
        "OSError",
        "RuntimeError",
        "TimeoutError",
        "ArithmeticError",
        "ZeroDivisionError",
    }
)
_FEW_STATEMENTS = 2
_LOOKING = frozenset({"hasattr", "type", "set", "len", "list", "callable"})
"""Not `isinstance`: that one ty understands."""


def is_guarded(tree: Tree, read: ast.Subscript) -> bool:
    """Say whether a place is only come by if the key is there, or the error is handled."""
    # What is within a part of the value is no question of whether the part is there.
    name = read.value.id if isinstance(read.value, ast.Name) else None
    node: ast.AST = read
    while node in tree.parents and not isinstance(node, scopes):
        parent = tree.parents[node]
        if _handles(parent, node) or (
            name and any(_looks(tree, test, name) for test in _tests(tree, parent, node))
        ):
            return True
        node = parent
    return False


def _handles(parent: ast.AST, node: ast.AST) -> bool:
    """Say whether the error is handled that a key raises in this part of a statement."""
    if isinstance(parent, ast.Try | ast.TryStar):
        return node in parent.body and _is_handled(parent)
    if isinstance(parent, ast.With | ast.AsyncWith):
        return any(expects(part) for item in parent.items for part in ast.walk(item.context_expr))
    return False


def _tests(tree: Tree, parent: ast.AST, node: ast.AST) -> list[ast.expr]:
    """Give what decides whether one comes to this part of a statement or an expression."""
    if isinstance(parent, ast.If | ast.IfExp | ast.While):
        return [parent.test] if node is not parent.test else []
    if isinstance(parent, ast.BoolOp):
        return [one for one in parent.values if one is not node]
    if isinstance(parent, ast.match_case):
        parent = tree.parents[parent]
    return [parent.subject] if isinstance(parent, ast.Match) else []


def _looks(tree: Tree, test: ast.expr, name: str, steps: int = 2) -> bool:
    """Say whether a test looks at what is in a value: by `get`, `in`, its type or a function of the program."""
    for node in ast.walk(test):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=of), attr="get" | "keys" | "__contains__")
            ) if of == name:
                return True
            case ast.Call(func=ast.Name(id=function), args=arguments):
                known = function in _LOOKING or function in tree.defined
                if known and any(isinstance(one, ast.Name) and one.id == name for one in arguments):
                    return True
            case ast.Compare(ops=operators, comparators=others):
                asked = any(isinstance(one, ast.In | ast.NotIn) for one in operators)
                if asked and any(isinstance(one, ast.Name) and one.id == name for one in others):
                    return True
            case ast.Name(id=other) if other != name and steps:
                bound = [one.value for one in tree.bindings.get(other, []) if one.value is not None]
                if any(_looks(tree, value, name, steps - 1) for value in bound):
                    return True
    return False


def _is_handled(parent: ast.Try | ast.TryStar) -> bool:
    calls = any(isinstance(part, ast.Await) for one in parent.body for part in ast.walk(one))
    small = len(parent.body) <= _FEW_STATEMENTS and not calls
    return any(expects(one.type) or (small and _is_broad(one.type)) for one in parent.handlers)


def expects(kind: ast.AST | None) -> bool:
    """Say whether a handler is for what a key that is not there raises; what it is for need not be told by its name."""
    if isinstance(kind, ast.Tuple):
        return any(expects(one) for one in kind.elts)
    if not isinstance(kind, ast.Name):
        return False
    return kind.id in _EXPECTED or (kind.id not in _BROAD | _OTHER and kind.id.isupper())


def _is_broad(kind: ast.AST | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_is_broad(one) for one in kind.elts)
    return kind is None or (isinstance(kind, ast.Name) and kind.id in _BROAD)
