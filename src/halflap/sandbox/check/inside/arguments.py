"""Arguments of tool calls whose type certainly does not fit, by what ty knows about the value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from halflap.core.text import visible
from halflap.sandbox.check.inside.reads import Verdict
from halflap.sandbox.check.inside.tool_calls import argument_nodes, plain_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.sandbox.check.inside.probes import Probes, Types
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["argument_verdict"]

_PYTHON: dict[str, Types] = {
    "string": ("str",),
    "number": ("int", "float"),
    "boolean": ("bool",),
    "null": ("None",),
    "array": ("list[Any]", "tuple[Any, ...]"),
    "object": ("dict[Any, Any]", "HalflapObject"),
}
_NO_JSON: Types = (
    "set[Any]", "frozenset[Any]", "bytes", "complex", "range", "BaseException", "Awaitable[Any]",
)  # fmt: skip
_MAX_NAME = 200


def argument_verdict(
    tree: Tree, node: ast.AST, tools: Mapping[str, Any], probes: Probes
) -> tuple[ast.AST, Verdict | None]:
    """Judge the argument of a tool that a node is, if it is one; literal values are judged elsewhere."""
    for call in (one for one in tree.around(node)[:3] if isinstance(one, ast.Call) and tree.is_tool(one)):
        assert isinstance(call.func, ast.Name)
        if call.func.id not in tools:
            continue
        tool = tools[call.func.id]
        for name, at, value in argument_nodes(tree, call)[0]:
            parameter = tool["parameters"].get(name or tool["positional"])
            if node in {at, value} and parameter is not None and not plain_value(value):
                verdict = _verdict(value, parameter, probes, visible(name or tool["positional"], _MAX_NAME))
                if verdict is not None:
                    certain = verdict.certain and not _is_annotated(tree, value)
                    verdict = verdict._replace(certain=certain, right=f"It takes: {tool['takes']}")
                return at, verdict
    return node, None


def _verdict(value: ast.expr, parameter: Mapping[str, Any], probes: Probes, name: str) -> Verdict | None:
    fits = parameter["kinds"]
    unfit = tuple(one for kind, types in _PYTHON.items() if kind not in fits for one in types)
    fitting = tuple(one for kind in fits for one in _PYTHON[kind])
    certain = probes.all_are(value, unfit + _NO_JSON, but=fitting)
    found = probes.members(value, [*_PYTHON.values()], (*_NO_JSON, "HalflapMaybe"))
    received = [kind for number, kind in enumerate(_PYTHON) if number in found and kind not in fits]
    if not certain and not received:
        # That a string may not be one of an enum's values is not worth a word.
        return None
    got = " or ".join(received) or "something else"
    return Verdict(certain, "wrong-argument", f"{name}: expected {parameter['shown']}, received {got}.")


def _is_annotated(tree: Tree, value: ast.expr) -> bool:
    """Return whether the program itself says what the value is; a type checker believes that, and it may be wrong."""
    return any(
        (isinstance(one.node, ast.arg) and one.node.annotation is not None)
        or isinstance(tree.parents.get(one.node), ast.AnnAssign)
        for node in ast.walk(value)
        if isinstance(node, ast.Name)
        for one in tree.bindings.get(node.id, [])
    )
