"""What a predicate says about the values of a case."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
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
    from collections.abc import Callable, Mapping

    from halflap.workflows.predicates.language import Expression

__all__ = ["evaluate", "holds"]

_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_CALCULATES: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def holds(expression: Expression, values: Mapping[str, Any]) -> bool:
    """Say whether a predicate holds for values as JSON has them; where it cannot be said, that is an error."""
    found = evaluate(expression, values)
    if not isinstance(found, bool):
        raise _unclear(expression, f"It is {_kind(found)}, and neither true nor false.")
    return found


def evaluate(expression: Expression, values: Mapping[str, Any]) -> Any:  # noqa: PLR0911 - one for each kind
    """Give the value of an expression."""
    match expression:
        case Constant(value):
            return value
        case Name(path):
            return _looked_up(expression, path, values)
        case Not(one):
            return not _truth(one, values)
        case Negative(one):
            return -_number(one, values)
        case Logic(sign, parts):
            # The last decides, as soon as it is not what leaves it open.
            return next(
                (sign == "or" for part in parts if _truth(part, values) == (sign == "or")), sign == "and"
            )
        case Comparison(sign, left, right):
            return _compared(expression, sign, evaluate(left, values), evaluate(right, values))
        case Arithmetic(sign, left, right):
            return _calculated(expression, sign, _number(left, values), _number(right, values))


def _unclear(expression: Expression, message: str) -> WorkflowError:
    return WorkflowError([("", message)], f"The predicate {write(expression)!r} cannot be decided.")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    names: tuple[tuple[type, str], ...] = ((str, "text"), (list, "a list"), (dict, "an object"))
    return next((name for kind, name in names if isinstance(value, kind)), "a number")


def _looked_up(expression: Expression, path: tuple[str, ...], values: Mapping[str, Any]) -> Any:
    found: Any = values
    for at, name in enumerate(path):
        whole = ".".join(path[:at])
        if not hasattr(found, "get"):
            raise _unclear(expression, f"{whole} is {_kind(found)}, and has no {name!r}.")
        if name not in found:
            there = ", ".join(sorted(map(str, found))[:10]) or "nothing"
            where = f"in {whole}" if whole else "at hand"
            raise _unclear(expression, f"There is no {name!r} {where}. There is: {there}.")
        found = found[name]
    return found


def _truth(one: Expression, values: Mapping[str, Any]) -> bool:
    return holds(one, values)


def _number(one: Expression, values: Mapping[str, Any]) -> float:
    found = evaluate(one, values)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise _unclear(one, f"It is {_kind(found)}, and no number.")
    return found


def _compared(expression: Expression, sign: str, left: Any, right: Any) -> bool:
    if sign in {"==", "!="}:
        return (isinstance(left, bool) == isinstance(right, bool) and left == right) == (sign == "==")
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in (left, right))
    if not numbers and not (isinstance(left, str) and isinstance(right, str)):
        raise _unclear(
            expression, f"{_kind(left)} and {_kind(right)} have no order; two numbers or two texts have."
        )
    return _ORDERS[sign](left, right)


def _calculated(expression: Expression, sign: str, left: float, right: float) -> float:
    if sign == "/" and right == 0:
        raise _unclear(expression, "It divides by zero.")
    try:
        found: float = _CALCULATES[sign](left, right)
        if math.isfinite(found):
            return found
    except OverflowError:
        pass
    raise _unclear(expression, "The number is too large.")
