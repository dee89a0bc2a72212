"""Predicates: when a flow out of a split is taken.

Python's expressions, restricted to comparisons, logic, arithmetic, values and dotted names; `true`, `false` and `null` are values
as in JSON. Anything else is refused, so a predicate can neither call nor assign anything. Its value has to be a boolean.
"""

from __future__ import annotations

import ast
import re
import warnings
from keyword import kwlist

from halflap.core.errors import WorkflowError
from halflap.core.text import shorten

_LONGEST = 4_000
_MAX_NODES = 1_000
_LARGEST = 10**40
_NOT_RESERVED = re.compile(
    r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|\b(?:""" + "|".join({*kwlist} - {"and", "or", "not"}) + r")\b"
)
_MARK = "·"
"""Appended to names such as `from`, which Python reserves and fields of results have."""
_CONSTANTS = {"true": True, "false": False, "null": None}
_ALLOWED = (
    ast.BoolOp, ast.And, ast.Or, ast.Not, ast.USub, ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.UnaryOp, ast.Name, ast.Attribute, ast.Load,
)  # fmt: skip
_HINT = "A predicate has comparisons (==, !=, <, <=, >, >=), and, or, not, + - * /, parentheses, numbers, text, true, false, null and dotted names."

Path = tuple[str, ...]
"""The parts of a dotted name."""


def parse(text: str) -> ast.expr:
    """Parse a predicate; an invalid one raises a `WorkflowError`."""
    what = f"The predicate {shorten(text, 80)!r} is invalid."
    try:
        with warnings.catch_warnings(action="ignore"):
            marked = _NOT_RESERVED.sub(lambda one: one[1] or f"{one[0]}{_MARK}", text[:_LONGEST].strip())
            found = ast.parse(marked, mode="eval").body
        nodes = list(ast.walk(found))
        for node in nodes:
            _check(node)
    except SyntaxError as error:
        raise WorkflowError([("", f"{error.msg[:1].upper()}{error.msg[1:]}. {_HINT}")], what) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise WorkflowError([("", str(error) or "It cannot be read.")], what) from None
    if len(text) > _LONGEST or len(nodes) > _MAX_NODES:
        message = f"It is too long: at most {_LONGEST} characters and {_MAX_NODES} parts are allowed."
        raise WorkflowError([("", message)], what)
    return found


def _check(node: ast.AST) -> None:
    if isinstance(node, ast.Constant):
        number = isinstance(node.value, int | float) and not isinstance(node.value, bool)
        if not number and not isinstance(node.value, str):
            raise ValueError(f"{node.value!r} is not allowed. {_HINT}")
        if number and not abs(node.value) < _LARGEST:  # type: ignore[arg-type]
            raise ValueError("A number in it is too large.")
    elif not isinstance(node, _ALLOWED):
        what = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
        raise ValueError(f"{shorten(what, 80)} is not allowed. {_HINT}")  # noqa: TRY004 -- caught in `parse`
    elif isinstance(node, ast.Attribute) and _path(node.value) is None:
        raise ValueError(f"Only names may have dots. {_HINT}")


def _path(node: ast.expr) -> Path | None:
    if isinstance(node, ast.Attribute):
        before = _path(node.value)
        return None if before is None else (*before, node.attr.removesuffix(_MARK))
    return (
        (node.id.removesuffix(_MARK),) if isinstance(node, ast.Name) and node.id not in _CONSTANTS else None
    )


def names(expression: ast.expr) -> frozenset[Path]:
    """Return the names that a predicate reads."""
    path = _path(expression)
    if path is not None:
        return frozenset({path})
    inner = (one for one in ast.iter_child_nodes(expression) if isinstance(one, ast.expr))
    return frozenset().union(*map(names, inner))


# As Python --------------------------------------------------------------------------------------------

PRELUDE = """
def _true(value, text):
    if isinstance(value, bool):
        return value
    raise ValueError(f"The predicate {text!r} cannot be decided: {value!r} is not true or false.")
""".strip()
"""The definitions that the predicates of a program use."""


def to_python(node: ast.expr, where: str) -> ast.expr:
    """Return an expression that is a boolean, or raises. It calls `PRELUDE`, and `_look(path, where)` for names."""
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(node.op, [to_python(one, where) for one in node.values])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ast.UnaryOp(node.op, to_python(node.operand, where))
    if isinstance(node, ast.Compare):
        left, *others = (_value(one, where) for one in (node.left, *node.comparators))
        return ast.Compare(left, node.ops, others)
    text = ast.unparse(node).replace(_MARK, "")
    return ast.Call(ast.Name("_true", ast.Load()), [_value(node, where), ast.Constant(text)], [])


def _value(node: ast.expr, where: str) -> ast.expr:
    path = _path(node)
    if path is not None:
        steps: list[ast.expr] = [ast.Constant(step) for step in path]
        return ast.Call(ast.Name("_look", ast.Load()), [ast.List(steps, ast.Load()), ast.Constant(where)], [])
    if isinstance(node, ast.Name):
        return ast.Constant(_CONSTANTS[node.id])
    if isinstance(node, ast.BinOp):
        return ast.BinOp(_value(node.left, where), node.op, _value(node.right, where))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return ast.UnaryOp(node.op, _value(node.operand, where))
    return node if isinstance(node, ast.Constant) else to_python(node, where)
