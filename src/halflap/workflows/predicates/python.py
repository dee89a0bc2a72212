"""Predicates as Python, for the program that a workflow becomes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.workflows.predicates.language import (
    Arithmetic,
    Comparison,
    Constant,
    Logic,
    Name,
    Negative,
    Not,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.workflows.predicates.language import Expression

__all__ = ["PRELUDE", "to_python"]

PRELUDE = """
def _truth(value, said):
    if value is True or value is False:
        return value
    raise ValueError(f"The predicate {said!r} cannot be decided: it is {value!r}, and neither true nor false.")


def _number(value, said):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise ValueError(f"The predicate {said!r} cannot be decided: it is {value!r}, and no number.")


def _same(left, right):
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _ordered(left, right, said):
    texts = isinstance(left, str) and isinstance(right, str)
    if not texts:
        for one in (left, right):
            if isinstance(one, bool) or not isinstance(one, (int, float)):
                raise ValueError(f"The predicate {said!r} cannot be decided: {left!r} and {right!r} have no order.")
    return (left > right) - (left < right)


def _finite(value, said):
    if value - value == 0:
        return value
    raise ValueError(f"The predicate {said!r} cannot be decided: the number is too large.")
""".strip()
"""Functions that a program with predicates begins with; they use nothing but what Python has by itself."""

_COMPARES: dict[str, type[ast.cmpop]] = {"<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE}
_CALCULATES: dict[str, type[ast.operator]] = {"+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div}


def to_python(expression: Expression, name: Callable[[tuple[str, ...]], ast.expr]) -> ast.expr:
    """Build the node of a predicate; it is true or false, or raises, where `evaluate` does. It calls `PRELUDE`."""
    return _truth(expression, name)


def _call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(function, ast.Load()), list(arguments), [])


def _said(expression: Expression) -> ast.expr:
    return ast.Constant(write(expression))


def _is_truth(expression: Expression) -> bool:
    return isinstance(expression, Not | Logic | Comparison) or (
        isinstance(expression, Constant) and isinstance(expression.value, bool)
    )


def _truth(expression: Expression, name: Callable[[tuple[str, ...]], ast.expr]) -> ast.expr:
    node = _node(expression, name)
    return node if _is_truth(expression) else _call("_truth", node, _said(expression))


def _number(expression: Expression, name: Callable[[tuple[str, ...]], ast.expr]) -> ast.expr:
    node = _node(expression, name)
    return (
        node if isinstance(expression, Negative | Arithmetic) else _call("_number", node, _said(expression))
    )


def _node(expression: Expression, name: Callable[[tuple[str, ...]], ast.expr]) -> ast.expr:  # noqa: PLR0911 - one for each kind
    match expression:
        case Constant(value):
            return ast.Constant(value)
        case Name(path):
            return name(path)
        case Not(one):
            return ast.UnaryOp(ast.Not(), _truth(one, name))
        case Negative(one):
            return ast.UnaryOp(ast.USub(), _number(one, name))
        case Logic(sign, parts):
            return ast.BoolOp(ast.And() if sign == "and" else ast.Or(), [_truth(one, name) for one in parts])
        case Comparison(sign, left, right):
            ends = (_node(left, name), _node(right, name))
            if sign in {"==", "!="}:
                same = _call("_same", *ends)
                return same if sign == "==" else ast.UnaryOp(ast.Not(), same)
            ordered = _call("_ordered", *ends, _said(expression))
            return ast.Compare(ordered, [_COMPARES[sign]()], [ast.Constant(0)])
        case Arithmetic(sign, left, right):
            node = ast.BinOp(_number(left, name), _CALCULATES[sign](), _number(right, name))
            return _call("_finite", node, _said(expression))
