"""What the async functions of a program return, where it says no type itself: the places to ask for it."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.execution.check.inside.tree import Tree

__all__ = ["returns_in"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_OPEN, _CLOSE = "([{", ")]}"


def returns_in(tree: Tree, code: str) -> list[dict[str, Any]]:
    """Give each such function: where its type would be written, and the values that it returns or yields."""
    functions = {
        node: (node.lineno, node.col_offset)
        for node in tree.nodes
        if isinstance(node, ast.AsyncFunctionDef) and node.returns is None and not node.decorator_list
    }
    if not functions:
        return []
    given = _given(tree, functions)
    colons = _colons(code)
    return [
        {
            "colon": [*colons[begin], *colons[begin]],
            "values": [tree.place(value) for value in returned],
            "yields": yields,
        }
        for node, begin in functions.items()
        if begin in colons
        for returned, yields in [given[node]]
        if returned
    ]


def _given(tree: Tree, functions: Any) -> dict[ast.AST, tuple[list[ast.expr], bool]]:
    found: dict[ast.AST, tuple[list[ast.expr], bool]] = {node: ([], False) for node in functions}
    for node in tree.nodes:
        if not isinstance(node, ast.Return | ast.Yield) or node.value is None:
            continue
        above = tree.parents[node]
        while not isinstance(above, _FUNCTIONS) and above in tree.parents:
            above = tree.parents[above]
        if above in found:
            values, yields = found[above]
            if not (isinstance(node.value, ast.Constant) and node.value.value is None):
                values.append(node.value)
            found[above] = (values, yields or isinstance(node, ast.Yield))
    return found


def _colons(code: str) -> dict[tuple[int, int], tuple[int, int]]:
    """Say where the colon of each `async def` stands; lines from 1, columns of the keys from 0, of the values from 1."""
    found: dict[tuple[int, int], tuple[int, int]] = {}
    begin: tuple[int, int] | None = None
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.NAME and token.string == "async":
                begin, depth = token.start, 0
            elif begin is not None and token.type == tokenize.OP:
                depth += (token.string in _OPEN) - (token.string in _CLOSE)
                if token.string == ":" and depth == 0:
                    found[begin] = (token.start[0], token.start[1] + 1)
                    begin = None
    except (tokenize.TokenError, SyntaxError):
        return {}
    return found
