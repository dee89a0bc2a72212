"""What makes a failing read uncertain: values that the program changes, errors that it handles, tests that it makes."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from halflap.sandbox.check.inside.tree import FUNCTIONS, is_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["Context"]

Read = ast.Subscript | ast.Attribute

_MERGING = frozenset({"update", "setdefault", "__setitem__", "__ior__"})
_ADDING = frozenset({"append", "appendleft", "extend", "extendleft", "insert"})
_FILLING = _MERGING | _ADDING | {"add", "put", "put_nowait"}
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
_EXPECTED = frozenset({"KeyError", "LookupError", "IndexError", "TypeError", "AttributeError"})
_BROAD = frozenset({"Exception", "BaseException"})
_FEW_STATEMENTS = 2
_LOOKING = frozenset({"hasattr", "type", "set", "len", "list", "callable", "getattr"})
"""Not `isinstance`: that one ty understands."""


class Context:
    """What a program does besides the reads that ty objects to."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    @cached_property
    def mentioned(self) -> set[str]:
        """The keys that the program puts in somewhere, or looks for before it reads them."""
        found: set[str] = set()
        for node in self._tree.nodes:
            match node:
                case ast.Subscript(slice=key, ctx=ast.Store() | ast.Del()):
                    found |= _texts([key])
                case ast.Call(func=ast.Attribute(), args=given, keywords=named):
                    found |= _texts(given) | {one.arg for one in named if one.arg}
                    found |= {key for one in given for key in _keys(one)}
                case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                    found |= {*_keys(left), *_keys(right)}
                case ast.AugAssign(op=ast.BitOr(), value=value):
                    found |= {*_keys(value)}
                case ast.Compare(left=left, comparators=others):
                    found |= _texts([left, *others])
                case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
                    found |= _texts(items)
        return found

    @cached_property
    def added(self) -> list[ast.expr]:
        """The values that the program adds to lists that it did not make."""
        found: list[ast.expr] = []
        for node in self._tree.nodes:
            match node:
                case ast.AugAssign(target=ast.Name() | ast.Attribute() as into, op=ast.Add(), value=value):
                    found += [] if self._is_own(into) else [value]
                case ast.Call(func=ast.Attribute(value=into, attr=method), args=given) if method in _ADDING:
                    found += [] if self._is_own(into) else given
        return found

    @cached_property
    def is_rewritten(self) -> bool:
        """Whether the program puts keys that its text does not name into values that it did not make."""
        return any(
            not is_text(key) and not (isinstance(key, ast.Dict) and all(map(is_text, key.keys)))
            for node in self._tree.nodes
            for key in self._put(node)
        )

    def _put(self, node: ast.AST) -> Iterator[ast.expr]:
        """Yield the keys, or the dicts with keys, that a node puts into a value that the program did not make."""
        match node:
            case ast.Subscript(value=into, slice=key, ctx=ast.Store() | ast.Del()) if not self._is_own(into):
                yield key
            case ast.AugAssign(target=into, op=ast.BitOr(), value=value) if not self._is_own(into):
                yield value
            case ast.BinOp(left=left, op=ast.BitOr(), right=right):
                if not (self._is_own(left) and self._is_own(right)):
                    yield left if isinstance(left, ast.Dict) else right
            case ast.Call(func=ast.Attribute(value=into, attr=method), args=given, keywords=named):
                if method in _MERGING and not self._is_own(into):
                    yield from given[:1]
                    yield from (one.value for one in named if one.arg is None)
            case ast.Call(func=ast.Name(id=function) as name) if function in _BY_NAME:
                yield name

    def _is_own(self, node: ast.expr) -> bool:
        """Return whether a value is certainly a container that the program made."""
        if not isinstance(node, ast.Name):
            return _is_made(node)
        bound = [
            one.value
            for one in self._tree.bindings.get(node.id, [])
            if not isinstance(self._tree.parents.get(one.node), ast.AugAssign)
        ]
        return bool(bound) and all(value is not None and _is_made(value) for value in bound)

    def is_stored(self, node: ast.AST) -> bool:
        """Return whether a node is, or is a part of, what the program puts into a container or passes to a function."""
        for one in (node, self._tree.parents.get(node)):
            match one:
                case (
                    ast.Assign()
                    | ast.AugAssign()
                    | ast.AnnAssign()
                    | ast.Subscript(ctx=ast.Store() | ast.Del())
                ):
                    return True
                case ast.Call(func=ast.Attribute(attr=method)) if method in _FILLING:
                    return True
                case ast.Call(func=ast.Name(id=function)) if function in self._tree.defined:
                    return True
        return False

    def is_passed_on(self, node: ast.AST) -> bool:
        """Return whether a value is passed to a function of the program, or of `asyncio`, which may await it.

        A method of the value is its own business.
        """
        if isinstance(self._tree.parents[node], ast.Attribute):
            return True
        call = next((one for one in self._tree.around(node)[:2] if isinstance(one, ast.Call)), None)
        match call:
            case ast.Call(func=ast.Name(id=function)):
                bound = self._tree.bindings.get(function, [])
                return not all(isinstance(one.node, ast.alias) for one in bound)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module))):
                bound = self._tree.bindings.get(module, [])
                return module == "asyncio" or not all(isinstance(one.node, ast.alias) for one in bound)
        return call is not None

    def is_guarded(self, read: Read) -> bool:
        """Return whether a read is only reached if it works, or its error is handled."""
        name = read.value.id if isinstance(read.value, ast.Name) else None
        node: ast.AST = read
        for parent in self._tree.around(read):
            if _handles(parent, node):
                return True
            if name and any(self._looks(test, name) for test in self._tests(parent, node)):
                return True
            if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                # What calls it may handle the error.
                return any(
                    _expects(one.type) for one in self._tree.nodes if isinstance(one, ast.ExceptHandler)
                )
            node = parent
        return False

    def _tests(self, parent: ast.AST, node: ast.AST) -> list[ast.expr]:
        """Return what decides whether this part of a statement or an expression is reached."""
        if isinstance(parent, ast.If | ast.IfExp | ast.While):
            return [parent.test] if node is not parent.test else []
        if isinstance(parent, ast.BoolOp):
            return [one for one in parent.values if one is not node]
        if isinstance(parent, ast.match_case):
            parent = self._tree.parents[parent]
        return [parent.subject] if isinstance(parent, ast.Match) else []

    def _looks(self, test: ast.expr, name: str, steps: int = 2) -> bool:
        """Return whether a test looks at what is in a value, directly or by a variable that holds the result."""
        for node in ast.walk(test):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=of), attr="get" | "keys" | "__contains__")
                ):
                    looks = of == name
                case ast.Call(func=ast.Name(id=function), args=given):
                    looks = (function in _LOOKING or function in self._tree.defined) and _is_among(
                        name, given
                    )
                case ast.Compare(ops=operators, comparators=others):
                    looks = any(isinstance(one, ast.In | ast.NotIn) for one in operators)
                    looks = looks and _is_among(name, others)
                case ast.Name(id=other) if other != name and steps:
                    values = [
                        one.value for one in self._tree.bindings.get(other, []) if one.value is not None
                    ]
                    looks = any(self._looks(value, name, steps - 1) for value in values)
                case _:
                    looks = False
            if looks:
                return True
        return False


def _texts(nodes: list[ast.expr]) -> set[str]:
    return {one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def _keys(node: ast.AST) -> set[str]:
    return _texts([key for key in node.keys if key is not None]) if isinstance(node, ast.Dict) else set()


def _is_made(value: ast.expr) -> bool:
    if isinstance(value, ast.BinOp):
        # `[0] * 3`
        return _is_made(value.left)
    if isinstance(value, ast.Call):
        function = value.func
        made = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        return made in _MAKING
    return isinstance(value, _FRESH)


def _is_among(name: str, nodes: list[ast.expr]) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in nodes)


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


def _expects(kind: ast.AST | None) -> bool:
    """Return whether a handler is for such errors; a constant may name any exceptions."""
    if isinstance(kind, ast.Tuple):
        return any(map(_expects, kind.elts))
    return isinstance(kind, ast.Name) and (kind.id in _EXPECTED or kind.id.isupper())


def _is_broad(kind: ast.AST | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(map(_is_broad, kind.elts))
    return kind is None or (isinstance(kind, ast.Name) and kind.id in _BROAD)
