"""The calls in a program: tools with the arguments that its text shows, names that may be tools, awaits left out."""

from __future__ import annotations

import ast
import builtins
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from halflap.sandbox.check.inside.answer import Argument, Place, ToolCall
from halflap.sandbox.check.inside.tree import Tree, is_text
from halflap.sandbox.functions import PREFIXES

_BY_TEXT = "call_tool"
_CONDITIONAL = (
    ast.If, ast.IfExp, ast.BoolOp, ast.Try, ast.While, ast.Match, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda,
)  # fmt: skip
_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Raise)
_DYNAMIC = frozenset({"globals", "exec", "eval", "setattr", "vars", "locals", "builtins"})
_KNOWN = frozenset({*dir(builtins), "ToolError", "show", _BY_TEXT, "reveal_type"})
_TAKING_ANYTHING = frozenset(
    {"print", "str", "repr", "format", "bool", "len", "isinstance", "dumps", "pprint"}
)


# Tools and their arguments ----------------------------------------------------------------------------


def tool_calls(tree: Tree) -> Iterator[ToolCall]:
    """Yield every call of a tool, by its name as a function or as the text that `call_tool` takes."""
    for node in tree.nodes:
        match node:
            case ast.Call(func=ast.Name(id=name), args=given, keywords=named) if tree.is_tool(node):
                yield _call(tree, node, name, [*(("", one) for one in given), *_named(named)])
            case ast.Call(
                func=ast.Name(id=function), args=[ast.Constant(value=str(name)), *given], keywords=named
            ):
                if function == _BY_TEXT and _BY_TEXT not in tree.bindings:
                    if not given and [one.arg for one in named] == ["arguments"]:
                        # The keyword by which MCP's own `call_tool` takes them all.
                        given, named = [named[0].value], []
                    yield _call(tree, node, name, [*((None, one) for one in given), *_named(named)])


def _named(keywords: list[ast.keyword]) -> list[tuple[str | None, ast.expr | ast.keyword]]:
    return [(one.arg, one) for one in keywords]


def _call(
    tree: Tree, node: ast.Call, name: str, given: list[tuple[str | None, ast.expr | ast.keyword]]
) -> ToolCall:
    """Describe a call; `given` has the arguments by name, and None for a dict of arguments."""
    arguments: list[Argument] = []
    more = False
    for argument, at in given:
        value = at.value if isinstance(at, ast.keyword) else at
        read = _read_only(tree, value)
        if argument is not None and not isinstance(value, ast.Starred):
            arguments.append(Argument(argument, tree.place(at), _values(tree, node, at, value)))
        elif isinstance(read, ast.Dict) and all(map(is_text, read.keys)):
            for key, inner in zip(read.keys, read.values, strict=True):
                assert isinstance(key, ast.Constant)
                arguments.append(Argument(str(key.value), tree.place(key), _values(tree, node, key, inner)))
        else:
            more = True
    return ToolCall(name, tree.place(node), not tree.is_tool(node), more, arguments)


def _read_only(tree: Tree, node: ast.expr) -> ast.expr:
    """Return the value of a variable that is set once and then only read, or else the expression itself."""
    bound = tree.only_binding(node)
    if bound is None or bound.value is None or not isinstance(node, ast.Name):
        return node
    is_read = all(_only_reads(tree, load) for load in tree.loads[node.id])
    return bound.value if is_read and not _is_tested(tree, node) else node


def _is_tested(tree: Tree, variable: ast.Name) -> bool:
    """Return whether the program looks at a variable's value: then it may not make the call."""
    for load in tree.loads[variable.id]:
        for inner, outer in pairwise([load, *tree.around(load)]):
            # Its own functions may end the program.
            is_own = isinstance(outer, ast.Call) and getattr(outer.func, "id", "") in tree.bindings
            is_test = getattr(outer, "test", None) is inner or inner in getattr(outer, "ifs", ())
            if is_own or is_test or isinstance(outer, ast.BoolOp | ast.Match):
                return True
            if isinstance(outer, ast.stmt):
                break
    return False


def _only_reads(tree: Tree, load: ast.Name) -> bool:
    match tree.parents[load]:
        case ast.keyword(arg=None) | ast.FormattedValue() | ast.Compare() | ast.Subscript(ctx=ast.Load()):
            return True
        case ast.For(iter=needed) | ast.comprehension(iter=needed):
            return needed is load
        case ast.Call(func=ast.Name(id=function)):
            return function in _KNOWN and function not in tree.bindings
    return False


