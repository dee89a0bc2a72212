"""Which tool's declared result an expression of a program is, or is a part of, where a simple rule can tell.

The rule. A call of a tool is what the tool declares, once awaited; a key, an index, a slice of it is what the
declaration says of that part; so is what a `for` or a comprehension takes from it, also through `sorted`, `list`,
`reversed`, `enumerate`, `zip`, `max`, `min`, `asyncio.gather` and `create_task`, and what a key function gets. A
variable is what it was last set to, if all that sets it are plain statements in a row; else it must have been set
to the same type everywhere. Whatever passes through a parameter, an attribute, an annotation or a container of the
program's own is of unknown origin.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from halflap.schema import Type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sandbox.check.source import Source

__all__ = ["Origin", "Origins"]

_SCOPES = (
    ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp,
)  # fmt: skip
_INLINE = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SAME = {"sorted", "list", "reversed", "tuple"}
_ONE_OF = {"max", "min"}
_MOST_STEPS = 60


@dataclass(frozen=True)
class Origin:
    """A tool's declared result, or a part of it."""

    tool: str
    type: Type
    awaitable: bool = False

    def has(self, name: str) -> bool:
        """Say whether a key is declared."""
        return bool(self._types(name))

    def field(self, name: str) -> Origin | None:
        """Give what stands under a key, if that is declared."""
        types = self._types(name)
        return self._part(types[0]) if types else None

    def item(self) -> Origin | None:
        """Give what is in it, if it is declared to be an array."""
        arrays = [one for one in self.type.members or (self.type,) if one.kind == "array"]
        if self.awaitable or not arrays or arrays[0].items is None:
            return None
        return self._part(arrays[0].items)

    def _types(self, name: str) -> list[Type]:
        objects = [one for one in self.type.members or (self.type,) if one.kind == "object"]
        types = [field.type for one in objects for field in one.fields if field.name == name]
        return [] if self.awaitable else types

    def _part(self, kind: Type) -> Origin | None:
        """Give a part of it; of one that may be anything, or is the whole again, nothing is known."""
        return None if kind.kind in {"any", "again", "cut"} else replace(self, type=kind)

    def listed(self) -> Origin:
        """Give an array of such."""
        return replace(self, type=Type("array", items=self.type))

    @property
    def is_array(self) -> bool:
        """Whether it is declared to be an array, and nothing else."""
        return self.type.kind == "array" and not self.awaitable


@dataclass(frozen=True)
class _Binding:
    name: ast.AST
    value: Callable[[], Origin | None]
    straight: bool
    """It is a statement that stands in its scope directly, not in a loop or branch."""


