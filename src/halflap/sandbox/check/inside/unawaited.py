"""Calls that a program makes but never awaits: what they should do does not happen."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.inside.toolcalls import is_tool

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["never_awaited"]

_READERS = frozenset(
    {
        "print", "len", "str", "repr", "int", "float", "sorted", "sum", "min", "max", "list", "tuple", "set",
        "dict", "enumerate", "zip", "reversed", "any", "all", "isinstance", "round", "abs",
    }
)  # fmt: skip
"""Functions to which something that was not awaited is of no use."""
_MODULES = frozenset(
    {
        "base64", "csv", "datetime", "decimal", "difflib", "hashlib", "html", "io", "json", "math", "pprint", "re",
        "statistics", "string", "textwrap", "urllib", "xml",
    }
)  # fmt: skip
"""Modules that have to do with values alone."""
_OF_AWAITABLES = frozenset(
    {
        "send", "throw", "close", "cr_await", "cr_code", "cr_frame", "cr_running", "cr_origin", "cr_suspended",
        "add_done_callback", "remove_done_callback", "cancel", "cancelled", "done", "result", "exception",
        "get_loop", "set_result", "set_exception", "get_name", "set_name", "get_coro", "get_stack",
    }
)  # fmt: skip
"""What one may ask of a coroutine or a future without awaiting it."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def never_awaited(tree: Tree) -> list[dict[str, Any]]:
    """Give the calls of which it is certain that nobody awaits them."""
    own = _own_functions(tree)
    found = []
    for node in tree.nodes:
        if not isinstance(node, ast.Call):
            continue
        kind = _kind(tree, node, own)
        if kind and (_is_wasted(tree, node, kind) or _is_kept_for_nothing(tree, node, own)):
            found.append({"name": _name(node), "at": tree.place(node)})
    return found


def _own_functions(tree: Tree) -> set[str]:
    """Give the async functions that the program defines, and calls by no other name."""
    return {
        node.name
        for node in tree.nodes
        if isinstance(node, ast.AsyncFunctionDef)
        and isinstance(tree.parents[node], ast.Module)
        and not node.decorator_list
        and len(tree.bindings[node.name]) == 1
        and not _is_generator(tree, node)
    }


def _is_generator(tree: Tree, function: ast.AsyncFunctionDef) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Yield):
            above = tree.parents[node]
            while not isinstance(above, _FUNCTIONS):
                above = tree.parents[above]
            if above is function:
                return True
    return False


def _kind(tree: Tree, node: ast.Call, own: set[str]) -> str | None:
    """Say what a call makes that has to be awaited; a future goes on by itself, a coroutine does not."""
    if isinstance(node.func, ast.Name) and not (is_tool(node) and node.func.id in tree.bindings):
        return "coroutine" if is_tool(node) or node.func.id in own else None
    is_gather = (
        isinstance(node.func, ast.Attribute)
        and node.func.attr == "gather"
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "asyncio"
    )
    return "future" if is_gather else None


def _name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else "asyncio.gather"


def _is_wasted(tree: Tree, node: ast.expr, kind: str) -> bool:
    """Say whether the value is used as only what it would have given could be, or not at all."""
    wasted = False
    match tree.parents[node]:
        case ast.Expr():
            # A future goes on by itself, and somebody may wait long enough.
            wasted = kind == "coroutine"
        case ast.FormattedValue() | ast.UnaryOp() | ast.BinOp():
            wasted = True
        case ast.Subscript(value=value):
            wasted = value is node
        case ast.Attribute(attr=attribute):
            wasted = attribute not in _OF_AWAITABLES
        case ast.For(iter=needed) | ast.comprehension(iter=needed):
            wasted = needed is node
        case ast.Compare(ops=operators):
            wasted = not any(isinstance(one, ast.Is | ast.IsNot | ast.In | ast.NotIn) for one in operators)
        case ast.If(test=needed) | ast.While(test=needed) | ast.IfExp(test=needed):
            wasted = needed is node
        case ast.Assign(targets=targets):
            wasted = any(isinstance(target, ast.Tuple | ast.List) for target in targets)
        case ast.Call() | ast.keyword() as place:
            wasted = _is_useless_argument(tree, node, place)
    return wasted


def _is_useless_argument(tree: Tree, node: ast.expr, place: ast.Call | ast.keyword) -> bool:
    if isinstance(place, ast.Call):
        return place.func is not node and _is_useless_to(tree, place)
    call = tree.parents[place]
    return isinstance(call, ast.Call) and (is_tool(call) or _is_useless_to(tree, call))


def _is_useless_to(tree: Tree, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id in _READERS and call.func.id not in tree.bindings
    return (
        isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id in _MODULES & tree.modules
    )


def _is_kept_for_nothing(tree: Tree, node: ast.Call, own: set[str]) -> bool:
    """Say whether the value gets a name that is used for nothing else, and nowhere as an awaitable."""
    parent = tree.parents[node]
    if not (isinstance(parent, ast.Assign) and len(parent.targets) == 1):
        return False
    target = parent.targets[0]
    if not isinstance(target, ast.Name) or target.id == "_" or isinstance(tree.parents[parent], ast.ClassDef):
        return False
    kinds = [
        _kind(tree, one.value, own) if isinstance(one.value, ast.Call) else None
        for one in tree.bindings[target.id]
    ]
    if None in kinds:
        return False
    loads = tree.loads.get(target.id, [])
    if not loads and "future" in kinds:
        return False
    return all(_is_wasted(tree, load, "coroutine") for load in loads)
