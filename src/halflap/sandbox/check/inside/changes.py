"""What a program puts into values that it did not make: keys that are known, and whether there may be others."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["Changes", "changes_in", "fills_in"]

_PUTTING = frozenset({"setdefault", "update", "pop", "__setitem__", "__ior__"})
_FILLING = frozenset({"append", "appendleft", "extend", "extendleft", "insert"})
_MAKING = frozenset(
    {
        "dict",
        "list",
        "set",
        "frozenset",
        "defaultdict",
        "Counter",
        "OrderedDict",
        "deque",
        "sorted",
        "str",
        "int",
        "float",
    }
)
_BY_TEXT = frozenset({"setattr", "setitem", "exec", "eval", "globals", "locals", "vars", "delattr"})
_FRESH = (
    ast.Dict, ast.List, ast.Set, ast.Tuple, ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.Constant,
    ast.JoinedStr,
)  # fmt: skip


class Changes(NamedTuple):
    """What may be in a value beside what the tool gave. What is put into its lists, ty looks at itself."""

    put: set[str]
    """Keys that the program puts somewhere."""
    others: bool
    """It may put in what cannot be told from its text."""


def changes_in(tree: Tree) -> Changes:
    """Find what a program puts into values."""
    put: set[str] = set()
    others = False
    for node in tree.nodes:
        keys = _put(tree, node)
        if keys is None:
            others = True
        else:
            put |= keys
    return Changes(put, others)


def fills_in(tree: Tree) -> list[ast.expr]:
    """Give what a program puts into lists that it did not make: ty objects to what does not fit, unless it is anything."""
    found: list[ast.expr] = []
    for node in tree.nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=name, value=into), args=values) if name in _FILLING:
                found += [] if _is_own(tree, into) else values
            case ast.AugAssign(target=ast.Name() | ast.Attribute() as into, op=ast.Add(), value=value):
                found += [] if _is_own(tree, into) else [value]
    return [one for one in found if not isinstance(one, ast.Starred)]


def _put(tree: Tree, node: ast.AST) -> set[str] | None:
    """Give the keys that something puts in; None if any."""
    found: set[str] | None = set()
    match node:
        case ast.Subscript(ctx=ast.Store() | ast.Del(), value=into, slice=key):
            text = _text(key)
            found = {text} if text is not None else _unless_own(tree, into)
        case ast.AugAssign(
            target=ast.Name() | ast.Attribute() | ast.Subscript() as into, op=ast.BitOr(), value=value
        ):
            found = _keys_of(value, _unless_own(tree, into))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            found = _merged(tree, left, right)
        case ast.Call(func=ast.Attribute(attr=name, value=into)) if name in _PUTTING:
            found = _by_method(tree, node, into)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _BY_TEXT:
            found = None
    return found


def _by_method(tree: Tree, call: ast.Call, into: ast.expr) -> set[str] | None:
    keys: set[str] | None = {one.arg for one in call.keywords if one.arg is not None}
    if any(one.arg is None for one in call.keywords):
        return _unless_own(tree, into)
    for one in call.args[:1]:
        text = _text(one)
        more = {text} if text is not None else _keys_of(one, _unless_own(tree, into))
        keys = None if keys is None or more is None else keys | more
    return keys


def _merged(tree: Tree, left: ast.expr, right: ast.expr) -> set[str] | None:
    if _is_own(tree, left) and _is_own(tree, right):
        return set()
    return _keys_of(right, _keys_of(left, None))


def _keys_of(value: ast.expr, otherwise: set[str] | None) -> set[str] | None:
    """Give the keys of a dict that stands there."""
    if isinstance(value, ast.Dict) and all(key is not None and _text(key) is not None for key in value.keys):
        return {text for key in value.keys if key is not None and (text := _text(key)) is not None}
    return otherwise


def _unless_own(tree: Tree, into: ast.expr) -> set[str] | None:
    """Say that anything may be put in, unless it is into something that the program made itself."""
    return set() if _is_own(tree, into) else None


def _is_own(tree: Tree, node: ast.expr) -> bool:
    """Say whether a value is a container that the program has made."""
    if isinstance(node, _FRESH):
        return True
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in _MAKING
    if not isinstance(node, ast.Name):
        return False
    bound = [
        one
        for one in tree.bindings.get(node.id, [])
        if not isinstance(tree.parents.get(one.node), ast.AugAssign)
    ]
    if not bound:
        return False
    return all(one.value is not None and _is_own_value(one.value) for one in bound)


def _is_own_value(value: ast.expr) -> bool:
    if isinstance(value, _FRESH):
        return True
    if isinstance(value, ast.BinOp):
        # `[0] * 3`
        return _is_own_value(value.left)
    if not isinstance(value, ast.Call):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return name in _MAKING


def _text(node: ast.AST) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
