"""What makes it uncertain that a read fails: values that the program changed, tests around it, handled errors."""

from __future__ import annotations

import ast
from functools import cached_property

from halflap.sandbox.check.inside.tree import FUNCTIONS, Tree, is_text

_MERGING = frozenset({"update", "setdefault", "__setitem__", "__ior__"})
_ADDING = frozenset({"append", "appendleft", "extend", "extendleft", "insert"})
_MAKING = frozenset({
    "field", "dict", "list", "set", "defaultdict", "Counter", "deque", "sorted", "len", "sum", "int", "float", "str",
})  # fmt: skip
_FRESH = (ast.Dict, ast.List, ast.Set, ast.Tuple, ast.DictComp, ast.ListComp, ast.SetComp, ast.Constant)
_EXPECTED = frozenset({"KeyError", "LookupError", "IndexError", "TypeError", "AttributeError"})
_BROAD = frozenset({"Exception", "BaseException"})


class Guards:
    """Finds reasons why a read may work although its type says otherwise."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.is_rewritten = False

    @cached_property
    def mentioned(self) -> set[str]:
        """The texts in the program that may be keys which it adds or looks for, and not only reads or prints."""
        found: set[str] = set()
        for node in self._tree.nodes:
            match node:
                case ast.Constant(value=str(text)) if not self._is_read(node):
                    found.add(text)
                case ast.Call(func=ast.Attribute(), keywords=keywords):
                    # `row.update(name="x")`
                    found |= {one.arg for one in keywords if one.arg}
        return found

    def _is_read(self, node: ast.Constant) -> bool:
        parent = self._tree.parents[node]
        match parent:
            case ast.Subscript(ctx=ast.Load()):
                return True
            case ast.Dict():
                # In a new dict the key says nothing about the value that is read; merged into another, it does.
                return not isinstance(self._tree.parents[parent], ast.Call | ast.BinOp | ast.AugAssign)
        return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name)

    def look(self, objected: set[ast.AST]) -> None:
        """Find out whether the program may put what its text does not name into values that tools returned.

        Then ty's types for these values are wrong, and also those of containers in which ty itself says something does not fit.
        """
        self.is_rewritten = any(self._is_rewriting(node, objected) for node in self._tree.nodes)

    def _is_rewriting(self, node: ast.AST, objected: set[ast.AST]) -> bool:
        match node:
            case ast.Subscript(value=into, slice=key, ctx=ast.Store() | ast.Del()):
                added, are_items = [key], False
            case ast.AugAssign(
                target=ast.Name() | ast.Attribute() as into, op=ast.Add() | ast.BitOr(), value=value
            ) if not isinstance(value, ast.Constant):
                added, are_items = [value], isinstance(node.op, ast.Add)
            case ast.Call(func=ast.Attribute(value=into, attr=method), args=given):
                are_items = method in _ADDING
                added = given[:1] if method in _MERGING else given if are_items else []
            case _:
                return False
        unnamed = [one for one in added if not _is_named(one)]
        fits = objected.isdisjoint([node, into, *unnamed, *getattr(into, "args", ())])
        return bool(unnamed) and not (fits and self._is_own(into, are_items=are_items))

    def _is_own(self, value: ast.expr, *, are_items: bool) -> bool:
        """Return whether a value is certainly a container that the program made, or a list in one."""
        match value:
            case ast.Name():
                values = [one.value for one in self._tree.bindings_of(value) if not one.is_augmented]
                return bool(values) and all(map(_is_made, values))
            case ast.Attribute():
                # What is read from an attribute is never judged.
                return True
            case ast.Subscript(value=outer) | ast.Call(func=ast.Attribute(value=outer, attr="setdefault")):
                return are_items and self._is_own(outer, are_items=True)
        return _is_made(value)

    def is_meant(self, use: ast.Subscript | ast.Attribute) -> bool:
        """Return whether a key is computed, or one that the program puts in or looks for."""
        if isinstance(use, ast.Subscript):
            is_read = isinstance(use.ctx, ast.Load) and isinstance(use.slice, ast.Constant)
            if not is_read or getattr(use.slice, "value", None) in self.mentioned:
                return True
        return self.may_be_changed(use)

    def may_be_changed(self, read: ast.Subscript | ast.Attribute) -> bool:
        """Return whether the value may hold more than the tool put there."""
        if self.is_rewritten and not isinstance(read.value, ast.Await):
            return True
        root = read.value
        while isinstance(root, ast.Subscript):
            if isinstance(root.slice, ast.Constant) and root.slice.value in self.mentioned:
                return True
            root = root.value
        # Any method may have changed an attribute in the meantime.
        return isinstance(root, ast.Attribute)

    def is_guarded(self, read: ast.Subscript | ast.Attribute) -> bool:
        """Return whether a read is only reached if it works, or its error is handled."""
        name = read.value.id if isinstance(read.value, ast.Name) else None
        node: ast.AST = read
        for parent in self._tree.around(read):
            if _handles(parent, node):
                return True
            tests = self._tests(parent, node) if name else []
            if any(_looks(one, name) for test in tests for one in self._behind(test)):
                return True
            if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                # What calls it may handle the error.
                handlers = (one for one in self._tree.nodes if isinstance(one, ast.ExceptHandler))
                return any(_names(one.type) & _EXPECTED for one in handlers)
            node = parent
        return False

    def _behind(self, test: ast.expr) -> list[ast.expr]:
        """Return a test, and the values of the variables in it."""
        names = [node.id for node in ast.walk(test) if isinstance(node, ast.Name)]
        bound = [one.value for name in names for one in self._tree.bindings.get(name, [])]
        return [test, *(value for value in bound if value is not None)]

    def _tests(self, parent: ast.AST, node: ast.AST) -> list[ast.expr]:
        """Return what decides whether this part of a statement or an expression is reached."""
        match parent:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) if node is not test:
                return [test]
            case ast.BoolOp(values=values):
                return [one for one in values if one is not node]
            case ast.Match(subject=subject):
                return [subject]
        return []


def _is_named(put: ast.expr) -> bool:
    """Return whether an assigned value is a text, or a dict with literal keys: the program names them all."""
    return all(map(is_text, put.keys)) if isinstance(put, ast.Dict) else is_text(put)


def _is_made(value: ast.expr | None) -> bool:
    match value:
        case ast.BinOp(left=left):
            # `[0] * 3`
            return _is_made(left)
        case ast.Call(func=ast.Name(id=made) | ast.Attribute(attr=made)):
            return made in _MAKING
    return isinstance(value, _FRESH)


def _looks(test: ast.expr, name: str | None) -> bool:
    """Return whether a test inspects a value, by a call or by `in`. ty understands `isinstance` itself."""
    looked: list[ast.expr] = []
    for node in ast.walk(test):
        match node:
            case ast.Call(func=function, args=given) if getattr(function, "id", "") != "isinstance":
                looked += [*given, getattr(function, "value", function)]
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=others):
                looked += others
    return any(isinstance(one, ast.Name) and one.id == name for one in looked)


def _handles(parent: ast.AST, node: ast.AST) -> bool:
    match parent:
        case ast.Try(body=body, handlers=handlers) | ast.TryStar(body=body, handlers=handlers) if (
            node in body
        ):
            calls = any(isinstance(part, ast.Await) for one in body for part in ast.walk(one))
            # A broad handler around calls is for the calls.
            expected = _EXPECTED if calls else _EXPECTED | _BROAD
            return any(_names(one.type) & expected for one in handlers)
        case ast.With(items=items, body=body) if node in body:
            # `contextlib.suppress(KeyError)`
            return any(_names(one.context_expr) & _EXPECTED for one in items)
    return False


def _names(kind: ast.AST | None) -> set[str]:
    """Return the exceptions that an expression names; a name in capitals may mean any."""
    if kind is None:
        return set(_BROAD)
    names = {node.id for node in ast.walk(kind) if isinstance(node, ast.Name)}
    return names | (_EXPECTED if any(map(str.isupper, names)) else set())
