"""What a program puts into values that it did not make: after that, a tool's declaration no longer tells what is in them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.sandbox.check.inside.tree import is_text

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["Changes", "changes_in"]

_PUTTING = frozenset({"setdefault", "update", "pop", "__setitem__", "__ior__"})
_OF_SETS = frozenset({"add", "put", "put_nowait"})
_FILLING = _OF_SETS | {"append", "appendleft", "extend", "extendleft", "insert"}
_ASKING = frozenset({"get", "pop", "setdefault", "__contains__"})
_BY_NAME = frozenset({"setattr", "setitem", "exec", "eval", "globals", "locals", "vars", "delattr"})
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
    }
)
_FRESH = (
    ast.Dict, ast.List, ast.Set, ast.Tuple, ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.Constant,
    ast.JoinedStr,
)  # fmt: skip


@dataclass
class Changes:
    """What may be in a value besides what the tool returned."""

    put: set[str] = field(default_factory=set)
    """Keys that the program puts somewhere."""
    asked: set[str] = field(default_factory=set)
    """Keys that it asks for in a way that copes with their absence, or has in a list."""
    unknown_keys: bool = False
    """It puts in keys that its text does not name."""
    fills: list[ast.AST] = field(default_factory=list)
    """What it puts into containers, and where; if ty objects to that, they no longer hold what ty believes."""
    added: list[ast.expr] = field(default_factory=list)
    """What it adds to lists that it did not make."""


def changes_in(tree: Tree) -> Changes:
    """Find all changes in a program."""
    found = Changes()
    for node in tree.nodes:
        _note(tree, node, found)
    return found


def _note(tree: Tree, node: ast.AST, found: Changes) -> None:
    match node:
        case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store()):
            _put(tree, found, node.value, [node.slice] if isinstance(node, ast.Subscript) else [])
            found.fills += [node, *_assigned(tree.parents[node])]
        case ast.AugAssign(target=into, op=operator, value=value):
            found.fills += [node, into, value]
            if isinstance(operator, ast.BitOr):
                _put(tree, found, into, [value])
            elif isinstance(into, ast.Name | ast.Attribute) and not _is_own(tree, into):
                found.added.append(value)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            if not (_is_own(tree, left) and _is_own(tree, right)):
                _put(
                    tree, found, left, [one for one in (left, right) if isinstance(one, ast.Dict)] or [right]
                )
        case ast.Call():
            _note_call(tree, node, found)
        case ast.Compare(left=left, comparators=others):
            found.asked |= _texts([left, *others])
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            found.asked |= _texts(items)


def _note_call(tree: Tree, call: ast.Call, found: Changes) -> None:
    given, named = call.args, call.keywords
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    found.unknown_keys |= name in _BY_NAME
    if isinstance(call.func, ast.Name) and name in tree.defined:
        found.fills += [*given, *named, *(one.value for one in named)]
    if not isinstance(call.func, ast.Attribute):
        return
    into = call.func.value
    if name in _PUTTING:
        found.put.update(one.arg for one in named if one.arg is not None)
        _put(tree, found, into, [*given[:1], *(one.value for one in named if one.arg is None)])
        found.fills += [call, *(one for one in given if not is_text(one))]
    if name in _FILLING:
        found.fills += [
            call,
            *given,
            *(key for one in given if isinstance(one, ast.Dict) for key in one.keys if key),
        ]
        found.added += [] if name in _OF_SETS or _is_own(tree, into) else given
    if name in _ASKING:
        found.asked |= _texts(given[:1])


def _assigned(statement: ast.AST) -> list[ast.AST]:
    value = getattr(statement, "value", None)
    return [statement, value] if isinstance(statement, ast.Assign | ast.AnnAssign) and value else []


def _put(tree: Tree, found: Changes, into: ast.expr, given: list[ast.expr]) -> None:
    """Note keys that are put into a value: one that is named, or those of a dict that is written out."""
    for one in given:
        if is_text(one):
            found.put |= _texts([one])
        elif isinstance(one, ast.Dict) and all(map(is_text, one.keys)):
            found.put |= _texts([key for key in one.keys if key is not None])
        elif not _is_own(tree, into):
            found.unknown_keys = True


def _texts(nodes: list[ast.expr]) -> set[str]:
    return {one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def _is_own(tree: Tree, node: ast.expr) -> bool:
    """Return whether a value is certainly a container that the program made."""
    if not isinstance(node, ast.Name):
        return _is_made(node)
    bound = [
        one
        for one in tree.bindings.get(node.id, [])
        if not isinstance(tree.parents.get(one.node), ast.AugAssign)
    ]
    return bool(bound) and all(one.value is not None and _is_made(one.value) for one in bound)


def _is_made(value: ast.expr) -> bool:
    if isinstance(value, ast.BinOp):
        # `[0] * 3`
        return _is_made(value.left)
    if isinstance(value, ast.Call):
        function = value.func
        return (
            function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        ) in _MAKING
    return isinstance(value, _FRESH)
