"""A program's tree, with what is asked of it more than once: parents, places, names."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import NamedTuple

__all__ = ["Place", "Tree", "scopes"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
scopes = (*_FUNCTIONS, ast.ClassDef)


class Place(NamedTuple):
    """Where something stands: from line and column to line and column, counted from 1, in characters."""

    line: int
    column: int
    end_line: int
    end_column: int


class Binding(NamedTuple):
    """One way in which a name gets a value."""

    node: ast.AST
    value: ast.expr | None
    """What it gets, where that is an expression of its own: `x = …`, `(x := …)`."""


class Tree:
    """A parsed program."""

    def __init__(self, module: ast.Module, code: str) -> None:
        self.module = module
        # As Python counts lines: a form feed or another odd separator is none.
        self._lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = []
        waiting: list[ast.AST] = [module]
        while waiting:
            node = waiting.pop()
            self.nodes.append(node)
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                waiting.append(child)

    def place(self, node: ast.expr | ast.keyword | ast.stmt | ast.arg) -> Place:
        """Say where a node stands."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return Place(
            node.lineno,
            self._column(node.lineno, node.col_offset),
            node.end_lineno,
            self._column(node.end_lineno, node.end_col_offset),
        )

    def _column(self, line: int, offset: int) -> int:
        # Python counts bytes; people, and ty, count characters.
        text = self._lines[line - 1]
        return (
            offset
            if text.isascii()
            else len(text.encode("utf-8", "replace")[:offset].decode(errors="ignore"))
        ) + 1

    @cached_property
    def bindings(self) -> dict[str, list[Binding]]:
        """Every name that the program gives a value to, anywhere, and how."""
        found: dict[str, list[Binding]] = {}
        for node in self.nodes:
            for name, value in _bound(node, self.parents):
                found.setdefault(name, []).append(Binding(node, value))
        return found

    @cached_property
    def defined(self) -> set[str]:
        """The functions and classes that the program defines."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return {node.name for node in self.nodes if isinstance(node, kinds)}

    @cached_property
    def modules(self) -> set[str]:
        """The names that stand for modules of the same name, and for nothing else."""
        return {
            name
            for name, bound in self.bindings.items()
            if all(
                isinstance(one.node, ast.alias)
                and one.node.name == name
                and isinstance(self.parents[one.node], ast.Import)
                for one in bound
            )
        }

    @cached_property
    def loads(self) -> dict[str, list[ast.Name]]:
        """Every place where a name is read."""
        found: dict[str, list[ast.Name]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found


def _bound(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> list[tuple[str, ast.expr | None]]:
    found: list[tuple[str, ast.expr | None]] = []
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            parent = parents[node]
            if isinstance(parent, ast.Tuple):
                found = [(name, _unpacked(node, parent, parents[parent]))]
            else:
                found = [(name, _given(node, parent))]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            found = [(name, None)]
        case ast.arg(arg=name) | ast.MatchMapping(rest=str(name)):
            found = [(name, None)]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            found = [(name, None)]
        case ast.alias(name=name, asname=other):
            found = [((other or name).partition(".")[0], None)]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            # It may get its value from anywhere.
            found = [(name, None) for name in names]
    return found


def _given(name: ast.Name, parent: ast.AST) -> ast.expr | None:
    if isinstance(parent, ast.Assign) and name in parent.targets:
        return parent.value
    if isinstance(parent, ast.NamedExpr | ast.AnnAssign) and parent.target is name:
        return parent.value
    return None


def _unpacked(name: ast.Name, several: ast.Tuple, parent: ast.AST) -> ast.expr | None:
    """Give what a name gets in `one, two = …, …`."""
    if not (
        isinstance(parent, ast.Assign) and several in parent.targets and isinstance(parent.value, ast.Tuple)
    ):
        return None
    same = len(parent.value.elts) == len(several.elts)
    starred = any(isinstance(one, ast.Starred) for one in (*several.elts, *parent.value.elts))
    return parent.value.elts[several.elts.index(name)] if same and not starred else None
