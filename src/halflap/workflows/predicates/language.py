"""The language of predicates: Python's expressions, restricted to comparisons, logic, arithmetic, values and dotted names.

`true`, `false` and `null` are values as in JSON. Anything else is refused, so a predicate can neither call nor assign nor look up anything.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.core.text import shorten

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PRELUDE", "names", "parse", "to_python"]

_LONGEST = 4_000
_MAX_NODES = 1_000
_LARGEST = 10**40
_CONSTANTS = {"true": True, "false": False, "null": None}
_ALLOWED = (
    ast.BoolOp, ast.And, ast.Or, ast.Not, ast.USub, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.UnaryOp, ast.Name, ast.Attribute, ast.Load,
)  # fmt: skip
_KEYWORDS = "|".join(word for word in keyword.kwlist if word not in {"and", "or", "not"})
_WORDS = re.compile(rf"""\"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\b({_KEYWORDS})\b""")
_FULL_WIDTH = 0xFEE0
_HINT = "A predicate has comparisons (==, !=, <, <=, >, >=), and, or, not, + - * /, parentheses, numbers, text, true, false, null and dotted names."


def parse(text: str) -> ast.expr:
    """Parse a predicate; a `WorkflowError` says what is wrong with it."""
    if len(text) > _LONGEST:
        raise _wrong(text, f"It has {len(text)} characters; at most {_LONGEST} are allowed.")
    try:
        with warnings.catch_warnings(action="ignore"):
            found = ast.parse(_WORDS.sub(_as_name, text.strip()), mode="eval").body
        nodes = list(ast.walk(found))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else "it cannot be read"
        raise _wrong(text, f"{reason[:1].upper()}{reason[1:]}. {_HINT}") from None
    if len(nodes) > _MAX_NODES:
        raise _wrong(text, "It is too long.")
    for node in nodes:
        _check(text, node)
    return found


def _as_name(found: re.Match[str]) -> str:
    """Let a keyword of Python be a name: with a full-width letter it is not a keyword, and is read as the same name."""
    word = found[0]
    return word if found[1] is None else chr(ord(word[0]) + _FULL_WIDTH) + word[1:]


def _check(text: str, node: ast.AST) -> None:
    if isinstance(node, ast.Constant):
        number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        if not number and not isinstance(node.value, str):
            raise _wrong(text, f"{node.value!r} is not allowed. {_HINT}")
        if number and not abs(node.value) < _LARGEST:  # type: ignore[arg-type]
            raise _wrong(text, "A number in it is too large.")
    elif not isinstance(node, _ALLOWED):
        raise _wrong(
            text,
            f"{shorten(ast.unparse(node), 80) if isinstance(node, ast.expr) else type(node).__name__} is not allowed. {_HINT}",
        )
    elif isinstance(node, ast.Compare) and len(node.ops) > 1:
        raise _wrong(text, "Comparisons cannot be chained; write `a < b and b < c`.")
    elif isinstance(node, ast.Attribute) and _path(node.value) is None:
        raise _wrong(text, f"Only names may have dots. {_HINT}")


def _wrong(text: str, message: str) -> WorkflowError:
    return WorkflowError([("", message)], f"The predicate {shorten(text, 80)!r} is invalid.")


def _path(node: ast.expr) -> tuple[str, ...] | None:
    """Return the parts of a dotted name."""
    if isinstance(node, ast.Attribute):
        before = _path(node.value)
        return None if before is None else (*before, node.attr)
    return (node.id,) if isinstance(node, ast.Name) and node.id not in _CONSTANTS else None


def names(expression: ast.expr) -> frozenset[tuple[str, ...]]:
    """Return the names that a predicate reads, each as its parts."""
    path = _path(expression)
    if path is not None:
        return frozenset({path})
    inner = (one for one in ast.iter_child_nodes(expression) if isinstance(one, ast.expr))
    return frozenset().union(*map(names, inner))


# As Python --------------------------------------------------------------------------------------------

PRELUDE = """
def _truth(value, text):
    if value is True or value is False:
        return value
    raise ValueError(f"The predicate {text!r} cannot be decided: {value!r} is neither true nor false.")


def _number(value, text):
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    raise ValueError(f"The predicate {text!r} cannot be decided: {value!r} is not a number.")


def _same(left, right):
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _ordered(left, right, text):
    if not (isinstance(left, str) and isinstance(right, str)):
        for one in (left, right):
            if isinstance(one, bool) or not isinstance(one, (int, float)):
                raise ValueError(f"The predicate {text!r} cannot be decided: {left!r} and {right!r} have no order.")
    return (left > right) - (left < right)


def _finite(value, text):
    if value - value == 0:
        return value
    raise ValueError(f"The predicate {text!r} cannot be decided: the number is too large.")
""".strip()
"""Functions that a program with predicates begins with."""


def to_python(expression: ast.expr, name: Callable[[tuple[str, ...]], ast.expr]) -> ast.expr:
    """Return an expression that is true or false, or raises where types do not fit. It calls `PRELUDE`."""
    return _Translation(name).truth(expression)


class _Translation:
    def __init__(self, name: Callable[[tuple[str, ...]], ast.expr]) -> None:
        self.name = name

    def truth(self, node: ast.expr) -> ast.expr:
        certain = isinstance(node, ast.BoolOp | ast.Compare) or (
            isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        )
        return self.value(node) if certain else _call("_truth", self.value(node), _text(node))

    def number(self, node: ast.expr) -> ast.expr:
        return (
            self.value(node)
            if isinstance(node, ast.BinOp)
            else _call("_number", self.value(node), _text(node))
        )

    def value(self, node: ast.expr) -> ast.expr:  # noqa: PLR0911 -- one for each kind of node
        path = _path(node)
        if path is not None:
            return self.name(path)
        match node:
            case ast.Name(id=word):
                return ast.Constant(_CONSTANTS[word])
            case ast.BoolOp(op=op, values=values):
                return ast.BoolOp(op, [self.truth(one) for one in values])
            case ast.UnaryOp(op=ast.Not(), operand=one):
                return ast.UnaryOp(ast.Not(), self.truth(one))
            case ast.UnaryOp(op=op, operand=one):
                return ast.UnaryOp(op, self.number(one))
            case ast.BinOp(left=left, op=op, right=right):
                return _call("_finite", ast.BinOp(self.number(left), op, self.number(right)), _text(node))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                ends = (self.value(left), self.value(right))
                if isinstance(op, ast.Eq | ast.NotEq):
                    same = _call("_same", *ends)
                    return same if isinstance(op, ast.Eq) else ast.UnaryOp(ast.Not(), same)
                return ast.Compare(_call("_ordered", *ends, _text(node)), [op], [ast.Constant(0)])
        return node


def _call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(function, ast.Load()), list(arguments), [])


def _text(node: ast.expr) -> ast.expr:
    return ast.Constant(ast.unparse(node))
