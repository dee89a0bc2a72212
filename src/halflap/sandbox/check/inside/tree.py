"""The syntax tree of a program, with positions, parents and bindings of names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeGuard

from halflap.sandbox.check.inside.answer import Place, lines_of
from halflap.sandbox.functions import PREFIXES

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Positions:
    """Positions in a text. Python counts columns in bytes, people and ty in characters."""

    def __init__(self, code: str) -> None:
        self._lines = lines_of(code)

    def place(self, node: Any) -> Place:
        line, end = node.lineno, node.end_lineno
        return Place(line, self._column(line, node.col_offset), end, self._column(end, node.end_col_offset))

    def _column(self, line: int, offset: int) -> int:
        text = self._lines[line - 1]
        if not text.isascii():
            offset = len(text.encode("utf-8", "replace")[:offset].decode(errors="ignore"))
        return offset + 1


class Binding(NamedTuple):
    """A place where a name gets a value."""

    node: ast.AST
    value: ast.expr | None
    """Its value, where that is an expression: `x = …`, `(x := …)`."""
    is_augmented: bool
    """It is `x += …`, so the name had a value before."""
    function: ast.AST | None
    """The innermost function around it."""


class Tree:
    """A parsed program."""

    def __init__(self, module: ast.Module, code: str) -> None:
        self.nodes = list(ast.walk(module))
        self.parents = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.place = Positions(code).place

    @cached_property
    def bindings(self) -> dict[str, list[Binding]]:
        """The bindings of every name, in all scopes."""
        found: dict[str, list[Binding]] = {}
        for node in self.nodes:
            for name, value in self._bound(node):
                is_augmented = isinstance(self.parents[node], ast.AugAssign)
                bound = Binding(node, value, is_augmented, self.function_around(node))
                found.setdefault(name, []).append(bound)
        return found

    def bindings_of(self, node: ast.AST) -> list[Binding]:
        """Return the bindings of a name in the innermost function around it that has any."""
        bound = self.bindings.get(node.id, []) if isinstance(node, ast.Name) else []
        if not any(isinstance(one.node, ast.Global | ast.Nonlocal) for one in bound):
            for function in self._functions_around(node):
                if here := [one for one in bound if one.function is function]:
                    return here
        return bound

    def function_around(self, node: ast.AST) -> ast.AST | None:
        return next(self._functions_around(node))

    def _functions_around(self, node: ast.AST) -> Iterator[ast.AST | None]:
        yield from (one for one in self.around(node) if isinstance(one, FUNCTIONS))
        yield None

    def only_binding(self, node: ast.AST) -> Binding | None:
        """Return the binding of a name if there is just one."""
        bound = self.bindings_of(node)
        return bound[0] if len(bound) == 1 else None

    def loop_over(self, node: ast.AST) -> ast.For | ast.comprehension | None:
        """Return the loop that a name is the variable of, if it has no other binding."""
        if not isinstance(node, ast.Name):
            return None
        for inner, outer in pairwise([node, *self.around(node)]):
            if isinstance(outer, (*FUNCTIONS, ast.ClassDef)):
                break
            if isinstance(outer, _COMPREHENSIONS) and not isinstance(inner, ast.comprehension):
                # Its variables hide others of the same name.
                for loop in outer.generators:
                    if isinstance(loop.target, ast.Name) and loop.target.id == node.id:
                        return loop
        bound = self.only_binding(node)
        parent = self.parents[bound.node] if bound else None
        if isinstance(parent, ast.For | ast.comprehension) and bound and parent.target is bound.node:
            return parent
        return None

    @cached_property
    def loads(self) -> dict[str, list[ast.Name]]:
        """The places where each name is read."""
        found: dict[str, list[ast.Name]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found

    def is_called(self, node: ast.AST) -> bool:
        call = self.parents[node]
        return isinstance(call, ast.Call) and call.func is node

    def around(self, node: ast.AST) -> list[ast.AST]:
        """Return the nodes around a node, innermost first."""
        found = []
        while node in self.parents:
            node = self.parents[node]
            found.append(node)
        return found

    def is_tool(self, node: ast.AST) -> TypeGuard[ast.Call]:
        """Return whether a node is a call of a tool by its name, and the program does not rebind that name."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id.startswith(PREFIXES)
            and node.func.id not in self.bindings
        )

    def _bound(self, node: ast.AST) -> list[tuple[str, ast.expr | None]]:
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                return [(name, self._given(node))]
            case (
                ast.FunctionDef(name=str(name)) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name)
                | ast.arg(arg=name) | ast.MatchMapping(rest=str(name)) | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name))
            ):  # fmt: skip
                return [(name, None)]
            case ast.alias(name=name, asname=other):
                return [((other or name).partition(".")[0], None)]
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                # It may get its value from anywhere.
                return [(name, None) for name in names]
        return []

    def _given(self, name: ast.AST) -> ast.expr | None:
        parent = self.parents[name]
        if isinstance(parent, ast.Assign) and name in parent.targets:
            return parent.value
        if isinstance(parent, ast.NamedExpr | ast.AnnAssign) and parent.target is name:
            return parent.value
        match parent, self.parents.get(parent):
            case ast.Tuple(elts=names), ast.Assign(value=ast.Tuple(elts=values)) if len(names) == len(values):
                if not any(isinstance(one, ast.Starred) for one in (*names, *values)):
                    return values[[one is name for one in names].index(True)]
        return None


def is_text(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