def _values(tree: Tree, call: ast.Call, at: ast.AST, value: ast.expr) -> list[tuple[Any, Place]]:
    """Return the values that an argument certainly gets, each with its place; none if that depends on the run."""
    bound, loop = tree.only_binding(value), tree.loop_over(value)
    try:
        if loop is None:
            if bound and isinstance(value, ast.Name) and not _is_tested(tree, value):
                value = bound.value if isinstance(bound.value, ast.Constant) else value
            return [(_json(value), tree.place(at))]
        listed = _read_only(tree, loop.iter)
        if isinstance(listed, ast.List | ast.Tuple | ast.Set) and _is_reached(tree, call, loop):
            return [(_json(one), tree.place(one)) for one in listed.elts]
    except (ValueError, TypeError):
        pass
    return []


def _is_reached(tree: Tree, call: ast.Call, loop: ast.For | ast.comprehension) -> bool:
    """Return whether a call is made for every value of the loop around it."""
    body = tree.parents[loop] if isinstance(loop, ast.comprehension) else loop
    around = tree.around(call)
    if body not in around:
        return False
    between = around[: around.index(body)]
    within = list(ast.walk(body))
    is_filtered = isinstance(loop, ast.comprehension) and any(getattr(one, "ifs", None) for one in within)
    return not (
        is_filtered
        or any(isinstance(one, _LEAVING) for one in within)
        or any(isinstance(one, _CONDITIONAL) for one in between)
    )


def _json(node: ast.expr) -> Any:
    """Return the JSON value that an expression writes out; raise `ValueError` or `TypeError` if there is none."""
    value = ast.literal_eval(node)
    json.dumps(value, allow_nan=False)
    return value


def unbound_names(tree: Tree) -> Iterator[tuple[str, Place]]:
    """Yield names that nothing in the program gives a meaning to, `a.b.c` as a whole, where they may be tools."""
    if not _DYNAMIC.isdisjoint(tree.loads) or "*" in tree.bindings:
        return
    for name, loads in tree.loads.items():
        if name in tree.bindings or name in _KNOWN:
            continue
        for load in loads:
            node: ast.expr = load
            while isinstance(outer := tree.parents[node], ast.Attribute):
                node = outer
            if tree.is_called(node) or name.startswith(PREFIXES):
                yield ast.unparse(node), tree.place(node)


# Awaits -----------------------------------------------------------------------------------------------


def ignored_calls(tree: Tree) -> list[ast.Call]:
    """Return the calls of what may be async functions whose value is dropped, printed or tested, which never fails."""
    own = {node.name for node in tree.nodes if isinstance(node, ast.AsyncFunctionDef)}
    return [
        node
        for node in tree.nodes
        if isinstance(node, ast.Call)
        and (tree.is_tool(node) or getattr(node.func, "attr", getattr(node.func, "id", None)) in own)
        and _is_ignored(tree, node)
    ]


def iterated_results(tree: Tree) -> Iterator[ast.expr]:
    """Yield results of `asyncio` functions that are looped over or unpacked, which types alone allow for a future."""
    for node in tree.nodes:
        match node:
            case (
                ast.For(iter=value) | ast.comprehension(iter=value, is_async=0)
                | ast.Assign(targets=[ast.Tuple()], value=value)
            ):  # fmt: skip
                bound = tree.only_binding(value)
                match bound.value if bound else value:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"))):
                        yield value


def _is_ignored(tree: Tree, node: ast.Call) -> bool:
    match parent := tree.parents[node]:
        case ast.Expr():
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) if not isinstance(tree.parents[parent], ast.ClassDef):
            is_only = len(tree.bindings[name]) == 1 and name != "_"
            return is_only and all(_is_shown(tree, load) for load in tree.loads.get(name, []))
    return _is_shown(tree, node)


def _is_shown(tree: Tree, node: ast.expr) -> bool:
    """Return whether a value is printed, or only asked whether it is true."""
    match tree.parents[node]:
        case ast.FormattedValue():
            return True
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            return test is node
        case ast.Compare(ops=operators):
            return not any(isinstance(one, ast.Is | ast.IsNot | ast.In | ast.NotIn) for one in operators)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) as call:
            return call.func is not node and name in _TAKING_ANYTHING and name not in tree.bindings
    return False