class Origins:
    """Answers for one program."""

    def __init__(self, source: Source, declared: Mapping[str, Type | None]) -> None:
        self._source = source
        self._declared = declared
        self._bindings: dict[ast.AST, dict[str, list[_Binding]]] = {}
        self._steps = 0
        for node in source.walk():
            self._bind(node)
        for node in ast.walk(source.tree):
            if isinstance(node, ast.comprehension):
                self._take(node.target, node.iter)

    def of(self, node: ast.expr) -> Origin | None:
        """Say what an expression is."""
        self._steps += 1
        try:
            return None if self._steps > _MOST_STEPS else self._of(node)
        finally:
            self._steps -= 1

    def _of(self, node: ast.expr) -> Origin | None:
        match node:
            case ast.Name(id=name):
                found = self._look_up(name, node)
            case ast.Await(value=value):
                found = self._awaited(value)
            case ast.NamedExpr(value=value):
                found = self.of(value)
            case ast.Call():
                found = self._of_call(node)
            case ast.Subscript(value=value, slice=key):
                found = _part(self.of(value), key)
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element):
                found = self.of(element)
                found = None if found is None or found.awaitable else found.listed()
            case _:
                found = None
        return found

    def _of_call(self, node: ast.Call) -> Origin | None:
        match node.func:
            case ast.Name(id=name) if name in self._declared:
                declared = self._declared[name]
                return None if declared is None else Origin(name, declared, awaitable=True)
            case ast.Name(id=name) if name in _SAME and node.args:
                found = self.of(node.args[0])
                return found if found is not None and found.is_array else None
            case ast.Name(id=name) if name in _ONE_OF and len(node.args) == 1:
                found = self.of(node.args[0])
                return None if found is None else found.item()
            case ast.Attribute(value=ast.Name(id="asyncio"), attr="create_task"):
                return self.of(node.args[0])
            case ast.Attribute(value=ast.Name(id="asyncio"), attr="gather") if not node.keywords:
                return self._of_gathered(node)
        return None

    def _of_gathered(self, node: ast.Call) -> Origin | None:
        """Say what `gather(*[call for …])` is."""
        match node.args:
            case [ast.Starred(value=ast.ListComp(elt=element) | ast.GeneratorExp(elt=element))]:
                found = self.of(element)
                if found is not None and found.awaitable:
                    return found.listed()
        return None

    def _look_up(self, name: str, node: ast.AST) -> Origin | None:
        scope, same = self._scope(node), True
        while scope is not None and name not in self._bindings.get(scope, {}):
            same = same and isinstance(scope, _INLINE)
            scope = self._scope(scope)
        if scope is None:
            return None
        bindings = self._bindings[scope][name]
        if same and all(one.straight for one in bindings):
            before = [one for one in bindings if _ends(one.name) <= _begins(self._statement(node))]
            return before[-1].value() if before else None
        found = [one.value() for one in bindings]
        first = found[0]
        return (
            first
            if all(one is not None and first is not None and one.type == first.type for one in found)
            else None
        )

    def _bind(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._assign(target, value)
            case ast.AugAssign(target=ast.Name() as target, op=ast.Add(), value=value):
                self._add(target, lambda: self.of(value))
            case ast.NamedExpr(target=target, value=value):
                self._add(target, lambda: self.of(value))
            case ast.For(target=target, iter=iterated):
                self._take(target, iterated)
            case ast.Call():
                self._key_function(node)
            case ast.Name(ctx=ast.Store()) if not self._is_bound(node):
                self._add(node, lambda: None)
            case ast.arg(arg=name):
                function = self._source.parents[self._source.parents[node]]
                if name not in self._bindings.get(function, {}):
                    self._bindings.setdefault(function, {})[name] = [
                        _Binding(node, lambda: None, straight=False)
                    ]

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(), _:
                self._add(target, lambda: self.of(value))
            case ast.Tuple(elts=targets), ast.Await(
                value=ast.Call(func=ast.Attribute(attr="gather"), args=args)
            ) if len(targets) == len(args):
                for one, call in zip(targets, args, strict=True):
                    self._add(one, lambda call=call: self._awaited(call))  # type: ignore[misc]
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                for one, part in zip(targets, values, strict=True):
                    self._assign(one, part)

    def _take(self, target: ast.expr, iterated: ast.expr) -> None:
        """Bind what a loop takes."""
        match target, iterated:
            case ast.Name(), of:
                self._add(target, lambda: self._item(of))
            case ast.Tuple(elts=[_, ast.Name() as second]), ast.Call(
                func=ast.Name(id="enumerate"), args=[of, *_]
            ):
                self._add(second, lambda: self._item(of))
            case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=args) if len(targets) == len(
                args
            ):
                for one, part in zip(targets, args, strict=True):
                    self._add(one, lambda part=part: self._item(part))  # type: ignore[misc]

    def _key_function(self, call: ast.Call) -> None:
        """Bind what the key function of a sort, of a maximum or minimum gets."""
        match call.func, call.args:
            case (ast.Name(id="sorted" | "max" | "min"), [of, *_]) | (
                ast.Attribute(value=of, attr="sort"),
                _,
            ):
                for keyword in call.keywords:
                    match keyword:
                        case ast.keyword(
                            arg="key", value=ast.Lambda(args=ast.arguments(args=[only])) as function
                        ):
                            binding = _Binding(only, lambda: self._item(of), straight=False)
                            self._bindings.setdefault(function, {})[only.arg] = [binding]

    def _item(self, node: ast.expr) -> Origin | None:
        found = self.of(node)
        return None if found is None else found.item()

    def _awaited(self, node: ast.expr) -> Origin | None:
        found = self.of(node)
        return replace(found, awaitable=False) if found is not None and found.awaitable else None

    def _add(self, target: ast.expr, value: Callable[[], Origin | None]) -> None:
        if not isinstance(target, ast.Name):
            return
        scope = self._scope(target)
        assert scope is not None
        statement = self._statement(target)
        plain = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Expr)
        straight = plain and self._source.parents.get(statement) is scope
        found = self._bindings.setdefault(scope, {}).setdefault(target.id, [])
        found[:] = [*(one for one in found if one.name is not target), _Binding(target, value, straight)]

    def _is_bound(self, node: ast.Name) -> bool:
        scope = self._scope(node)
        assert scope is not None
        return any(one.name is node for one in self._bindings.get(scope, {}).get(node.id, ()))

    def _scope(self, node: ast.AST) -> ast.AST | None:
        parent = self._source.parents.get(node)
        while parent is not None and not isinstance(parent, _SCOPES):
            parent = self._source.parents.get(parent)
        return parent

    def _statement(self, node: ast.AST) -> ast.AST:
        while not isinstance(node, ast.stmt) and node in self._source.parents:
            node = self._source.parents[node]
        return node


def _part(whole: Origin | None, key: ast.expr) -> Origin | None:
    """Give what a subscript takes out."""
    if whole is None or isinstance(key, ast.Slice):
        return whole
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return whole.field(key.value)
    return whole.item() if _is_number(key) else None


def _is_number(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant) and type(inner.value) is int


def _begins(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _ends(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)
