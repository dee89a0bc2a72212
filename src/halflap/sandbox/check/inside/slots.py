"""Where a program's own functions could say a type and do not: what they return, and what they are called with."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.sandbox.check.inside.tree import Place

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["slots_in"]

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_OPEN, _CLOSE = "([{", ")]}"


class Slot(NamedTuple):
    """A place for a type, the values that it is the type of, and in which form it is written there."""

    at: Place
    values: list[Place]
    form: str


def slots_in(tree: Tree, code: str) -> list[dict[str, Any]]:
    """Give the places for types that can be found out from the values that the program has there."""
    functions = [
        node
        for node in tree.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.decorator_list
    ]
    if not functions:
        return []
    slots = [*_returned(tree, functions, code)]
    for node in functions:
        slots += _taken(tree, node)
    return [slot._asdict() for slot in slots if slot.values]


def _returned(tree: Tree, functions: list[_Function], code: str) -> list[Slot]:
    """Give what async functions return or yield; of others, ty finds it out itself."""
    waiting = [node for node in functions if isinstance(node, ast.AsyncFunctionDef) and node.returns is None]
    values: dict[ast.AST, list[Place]] = {node: [] for node in waiting}
    yielding: set[ast.AST] = set()
    for node in tree.nodes if waiting else ():
        if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
            function = _around(tree, node)
            if function in values:
                values[function].append(tree.place(node.value))
                if isinstance(node, ast.Yield):
                    yielding.add(function)
    colons = _colons(code) if waiting else {}
    return [
        Slot(
            colons[node.lineno, node.col_offset],
            values[node],
            "yields" if node in yielding else "returns",
        )
        for node in waiting
        if (node.lineno, node.col_offset) in colons
    ]


def _around(tree: Tree, node: ast.AST) -> ast.AST:
    """Give the function that something stands in."""
    above = tree.parents[node]
    while not isinstance(above, _FUNCTIONS) and above in tree.parents:
        above = tree.parents[above]
    return above


def _taken(tree: Tree, function: _Function) -> list[Slot]:
    """Give the parameters of a function that is only ever called, and by its name: with what it is called."""
    calls = _calls(tree, function)
    arguments = function.args
    if not calls or arguments.vararg or arguments.kwarg or arguments.posonlyargs:
        return []
    names = [one.arg for one in arguments.args]
    slots = []
    for number, one in enumerate([*arguments.args, *arguments.kwonlyargs]):
        given = [_given(call, one.arg, number if one.arg in names else None) for call in calls]
        if one.annotation is None and all(given) and not _is_bound_again(function, one.arg):
            place = tree.place(one)
            end = Place(place.end_line, place.end_column, place.end_line, place.end_column)
            slots.append(Slot(end, [tree.place(value) for value in given if value is not None], "takes"))
    return slots


def _is_bound_again(function: _Function, name: str) -> bool:
    """Say whether a parameter gets another value: it is not only what the function is called with."""
    return any(
        isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
        for node in ast.walk(function)
    )


def _calls(tree: Tree, function: _Function) -> list[ast.Call]:
    """Give all calls of a function from outside of it; none if it is used in any other way as well."""
    if len(tree.bindings[function.name]) != 1 or not isinstance(tree.parents[function], ast.Module):
        return []
    calls = []
    for load in tree.loads.get(function.name, []):
        call = tree.parents[load]
        if not isinstance(call, ast.Call) or call.func is not load:
            return []
        if any(isinstance(one, ast.Starred) for one in call.args) or any(
            one.arg is None for one in call.keywords
        ):
            return []
        if not _is_within(tree, call, function):
            calls.append(call)
    return calls


def _is_within(tree: Tree, node: ast.AST, function: ast.AST) -> bool:
    while node in tree.parents:
        node = tree.parents[node]
        if node is function:
            return True
    return False


def _given(call: ast.Call, name: str, number: int | None) -> ast.expr | None:
    """Give what a call passes for a parameter; nothing if it leaves it at its default."""
    if number is not None and number < len(call.args):
        return call.args[number]
    return next((one.value for one in call.keywords if one.arg == name), None)


def _colons(code: str) -> dict[tuple[int, int], Place]:
    """Say where the colon of each `async def` stands, by where that begins."""
    found: dict[tuple[int, int], Place] = {}
    begin: tuple[int, int] | None = None
    depth = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type == tokenize.NAME and token.string == "async":
                begin, depth = token.start, 0
            elif begin is not None and token.type == tokenize.OP:
                depth += (token.string in _OPEN) - (token.string in _CLOSE)
                if token.string == ":" and depth == 0:
                    line, column = token.start[0], token.start[1] + 1
                    found[begin] = Place(line, column, line, column)
                    begin = None
    except (tokenize.TokenError, SyntaxError):
        return {}
    return found
